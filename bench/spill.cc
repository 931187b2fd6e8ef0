// A device whose memory runs short: chains of ops over four times its limit, beside compute alone and the link alone;
// and two processes on one device.
#include "bench/spill.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "bench/child.h"
#include "bench/gpu.h"
#include "tandem/base/hash.h"
#include "tandem/core/link.h"
#include "tandem/runtime/config.h"

namespace tandem::bench {
namespace {

constexpr const char* kPoclAsGpu = "TANDEM_OPENCL_CPU_AS_GPU=1";
constexpr std::int64_t kSide = 1024;  // of each tensor: 4 MiB
constexpr int kTensors = 32;
constexpr double kLimitMiB = 32;  // a quarter of all tensors
constexpr double kGbPerSecond = 1;
/// What has to leave the device on the way there, and to come back on the way back.
constexpr double kBytesToMove = 2 * (kTensors * kSide * kSide * 4.0 - kLimitMiB * (1 << 20));

std::uint64_t bits_of(const Tensor& tensor) {
  std::uint64_t hash = 0;
  for (float value : tensor.data<float>()) hash = mix(hash, std::bit_cast<std::uint32_t>(value));
  return hash;
}

/// There and back, as training does: each result is kept until the way back has used it.
Tensor chain(bool products, const Tensor& start, const Tensor& factor) {
  std::vector<Tensor> kept{start};
  for (int i = 1; i < kTensors; ++i) kept.push_back(products ? matmul(kept.back(), factor) : tanh(kept.back()));
  Tensor back = factor;
  for (; kept.size() > 1; kept.pop_back()) back = products ? matmul(back, kept.back()) : back * kept.back();
  return back;
}

/// Prints the best time and the bits of the result. `traced`: the chain is one function, whose plan would hold it all.
void run_chain(bool products, bool limited, bool traced) {
  if (limited) {
    config::set_logical_device_configuration(config::list_physical_devices("GPU").at(0), {{kLimitMiB}});
    set_links(text("/CPU:0>/GPU:0:gb_per_s=", kGbPerSecond));
  }
  set_seed(1);
  const DeviceScope scope("/GPU:0");
  Device& device = *gpu();
  const auto whole = function([=](const Tensor& from, const Tensor& by) { return chain(products, from, by); });
  const Tensor start = random_normal({kSide, kSide}, 0, 0.03), factor = random_normal({kSide, kSide}, 0, 0.03);
  double best = 1e9;
  std::uint64_t bits = 0;
  for (int round = 0; round < 4; ++round) {
    device.synchronize();
    const double begin = now();
    const Tensor result = traced ? whole(start, factor) : chain(products, start, factor);
    device.synchronize();
    if (round > 0) best = std::min(best, now() - begin);
    bits = bits_of(result);
  }
  std::printf("%.6f %llu\n", best, static_cast<unsigned long long>(bits));
}

struct Outcome {
  double seconds = 1e9;
  std::uint64_t bits = 0;
};
Outcome run_in_child(const std::string& mode) {
  Outcome outcome;
  const auto child = run_child("tandem_bench", {"--child=" + mode}, {kPoclAsGpu});
  if (child) std::istringstream(child->output) >> outcome.seconds >> outcome.bits;
  return outcome;
}

std::vector<Row> spill_row(const char* name, const std::string& mode) {
  if (!gpu()) return {};
  Outcome limited, alone;
  for (int round = 0; round < 3; ++round) {
    const Outcome with = run_in_child(mode + "_limited"), without = run_in_child(mode + "_alone");
    if (with.bits != without.bits) {
      std::fprintf(stderr, "%s: the results differ\n", name);
      return {};
    }
    limited.seconds = std::min(limited.seconds, with.seconds);
    alone.seconds = std::min(alone.seconds, without.seconds);
  }
  const double least = std::max(alone.seconds, kBytesToMove / (kGbPerSecond * 1e9));
  return {{name, limited.seconds * 1e3, "ms", "the slower of compute, link", least * 1e3, limited.seconds / least,
           "<= 1.25"}};
}

void run_alone_or_beside_another() {
  const DeviceScope scope("/GPU:0");
  const Tensor factor = random_normal({512, 512}, 0, 0.04);
  matmul(factor, factor).raw_data();
  const double begin = now();
  Tensor x = factor;
  for (int i = 0; i < 400; ++i) x = matmul(x, factor);
  x.raw_data();
  std::printf("%.6f 0\n", now() - begin);
}

std::vector<Row> two_processes() {
  if (!gpu()) return {};
  double alone = 1e9, together = 1e9;
  for (int round = 0; round < 3; ++round) {
    alone = std::min(alone, run_in_child("process").seconds);
    Outcome other;
    std::thread beside([&] { other = run_in_child("process"); });
    const Outcome one = run_in_child("process");
    beside.join();
    together = std::min(together, std::max(one.seconds, other.seconds));
  }
  return {{"gpu_two_processes", together * 1e3, "ms", "one process alone", alone * 1e3, alone / together, ">= 0.4"}};
}

}  // namespace

bool run_spill_child(const std::string& mode) {
  if (mode == "process") return run_alone_or_beside_another(), true;
  for (const std::string kind : {"elementwise", "products", "function"})
    for (const bool limited : {false, true})
      if (mode == kind + (limited ? "_limited" : "_alone"))
        return run_chain(kind != "elementwise", limited, kind == "function"), true;
  return false;
}

std::vector<Benchmark> spill_benchmarks() {
  return {{"spill_matmul", [] { return spill_row("spill_matmul_chain", "products"); }},
          {"spill_elementwise", [] { return spill_row("spill_elementwise_chain", "elementwise"); }},
          {"spill_function", [] { return spill_row("spill_matmul_function", "function"); }},
          {"gpu_two_processes", two_processes}};
}

}  // namespace tandem::bench
