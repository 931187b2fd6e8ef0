#include "tandem/runtime/config.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <ostream>

#include "tandem/base/cores.h"
#include "tandem/base/error.h"
#include "tandem/base/text.h"
#include "tandem/base/threads.h"
#include "tandem/core/device.h"
#include "tandem/core/link.h"
#include "tandem/core/spill.h"
#include "tandem/op/random_state.h"
#include "tandem/runtime/physical.h"
#include "tandem/runtime/runtime.h"

namespace tandem::config {
namespace {

constexpr std::string_view kPhysical = "/physical_device:";

struct State {
  std::mutex mutex;
  bool settled = false;
  std::optional<std::vector<PhysicalDevice>> visible;
  std::map<std::string, std::vector<LogicalDeviceConfiguration>> logical;  // by the physical device's name
  std::map<std::string, bool> growth;
  std::optional<int> inter_op, intra_op;
  bool soft_placement = true;
  PlacementPolicy policy = PlacementPolicy::automatic;
  std::atomic<bool> deterministic{false};
  std::atomic<bool> synchronous{true};
};
State& state() {
  static auto& state = *new State;
  return state;
}

void too_late_unless(bool in_time, std::string_view what) {
  if (!in_time) fail(ErrorCode::too_late, what, " cannot be modified after being initialized");
}

PhysicalDevice physical(std::string_view kind, int index) {
  return {text(kPhysical, kind, ":", index), std::string(kind)};
}

void check_exists(const PhysicalDevice& device) {
  const auto all = list_physical_devices(device.device_type);
  if (device.device_type.empty() || std::find(all.begin(), all.end(), device) == all.end())
    fail(ErrorCode::unknown_device, "Unrecognized device: ", device);
}

/// The number in "/physical_device:GPU:1"; the device is known to exist.
int number_of(const std::string& name) { return std::stoi(name.substr(name.rfind(':') + 1)); }

template <class Device>
std::ostream& write(std::ostream& out, const char* type, const Device& device) {
  return out << type << "(name='" << device.name << "', device_type='" << device.device_type << "')";
}

void check_logical(const PhysicalDevice& device, const std::vector<LogicalDeviceConfiguration>& logical) {
  const bool cpu = device.device_type == "CPU";
  for (const LogicalDeviceConfiguration& one : logical) {
    if (cpu && one.memory_limit)
      fail(ErrorCode::invalid_argument, "Setting memory limit on CPU virtual devices is currently not supported");
    if (!cpu && !one.memory_limit)
      fail(ErrorCode::invalid_argument, "Setting memory limit is required for GPU virtual devices");
    if (!cpu && !(*one.memory_limit > 0 && *one.memory_limit < 1e9))
      fail(ErrorCode::invalid_argument, "memory_limit=", *one.memory_limit, " for ", device.name,
           ": a number of MiB above 0 and below 1e9 is needed");
  }
  if (logical.empty())
    fail(ErrorCode::invalid_argument, "no logical devices for ", device.name,
         ": hide it with set_visible_devices instead");
  if (logical.size() > 64)
    fail(ErrorCode::invalid_argument, logical.size(), " logical devices for ", device.name, ": at most 64");
}

std::vector<std::size_t> limits_in_bytes(const std::vector<LogicalDeviceConfiguration>& logical) {
  std::vector<std::size_t> limits;
  for (const auto& one : logical)
    limits.push_back(std::max<std::size_t>(1, static_cast<std::size_t>(*one.memory_limit * (1 << 20))));
  return limits;
}

/// A logical device by a name that has a kind and a number; `refusal` says why the CPU will not do.
Device& gpu_named(std::string_view name, std::string_view refusal) {
  const std::size_t colon = name.rfind(':');
  if (colon == name.npos || colon + 1 == name.size() || name.find_first_not_of("0123456789", colon + 1) != name.npos)
    fail(ErrorCode::unknown_device, "Failed parsing device name: '", name,
         "'. Note a valid device string should at least contain a device type and a device index, like \"GPU:0\".");
  const DeviceName wanted = DeviceName::parse(name);
  for (Device* device : default_runtime().devices()) {
    if (device->name() != wanted) continue;
    if (wanted.kind == "CPU") fail(ErrorCode::invalid_argument, refusal, " '", name, "'");
    return *device;
  }
  fail(ErrorCode::unknown_device, "No matching devices found for '", name, "'");
}

void set_threads(std::optional<int>& setting, int threads, std::string_view which) {
  if (threads < 0 || threads > kMostThreads)
    fail(ErrorCode::invalid_argument, which, " op parallelism of ", threads, " threads: 0 (automatic) to ",
         kMostThreads, " are possible");
  State& s = state();
  std::lock_guard lock(s.mutex);
  if (setting == threads) return;
  if (s.settled) fail(ErrorCode::too_late, which, " op parallelism cannot be modified after initialization.");
  setting = threads;
}

/// OpenCL options may change as long as no device was opened.
void change_options(std::string_view what, const std::function<void(opencl::Options&)>& change) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  too_late_unless(!s.settled, what);
  change_opencl_options(change);
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const PhysicalDevice& device) {
  return write(out, "PhysicalDevice", device);
}
std::ostream& operator<<(std::ostream& out, const LogicalDevice& device) { return write(out, "LogicalDevice", device); }

std::vector<PhysicalDevice> list_physical_devices(std::string_view device_type) {
  std::vector<PhysicalDevice> devices;
  if (device_type.empty() || device_type == "CPU") devices.push_back(physical("CPU", 0));
  if (!device_type.empty() && device_type != "GPU") return devices;
  const std::size_t gpus = physical_gpus().discovery->usable().size();
  for (std::size_t i = 0; i < gpus; ++i) devices.push_back(physical("GPU", static_cast<int>(i)));
  return devices;
}

std::vector<LogicalDevice> list_logical_devices(std::string_view device_type) {
  std::vector<LogicalDevice> devices;
  for (const Device* device : default_runtime().devices()) {
    const DeviceName& name = device->name();
    if (device_type.empty() || device_type == name.kind)
      devices.push_back({text("/device:", name.kind, ":", name.index), name.kind});
  }
  return devices;
}

std::map<std::string, std::string> get_device_details(const PhysicalDevice& device) {
  check_exists(device);
  if (device.device_type != "GPU") return {};
  const PhysicalGpus gpus = physical_gpus();
  const opencl::FoundDevice& found = *gpus.discovery->usable()[static_cast<std::size_t>(number_of(device.name))];
  return {{"device_name", found.name},
          {"platform", found.platform},
          {"driver_version", found.driver},
          {"device_type", found.type}};
}

void set_visible_devices(const std::vector<PhysicalDevice>& devices, std::string_view device_type) {
  for (const PhysicalDevice& device : devices) {
    check_exists(device);
    if (!device_type.empty() && device.device_type != device_type)
      fail(ErrorCode::unknown_device, "Unrecognized device: ", device);
  }
  const std::vector<PhysicalDevice> before = get_visible_devices();
  std::vector<PhysicalDevice> wanted;
  if (!device_type.empty())
    for (const PhysicalDevice& device : before)
      if (device.device_type != device_type) wanted.push_back(device);
  wanted.insert(wanted.end(), devices.begin(), devices.end());
  if (wanted == before) return;
  State& s = state();
  std::lock_guard lock(s.mutex);
  too_late_unless(!s.settled, "Visible devices");
  if (std::find(wanted.begin(), wanted.end(), physical("CPU", 0)) == wanted.end())
    fail(ErrorCode::invalid_argument, "the CPU cannot be hidden: it runs what no other device can; include ",
         physical("CPU", 0));
  s.visible = std::move(wanted);
}

std::vector<PhysicalDevice> get_visible_devices(std::string_view device_type) {
  std::optional<std::vector<PhysicalDevice>> visible;
  {
    State& s = state();
    std::lock_guard lock(s.mutex);
    visible = s.visible;
  }
  if (!visible) return list_physical_devices(device_type);
  if (!device_type.empty())
    std::erase_if(*visible, [&](const PhysicalDevice& device) { return device.device_type != device_type; });
  return *visible;
}

void set_logical_device_configuration(const PhysicalDevice& device,
                                      const std::vector<LogicalDeviceConfiguration>& logical) {
  check_exists(device);
  check_logical(device, logical);
  State& s = state();
  std::lock_guard lock(s.mutex);
  if (const auto found = s.logical.find(device.name); found != s.logical.end() && found->second == logical) return;
  too_late_unless(!s.settled, "Virtual devices");
  s.logical[device.name] = logical;
}

std::optional<std::vector<LogicalDeviceConfiguration>> get_logical_device_configuration(const PhysicalDevice& device) {
  check_exists(device);
  State& s = state();
  std::lock_guard lock(s.mutex);
  const auto found = s.logical.find(device.name);
  return found == s.logical.end() ? std::nullopt : std::optional(found->second);
}

void set_memory_growth(const PhysicalDevice& device, bool enable) {
  check_exists(device);
  State& s = state();
  std::lock_guard lock(s.mutex);
  if (s.logical.contains(device.name))
    fail(ErrorCode::invalid_argument, "Cannot set memory growth on device when virtual devices configured");
  if (device.device_type != "GPU")
    fail(ErrorCode::invalid_argument, "Cannot set memory growth on non-GPU and non-Pluggable devices");
  if (const auto found = s.growth.find(device.name); found != s.growth.end() && found->second == enable) return;
  too_late_unless(!s.settled, "Physical devices");
  s.growth[device.name] = enable;
}

std::optional<bool> get_memory_growth(const PhysicalDevice& device) {
  check_exists(device);
  State& s = state();
  std::lock_guard lock(s.mutex);
  const auto found = s.growth.find(device.name);
  return found == s.growth.end() ? std::nullopt : std::optional(found->second);
}

MemoryUse get_memory_info(std::string_view name) {
  const opencl::MemoryStats stats = opencl::memory_stats(gpu_named(name, "Allocator stats not available for device"));
  return {stats.in_use, stats.peak};
}

void reset_memory_stats(std::string_view name) {
  opencl::reset_peak(gpu_named(name, "Cannot reset memory stats for device"));
}

void set_soft_device_placement(bool enabled) {
  State& s = state();
  {
    std::lock_guard lock(s.mutex);
    s.soft_placement = enabled;
    if (!s.settled) return;
  }
  default_runtime().set_soft_device_placement(enabled);
}

bool get_soft_device_placement() {
  State& s = state();
  std::lock_guard lock(s.mutex);
  return s.soft_placement;
}

void set_synchronous_execution(bool enable) { state().synchronous = enable; }
bool get_synchronous_execution() { return state().synchronous; }

namespace {
struct NamedPolicy {
  std::string_view name;
  PlacementPolicy policy;
};
constexpr NamedPolicy kPolicies[] = {{"auto", PlacementPolicy::automatic},
                                     {"planned", PlacementPolicy::planned},
                                     {"first_gpu", PlacementPolicy::first_gpu}};
}  // namespace

void set_placement_policy(std::string_view policy) {
  const auto found = std::ranges::find(kPolicies, policy, &NamedPolicy::name);
  if (found == std::end(kPolicies))
    fail(ErrorCode::invalid_argument, "there is no placement policy '", policy,
         "'; there are 'auto', 'planned' and 'first_gpu'");
  const PlacementPolicy wanted = found->policy;
  State& s = state();
  {
    std::lock_guard lock(s.mutex);
    s.policy = wanted;
    if (!s.settled) return;
  }
  default_runtime().set_placement_policy(wanted);
}

std::string get_placement_policy() {
  State& s = state();
  std::lock_guard lock(s.mutex);
  return std::string(std::ranges::find(kPolicies, s.policy, &NamedPolicy::policy)->name);
}

void enable_op_determinism() {
  state().deterministic = true;
  random_state().require_seed();
}
bool is_op_determinism_enabled() { return state().deterministic; }

void set_intra_op_parallelism_threads(int threads) { set_threads(state().intra_op, threads, "Intra"); }
void set_inter_op_parallelism_threads(int threads) {
  set_threads(state().inter_op, threads, "Inter");
  set_role_limit(ThreadRole::data, threads);
}
int get_intra_op_parallelism_threads() {
  State& s = state();
  std::lock_guard lock(s.mutex);
  return s.intra_op.value_or(0);
}
int get_inter_op_parallelism_threads() {
  State& s = state();
  std::lock_guard lock(s.mutex);
  return s.inter_op.value_or(0);
}

void set_dedicated_cores(const CoreRoles& cores) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  const CoreRoles before = core_roles();
  if (cores == before) return;
  too_late_unless(!s.settled, "Dedicated cores");
  if (cores.driver != before.driver && drivers_loaded())
    fail(ErrorCode::too_late, "The cores of the driver cannot be modified after its devices were listed");
  set_core_roles(cores);
}
CoreRoles get_dedicated_cores() { return core_roles(); }

void set_opencl_cpu_as_gpu(int parts) {
  if (parts < 0 || parts > 1024)
    fail(ErrorCode::invalid_argument, "a CPU cannot serve as ", parts, " GPUs: 0 to 1024 are possible");
  if (parts != get_opencl_cpu_as_gpu())
    change_options("OpenCL devices", [=](opencl::Options& options) { options.cpu_as_gpu = parts; });
}
int get_opencl_cpu_as_gpu() { return opencl_options().cpu_as_gpu; }

void set_opencl_hide_fp64(bool hide) {
  if (hide != get_opencl_hide_fp64())
    change_options("OpenCL devices", [=](opencl::Options& options) { options.hide_fp64 = hide; });
}
bool get_opencl_hide_fp64() { return opencl_options().hide_fp64; }

void set_opencl_shared_memory(bool shared) {
  if (shared != get_opencl_shared_memory())
    change_options("OpenCL devices", [=](opencl::Options& options) { options.shared_memory = shared; });
}
bool get_opencl_shared_memory() { return opencl_options().shared_memory; }

void set_links(std::string_view links) { tandem::set_links(links); }
std::string get_links() { return tandem::links(); }
void set_spill(bool on) { tandem::set_spill(on); }
bool get_spill() { return spill_enabled(); }

DeviceReport device_report() {
  const PhysicalGpus gpus = physical_gpus();
  DeviceReport report;
  for (const opencl::FoundPlatform& p : gpus.discovery->platforms)
    report.platforms.push_back({p.name, p.vendor, p.version, p.devices});
  int next = 0;
  for (const opencl::FoundDevice& d : gpus.discovery->devices) {
    const bool used = d.status == opencl::Status::usable;
    report.findings.push_back({used ? text("/GPU:", next++) : "", d.platform, d.name, d.driver, d.type,
                               used                                 ? "used"
                               : d.status == opencl::Status::hidden ? "hidden"
                                                                    : "rejected",
                               d.reason, d.remedy});
  }
  for (const opencl::Problem& p : gpus.discovery->problems)
    report.findings.push_back({.device = p.where, .status = "problem", .reason = p.reason, .remedy = p.remedy});
  return report;
}

bool initialized() {
  State& s = state();
  std::lock_guard lock(s.mutex);
  return s.settled;
}

Settings settle() {
  State& s = state();
  std::lock_guard lock(s.mutex);
  Settings settings{
      .threads = s.intra_op.value_or(0), .soft_placement = s.soft_placement, .policy = s.policy, .cores = core_roles()};
  if (s.visible) {
    settings.visible_gpus.emplace();
    for (const PhysicalDevice& device : *s.visible)
      if (device.device_type == "GPU") settings.visible_gpus->push_back(number_of(device.name));
  }
  for (const auto& [name, logical] : s.logical) {
    if (name.find("GPU") == name.npos) settings.cpus = static_cast<int>(logical.size());
    else settings.gpus[number_of(name)].limits = limits_in_bytes(logical);
  }
  for (const auto& [name, growth] : s.growth) settings.gpus[number_of(name)].growth = growth;
  s.settled = true;
  return settings;
}

}  // namespace tandem::config
