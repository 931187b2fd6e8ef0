// OpenCL devices as /GPU:0, /GPU:1, …: how they are found, and which were turned down.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/core/device.h"

namespace tandem::opencl {

/// Numbers of the devices that may be used, from a variable such as CUDA_VISIBLE_DEVICES.
struct VisibleDevices {
  std::string variable, text;
  std::vector<int> devices;
};

struct Options {
  int cpu_as_gpu = 0;            // TANDEM_OPENCL_CPU_AS_GPU: a CPU-type device, split into so many, serves as GPUs
  std::vector<int> cores;        // TANDEM_OPENCL_CORES: cores that a CPU-type device's threads are pinned to
  bool hide_fp64 = false;        // TANDEM_OPENCL_HIDE_FP64: devices report no float64
  bool shared_memory =
      false;    // TANDEM_OPENCL_SHARED_MEMORY: CPU-type devices work on the host's memory, as integrated GPUs do
  std::optional<bool>
      clblast;   // TANDEM_OPENCL_GEMM: matrix products by CLBlast or by our tiles; not set: as the device is
  std::optional<bool>
      cpu_style; // TANDEM_OPENCL_STYLE: kernels as CPU-type devices or as GPUs run them; not set: as it is
  std::optional<bool>
      wide_vectors;  // TANDEM_OPENCL_LANES: 16 floats in a vector, or 8; not set: as many as a register has
  std::size_t memory_limit = 0;  // bytes a device; 0: 80 % of what it reports
  std::optional<VisibleDevices> visible;       // TANDEM_VISIBLE_DEVICES
  std::optional<VisibleDevices> cuda_visible;  // CUDA_VISIBLE_DEVICES: counts when the other is not set
};
/// Throws invalid_argument for a value that makes no sense.
Options options_from_environment();

/// One of the devices that a physical one serves as.
struct LogicalDeviceConfiguration {
  std::optional<std::size_t> memory_limit;  // bytes; none: 80 % of what the device reports
  bool growth = true;                       // false: the limit is taken from the driver at the first use
};

struct FoundDevice;  // tandem/backend/opencl/discovery.h

/// Opens a device that was found, as /GPU:`index`. Several may be made of one: each has a memory budget of its own.
std::unique_ptr<Device> make_device(const FoundDevice& found, int index, const LogicalDeviceConfiguration& memory,
                                    const Options& options);

/// Every usable device.
std::vector<std::unique_ptr<Device>> make_devices(const Options& options);

/// Waits until the device has nothing left to do, for who measures it: what failed there is left to be told to who
/// depends on it, which synchronize() would tell to the first that asks. Devices of other kinds are synchronized.
void wait_for_all(Device& device);

/// The host's cores on which a CPU-type device computes; none: a GPU.
const std::vector<int>& host_cores(Device& device);

/// What a device did between start_timing and stop_timing, by its own clock, in µs.
struct DeviceTiming {
  double span_us = 0;  // from when it was free for the first command to the end of the last
  std::vector<std::pair<const Decision*, double>> ops;  // each command: the op that was running, how long it took
};
/// The number of the timing; 0 when another is under way.
std::uint64_t start_timing(Device& device);
void stop_timing(Device& device);
/// Null until the last command has ended; then once what was measured. Who comes very late gets an empty one.
std::optional<DeviceTiming> take_timing(Device& device, std::uint64_t number);

/// Figures of a device's memory, for tests and `config`.
struct MemoryStats {
  std::size_t in_use = 0;  // bytes handed out, as their size classes
  std::size_t cached = 0;  // bytes taken from the driver and free for reuse
  std::size_t peak = 0;    // most bytes handed out at once since the last reset_peak()
  std::size_t limit = 0;
};
MemoryStats memory_stats(Device& device);
/// The peak starts anew at what is in use.
void reset_peak(Device& device);

}  // namespace tandem::opencl
