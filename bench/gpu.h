// What the GPU rows share: a GPU, a PoCL one where the machine has no other, and times that include the device's end.
#pragma once
#include "bench/harness.h"
#include "tandem/tandem.h"

namespace tandem::bench {

/// /GPU:0; null without an OpenCL driver. The first call decides whether the process has one.
Device* gpu();

/// Seconds of one call of `body` on /GPU:0, calls following one another, until the device is done with them.
template <class F>
double gpu_seconds_of(F body, double at_least = 0.1) {
  Device& device = *gpu();
  const DeviceScope scope("/GPU:0");
  body();
  device.synchronize();
  std::int64_t calls = 1;
  double best = 1e9;
  const double end = now() + at_least;
  do {
    const double begin = now();
    for (std::int64_t i = 0; i < calls; ++i) body();
    device.synchronize();
    const double each = (now() - begin) / static_cast<double>(calls);
    best = std::min(best, each);
    calls = std::clamp<std::int64_t>(static_cast<std::int64_t>(0.01 / each), 1, 10'000);
  } while (now() < end);
  return best;
}

/// The same body on both devices, in turn. Inputs are read on both, so both hold a copy after the first round.
template <class F>
Pair gpu_and_cpu(F body, int rounds = 4) {
  return compare([&] { return gpu_seconds_of(body); },
                 [&] {
                   const DeviceScope scope("/CPU:0");
                   return seconds_of(body);
                 },
                 rounds);
}

/// Every op at a size that fills the device: its time there against its time on the CPU.
std::vector<Row> gpu_op_rows(const std::vector<std::string>& names);

/// Likewise ops on arrays, and the larger ops of networks with their gradients.
std::vector<Row> gpu_array_rows(const std::vector<std::string>& names);

/// The work of a child process of the GPU rows; false when `mode` is none of theirs.
bool run_gpu_child(const std::string& mode);

}  // namespace tandem::bench
