#include "tandem/runtime/device_probe.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "tandem/backend/opencl/opencl_device.h"
#include "tandem/graph/trace.h"
#include "tandem/op/ops.h"
#include "tandem/runtime/runtime.h"

namespace tandem {
namespace {

/// Long enough for a competitor to get its turns: a scheduler lets whoever was idle go first.
constexpr double kProbeUs = 24e3;
constexpr std::int64_t kSize = 384;

struct Probe {
  Tensor operand;
  double least_us = 0;  // of one product, on a free device
};

std::mutex mutex;
std::map<const Device*, Probe>& probes() {
  static auto& all = *new std::map<const Device*, Probe>;
  return all;
}

/// What the machine's figures say of one product; the least that was ever measured replaces it.
double predicted_us(const Device& device) {
  const auto machine = default_runtime().machine();
  const auto index = machine->find(device.name().short_name());
  if (!index) return 1e3;
  const double n = static_cast<double>(kSize);
  const OpWork work{.op = "matmul", .dtype = DType::f32, .flops = 2 * n * n * n, .bytes = 12 * n * n};
  return std::max(1.0, predict(work, machine->devices[static_cast<std::size_t>(*index)], machine->measured).compute);
}

}  // namespace

ProbeRun start_probe(Device& device) {
  InitScope plain;  // not part of whatever is being traced or recorded
  const DeviceScope scope(device.name().short_name());
  std::lock_guard lock(mutex);
  Probe& probe = probes()[&device];
  if (!probe.operand.defined()) {
    probe.operand = fill({kSize, kSize}, 1.0 / kSize, DType::f32);
    probe.least_us = predicted_us(device);
  }
  ProbeRun run{.number = opencl::start_timing(device)};
  if (run.number == 0) return run;
  run.products = static_cast<int>(std::clamp(kProbeUs / probe.least_us, 1.0, 256.0));
  for (int i = 0; i < run.products; ++i) matmul(probe.operand, probe.operand);
  opencl::stop_timing(device);
  return run;
}

std::optional<double> take_probe(Device& device, const ProbeRun& run) {
  const auto timing = opencl::take_timing(device, run.number);
  if (!timing) return std::nullopt;
  std::lock_guard lock(mutex);
  Probe& probe = probes()[&device];
  const double us = timing->span_us / run.products;
  const double factor = us / probe.least_us;
  if (us > 0) probe.least_us = std::min(probe.least_us, us);
  return factor;
}

}  // namespace tandem
