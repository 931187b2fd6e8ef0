#include "tandem/runtime/calibration.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "tandem/backend/opencl/opencl_device.h"
#include "tandem/backend/opencl/program_cache.h"
#include "tandem/base/cache_folder.h"
#include "tandem/base/core_roles.h"
#include "tandem/base/core_use.h"
#include "tandem/base/cores.h"
#include "tandem/core/link.h"
#include "tandem/core/transfer_count.h"
#include "tandem/exec/graph_placement.h"
#include "tandem/graph/trace.h"
#include "tandem/op/arrays.h"
#include "tandem/op/elementwise.h"
#include "tandem/op/network_ops.h"
#include "tandem/op/ops.h"
#include "tandem/runtime/disturbance.h"
#include "tandem/runtime/machine_store.h"

namespace tandem {
namespace {

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Microseconds of one call: the least of several, within the budget; the first, which prepares and compiles, is not
/// timed. `seen`: what became of the cores meanwhile.
template <class F>
double best_us(Device& device, double budget_us, F body, Disturbance* seen = nullptr) {
  body();
  opencl::wait_for_all(device);
  std::optional<CoreWatch> watch;
  if (seen) watch.emplace();
  double best = 1e30;
  const double end = now_us() + budget_us;
  int runs = 0;
  do {
    const double begin = now_us();
    body();
    opencl::wait_for_all(device);
    best = std::min(best, now_us() - begin);
  } while (now_us() < end || ++runs < 2);
  if (seen) seen->saw(device.name().short_name(), watch->take());
  return best;
}

/// The rate of a device or link beyond its caches, from what few and many bytes take; where many take no longer each,
/// it has one rate for all.
template <class Mover>
void note_cache(Mover& figures, double few, double few_us, double many, double many_us) {
  constexpr double kSlower = 1.1;
  const double beyond = (many - few) / (std::max(many_us - few_us, 1e-3) * 1e3);
  if (beyond * kSlower >= figures.gb_per_s) return;
  figures.cache = {static_cast<std::int64_t>(few), figures.gb_per_s};
  figures.gb_per_s = beyond;
}

bool ran_on(const Tensor& tensor, const Device& device) { return explain(tensor).device == device.name().short_name(); }

/// One device at a time; ops of this thread run there while it lives.
class Bench {
 public:
  Bench(Device& device, const CalibrationOptions& options, Disturbance& seen)
      : device_(device),
        budget_us_(options.seconds * 1e6 / 5),
        options_(options),
        seen_(seen),
        scope_(device.name().short_name()) {}

  MachineDevice measure() {
    const DeviceProperties& properties = device_.properties();
    MachineDevice figures{
        .name = properties.name.short_name(),
        .description = properties.description,
        .memory = properties.memory_bytes ? static_cast<std::int64_t>(properties.memory_bytes) : kUnlimited};
    say("launch");
    figures.launch_us = launch_us();
    say("memory bandwidth");
    bandwidth(figures);
    say("peak float32");
    peak(figures, DType::f32, 512);
    peak(figures, DType::f64, 384);
    if (options_.full)
      for (DType dtype : {DType::f16, DType::bf16}) peak(figures, dtype, 384);
    multiply_again(figures);
    say("sequential steps");
    figures.step_us = step_us(figures.launch_us);
    multiply_again(figures);
    seen_.repeated(device_.name().short_name(), product_us_);
    return figures;
  }

 private:
  void say(const char* what) const {
    if (options_.progress) options_.progress(text(device_.name().short_name(), ": ", what));
  }

  /// The thread that launches may work beside those that compute: that they wait for each other says nothing.
  double launch_us() const {
    constexpr int kOps = 100;
    const Tensor x = ones({2});
    return best_us(device_, budget_us_,
                   [&] {
                     Tensor y = x;
                     for (int i = 0; i < kOps; ++i) y = add(y, x);
                   }) /
           kOps;
  }

  /// Of what stays in the caches, and beyond. Devices too small for the latter are not filled for it.
  void bandwidth(MachineDevice& figures) const {
    constexpr std::int64_t kCached = 2 << 20, kBeyond = 8 << 20;  // elements of each operand
    constexpr double kBytes = 3 * 4;                              // for each: two are read, one is written
    const auto us = [&](std::int64_t elements) {
      const Tensor x = ones({elements}), y = ones({elements});
      const double whole = best_us(device_, budget_us_ / 2, [&] { add(x, y); }, &seen_);
      return std::max(whole - figures.launch_us, 0.5 * whole);
    };
    const double cached_us = us(kCached);
    figures.gb_per_s = kBytes * kCached / (cached_us * 1e3);
    if (static_cast<double>(figures.memory) < 2 * kBytes * kBeyond) return;
    note_cache(figures, kBytes * kCached, cached_us, kBytes * kBeyond, us(kBeyond));
  }

  /// A fast device needs more work to show what it can do.
  void peak(MachineDevice& figures, DType dtype, std::int64_t size) {
    constexpr double kTooShortUs = 300;
    for (; size <= 4096; size *= 2) {
      const Tensor x = ones({size, size}, dtype);
      if (!ran_on(matmul(x, x), device_)) return;
      const double us = best_us(device_, budget_us_, [&] { matmul(x, x); }, &seen_);
      if (dtype == DType::f32) product_ = x, product_us_ = {us};
      note_peak(figures, dtype, size, us);
      if (us > kTooShortUs) return;
    }
  }

  static void note_peak(MachineDevice& figures, DType dtype, std::int64_t size, double us) {
    const double flops = 2.0 * static_cast<double>(size * size * size);
    figures.peak_gflops[dtype] =
        std::max(figures.peak_gflops[dtype], flops / (std::max(us - figures.launch_us, 0.5 * us) * 1e3));
  }

  /// With time between: a driver's threads may have begun on one core, or others may have been at work for a moment.
  void multiply_again(MachineDevice& figures) {
    if (!product_.defined()) return;
    product_us_.push_back(best_us(device_, budget_us_ / 4, [&] { matmul(product_, product_); }, &seen_));
    note_peak(figures, DType::f32, product_.shape()[0], product_us_.back());
  }

  double step_us(double launch_us) const {
    constexpr std::int64_t kSteps = 1 << 16;
    const Tensor x = ones({kSteps});
    if (!ran_on(cumsum(x, 0), device_)) return launch_us;  // no kernel: whatever has steps is not for it
    return std::max(best_us(device_, budget_us_, [&] { cumsum(x, 0); }, &seen_) - launch_us, 0.0) / kSteps;
  }

  Device& device_;
  const double budget_us_;
  const CalibrationOptions& options_;
  Disturbance& seen_;
  Tensor product_;                  // of the float32 peak, and what it took each time
  std::vector<double> product_us_;
  DeviceScope scope_;
};

/// Both directions between the host and a device with a memory of its own.
void measure_links(Device& host, Device& device, Machine& machine, double budget_us) {
  constexpr std::int64_t kSmall = 16, kCached = 1 << 20, kBeyond = 8 << 20;
  const std::string here = host.name().short_name(), there = device.name().short_name();
  const auto time = [&](std::int64_t elements, bool to_device) {
    double best = 1e30;
    const double end = now_us() + budget_us / 4;
    int runs = 0;
    do {
      // A copy stays valid where it was made: each run needs bytes of its own.
      Tensor source;
      {
        DeviceScope scope(to_device ? here : there);
        source = fill({elements}, 1, DType::f32);
      }
      opencl::wait_for_all(device);
      const double begin = now_us();
      if (to_device) {
        source.storage().read(device.memory());
        opencl::wait_for_all(device);
        await_links();
      } else {
        source.storage().host();
      }
      if (runs > 0) best = std::min(best, now_us() - begin);
    } while (++runs < 3 || now_us() < end);
    return best;
  };
  constexpr double kShortUs = 1000;  // a link that takes longer for few bytes is slower than any memory
  const std::size_t memory = device.properties().memory_bytes;
  const bool roomy = memory == 0 || memory >= 4 * sizeof(float) * kBeyond;
  for (const bool to_device : {true, false}) {
    const double small = time(kSmall, to_device), cached = time(kCached, to_device);
    MachineLink link{.from = to_device ? here : there,
                     .to = to_device ? there : here,
                     .latency_us = small,
                     .gb_per_s = 4.0 * kCached / (std::max(cached - small, 0.1 * cached) * 1e3)};
    if (roomy && cached < kShortUs) note_cache(link, 4.0 * kCached, cached, 4.0 * kBeyond, time(kBeyond, to_device));
    machine.links.push_back(std::move(link));
  }
}

constexpr double kNoTime = 1e6;  // GB/s

/// Up to the host and down to another device; null: nothing to cross there.
MachineLink one_after_the_other(const std::string& from, const std::string& to, const MachineLink* up,
                                const MachineLink* down) {
  MachineLink both{.from = from, .to = to};
  double per_gb = 0, per_cached_gb = 0;
  for (const MachineLink* link : {up, down}) {
    if (!link) continue;
    both.latency_us += link->latency_us;
    per_gb += 1 / link->gb_per_s;
    per_cached_gb += 1 / (link->cache.bytes > 0 ? link->cache.gb_per_s : link->gb_per_s);
    both.cache.bytes = std::max(both.cache.bytes, link->cache.bytes);
  }
  both.gb_per_s = per_gb > 0 ? 1 / per_gb : kNoTime;
  if (both.cache.bytes > 0) both.cache.gb_per_s = 1 / per_cached_gb;
  return both;
}

/// Devices that share a memory pass values on for nothing; between two cards they go through the host.
void derive_links(std::span<Device* const> devices, Machine& machine) {
  for (Device* from : devices)
    for (Device* to : devices) {
      const std::string a = from->name().short_name(), b = to->name().short_name();
      if (from == to || machine.link(a, b)) continue;
      if (&from->memory() == &to->memory()) {
        machine.links.push_back({.from = a, .to = b, .latency_us = 0, .gb_per_s = kNoTime});
        continue;
      }
      const std::string host = devices[0]->name().short_name();
      const MachineLink *up = machine.link(a, host), *down = machine.link(host, b);
      machine.links.push_back(one_after_the_other(a, b, up, down));
    }
}

std::vector<int> cores_of(Device& device) {
  if (device.name().kind != "CPU") return opencl::host_cores(device);
  const CoreRoles roles = core_roles();
  return roles.compute.empty() ? process_cores() : roles.compute;
}

/// Ops whose time is worth knowing one by one.
struct Sample {
  const char* name;
  Tensors (*operands)();
  Tensor (*run)(const Tensors&);
};
const Sample kSamples[] = {
    {"matmul", [] { return Tensors{ones({256, 256}), ones({256, 256})}; },
     [](const Tensors& t) { return matmul(t[0], t[1]); }},
    {"matmul", [] { return Tensors{ones({1024, 1024}), ones({1024, 1024})}; },
     [](const Tensors& t) { return matmul(t[0], t[1]); }},
    {"add", [] { return Tensors{ones({1 << 20}), ones({1 << 20})}; }, [](const Tensors& t) { return add(t[0], t[1]); }},
    {"exp", [] { return Tensors{ones({1 << 20})}; }, [](const Tensors& t) { return exp(t[0]); }},
    {"reduce_sum", [] { return Tensors{ones({1024, 1024})}; }, [](const Tensors& t) { return reduce_sum(t[0]); }},
    {"softmax", [] { return Tensors{ones({1024, 1000})}; }, [](const Tensors& t) { return softmax(t[0]); }},
    {"transpose", [] { return Tensors{ones({1024, 1024})}; }, [](const Tensors& t) { return transpose(t[0]); }},
    {"cumsum", [] { return Tensors{ones({1024, 1024})}; }, [](const Tensors& t) { return cumsum(t[0], 1); }},
};

OpWork work_of(const Sample& sample, const Tensors& operands) {
  Trace trace;
  Tensors parameters;
  for (const Tensor& operand : operands) parameters.push_back(trace.parameter(operand.spec()));
  const Graph graph = trace.finish(std::vector<Tensor>{sample.run(parameters)});
  const Node& node = graph.nodes.back();
  std::vector<const TensorSpec*> specs;
  for (GraphValue input : node.inputs) specs.push_back(&graph.spec(input));
  return work_of(*node.op, specs, node.attrs, node.outputs);
}

/// Calls `seen` for every sample that the device has a kernel for.
template <class F>
void for_samples(Device& device, F seen) {
  const DeviceScope scope(device.name().short_name());
  for (const Sample& sample : kSamples) {
    const Tensors operands = sample.operands();
    if (ran_on(sample.run(operands), device)) seen(sample, operands, work_of(sample, operands));
  }
}

/// Microseconds of each of several runs, as a program that waits for each would see them.
std::vector<double> run_times(Device& device, int runs, const Sample& sample, const Tensors& operands) {
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) {
    const double begin = now_us();
    sample.run(operands);
    opencl::wait_for_all(device);
    times.push_back(now_us() - begin);
  }
  return times;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

HistoryKey key_of(const OpWork& work, const std::string& device) {
  return {work.op, work.dtype, size_bucket(work.flops, work.bytes), device};
}

}  // namespace

Machine calibrate(std::span<Device* const> devices, const CalibrationOptions& options) {
  InitScope plain;  // not part of whatever is being traced or recorded
  const UncountedTransfers own;
  Machine machine{.name = "this host, measured"};
  Disturbance seen;
  for (Device* device : devices) {
    machine.devices.push_back(Bench(*device, options, seen).measure());
    machine.devices.back().cores = cores_of(*device);
    if (options.progress) options.progress(text(device->name().short_name(), ": copies"));
    if (!device->memory().is_host()) measure_links(*devices[0], *device, machine, options.seconds * 1e6 / 5);
  }
  derive_links(devices, machine);
  if (options.full)
    for (std::size_t d = 0; d < devices.size(); ++d) {
      if (options.progress) options.progress(text(machine.devices[d].name, ": ops one by one"));
      for_samples(*devices[d], [&](const Sample& sample, const Tensors& operands, const OpWork& work) {
        const double us =
            best_us(*devices[d], options.seconds * 1e6 / std::size(kSamples), [&] { sample.run(operands); }, &seen);
        const HistoryKey key = key_of(work, machine.devices[d].name);
        constexpr int kTrusted = 50;  // the least of many runs counts like so many
        for (int i = 0; i < kTrusted; ++i)
          machine.measured.add(key, predict_from_figures(work, machine.devices[d]).total(), us);
      });
    }
  if (auto why = seen.why()) {
    machine.doubt = MachineDoubt{std::move(*why), unix_seconds()};
    machine.measured = {};
  }
  return machine;
}

std::vector<CalibrationCheck> check_calibration(std::span<Device* const> devices, Machine machine) {
  InitScope plain;
  const UncountedTransfers own;
  constexpr int kTeaching = 50, kMeasuring = 25;
  std::vector<CalibrationCheck> checks;
  for (Device* device : devices) {
    const auto index = machine.find(device->name().short_name());
    if (!index) continue;
    const MachineDevice& figures = machine.devices[static_cast<std::size_t>(*index)];
    for_samples(*device, [&](const Sample& sample, const Tensors& operands, const OpWork& work) {
      CalibrationCheck check{.op = sample.name, .shape = text(operands[0].shape()), .device = figures.name};
      check.predicted_us = predict(work, figures, machine.measured).total();
      for (const double us : run_times(*device, kTeaching, sample, operands))
        machine.measured.add(key_of(work, figures.name), predict_from_figures(work, figures).total(), us);
      check.learnt_us = predict(work, figures, machine.measured).total();
      check.measured_us = median(run_times(*device, kMeasuring, sample, operands));
      checks.push_back(std::move(check));
    });
  }
  return checks;
}

std::filesystem::path machine_file(std::span<Device* const> devices) {
  std::vector<std::string> parts{"3", text(Cores::process().threads()), links()};
  for (Device* device : devices) {
    const DeviceProperties& p = device->properties();
    parts.push_back(
        text(p.name.short_name(), '|', p.description, '|', p.memory_bytes, '|', p.cores, '|', join(cores_of(*device))));
  }
  return cache_folder("machines") / (opencl::program_key(parts) + ".json");
}

}  // namespace tandem
