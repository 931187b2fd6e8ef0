// How the devices are set up, under TensorFlow's names. What says how devices are made is settled by the first tensor
// or the first look at the logical devices; a call that comes later and would change it is too_late.
#pragma once
#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/runtime/settings.h"

namespace tandem::config {

/// A device of the machine: PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU').
struct PhysicalDevice {
  std::string name, device_type;
  bool operator==(const PhysicalDevice&) const = default;
};
/// A device as ops see it: LogicalDevice(name='/device:GPU:0', device_type='GPU').
struct LogicalDevice {
  std::string name, device_type;
  bool operator==(const LogicalDevice&) const = default;
};
std::ostream& operator<<(std::ostream& out, const PhysicalDevice& device);
std::ostream& operator<<(std::ostream& out, const LogicalDevice& device);

/// `device_type`: "CPU", "GPU"; all when empty.
std::vector<PhysicalDevice> list_physical_devices(std::string_view device_type = "");
std::vector<LogicalDevice> list_logical_devices(std::string_view device_type = "");
/// What is known about a device: "device_name" and more for GPUs, nothing for the CPU.
std::map<std::string, std::string> get_device_details(const PhysicalDevice& device);

/// Those of `device_type` (all when empty) that are not in the list are hidden: ops that ask for them run elsewhere.
void set_visible_devices(const std::vector<PhysicalDevice>& devices, std::string_view device_type = "");
std::vector<PhysicalDevice> get_visible_devices(std::string_view device_type = "");

/// One logical device. GPUs need a limit, the CPU has none.
struct LogicalDeviceConfiguration {
  std::optional<double> memory_limit;  // MiB
  bool operator==(const LogicalDeviceConfiguration&) const = default;
};
/// Makes several logical devices of a physical one.
void set_logical_device_configuration(const PhysicalDevice& device,
                                      const std::vector<LogicalDeviceConfiguration>& logical);
/// Nothing when none was set.
std::optional<std::vector<LogicalDeviceConfiguration>> get_logical_device_configuration(const PhysicalDevice& device);

/// Off: a GPU takes all memory it may use at once. On, and when nothing is set: as it is needed.
void set_memory_growth(const PhysicalDevice& device, bool enable);
std::optional<bool> get_memory_growth(const PhysicalDevice& device);

struct MemoryUse {
  std::size_t current = 0, peak = 0;  // bytes
};
/// Of a logical device by name, "GPU:0"; the CPU's is not counted.
MemoryUse get_memory_info(std::string_view device);
/// The peak starts anew at what is in use now.
void reset_memory_stats(std::string_view device);

/// These may be called at any time.
void set_soft_device_placement(bool enabled);
bool get_soft_device_placement();
/// Kept and given back, as TensorFlow's; it changes nothing: an op on the CPU has ended when it returns, one on a GPU
/// is under way.
void set_synchronous_execution(bool enable);
bool get_synchronous_execution();
/// How ops without a scope find their device: "auto", where they finish first, as measured while they run; "planned",
/// where they should, as predicted; "first_gpu", TensorFlow's rule.
void set_placement_policy(std::string_view policy);
std::string get_placement_policy();
/// Random ops need a seed from now on; everything else gives the same bits in every run anyway.
void enable_op_determinism();
bool is_op_determinism_enabled();

/// Threads of the pool that computes one op; 0: one a core.
void set_intra_op_parallelism_threads(int threads);
int get_intra_op_parallelism_threads();
/// Ops of a graph that may run at once; 0: as many as there are cores.
void set_inter_op_parallelism_threads(int threads);
int get_inter_op_parallelism_threads();

/// Which cores compute, which drive GPUs, which prepare data; an empty list leaves that role as it is by default.
void set_dedicated_cores(const CoreRoles& cores);
CoreRoles get_dedicated_cores();

/// TANDEM_OPENCL_CPU_AS_GPU: a CPU-type OpenCL device, split into `parts`, serves as GPUs; 0: none does.
void set_opencl_cpu_as_gpu(int parts);
int get_opencl_cpu_as_gpu();
/// TANDEM_OPENCL_HIDE_FP64: devices report no float64.
void set_opencl_hide_fp64(bool hide);
bool get_opencl_hide_fp64();

/// TANDEM_OPENCL_SHARED_MEMORY: a CPU-type device works on the host's memory, as an integrated GPU does; nothing is
/// copied.
void set_opencl_shared_memory(bool shared);
bool get_opencl_shared_memory();
/// TANDEM_LINK: "/CPU:0>/GPU:0:latency_us=10,gb_per_s=2", a delay added to copies; "": none. At any time.
void set_links(std::string_view links);
std::string get_links();
/// TANDEM_SPILL: on, what does not fit a device makes room by moving what was used longest ago to the host. At any
/// time.
void set_spill(bool on);
bool get_spill();

/// One line of what was found when devices were looked for.
struct DeviceFinding {
  std::string name;  // "/GPU:0" when it is used, else empty
  std::string platform, device, driver, type;
  std::string status;          // "used", "hidden", "rejected" or "problem"
  std::string reason, remedy;  // when it is not used
};
struct DeviceReport {
  struct Platform {
    std::string name, vendor, version;
    int devices = 0;
  };
  std::vector<Platform> platforms;
  std::vector<DeviceFinding> findings;
};
/// Every OpenCL platform and device, and what became of it.
DeviceReport device_report();

/// Has the first tensor been made?
bool initialized();
/// What was said so far; from now on it holds. For the runtime.
Settings settle();

}  // namespace tandem::config
