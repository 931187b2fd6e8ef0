// OpenCL devices as /GPU:0, /GPU:1, …: how they are found, and which were turned down.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tandem/core/device.h"

namespace tandem::opencl {

struct Options {
  int cpu_as_gpu = 0;            // TANDEM_OPENCL_CPU_AS_GPU: a CPU-type device, split into so many, serves as GPUs
  std::vector<int> cores;        // TANDEM_OPENCL_CORES: cores that a CPU-type device's threads are pinned to
  bool hide_fp64 = false;        // TANDEM_OPENCL_HIDE_FP64: devices report no float64
  std::size_t memory_limit = 0;  // bytes a device; 0: 80 % of what it reports
};
/// Throws invalid_argument for a value that makes no sense.
Options options_from_environment();

/// Every usable device, each proven by running a kernel. Drivers are loaded by the first call, not before; what the
/// environment tells them (threads, cores) is settled then.
std::vector<std::unique_ptr<Device>> make_devices(const Options& options);

/// A device that was found and is not used, and what could be done about it.
struct Rejected {
  std::string platform;
  std::string device;
  std::string reason;
  std::string remedy;
};
/// Those of the last make_devices().
std::vector<Rejected> rejected_devices();

/// Figures of a device's memory, for tests and `config`.
struct MemoryStats {
  std::size_t in_use = 0;  // bytes handed out, as their size classes
  std::size_t cached = 0;  // bytes kept for reuse
  std::size_t peak = 0;    // most bytes ever handed out at once
  std::size_t limit = 0;
};
MemoryStats memory_stats(Device& device);

}  // namespace tandem::opencl
