// How the devices are set up. Devices cross the border as (name, device_type); the package makes its classes of them.
#include "tandem/runtime/config.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "tandem/core/storage.h"
#include "tandem/python/module.h"
#include "tandem/runtime/placement_lock.h"
#include "tandem/runtime/runtime.h"

namespace tandem::python {
namespace {

using config::PhysicalDevice;

template <class Device>
nb::list device_list(const std::vector<Device>& devices) {
  nb::list out;
  for (const Device& device : devices) out.append(nb::make_tuple(device.name, device.device_type));
  return out;
}

PhysicalDevice physical(nb::handle pair) { return {nb::cast<std::string>(pair[0]), nb::cast<std::string>(pair[1])}; }

nb::dict direction(const TransferStats::Direction& d) {
  nb::dict out;
  out["bytes"] = d.bytes;
  out["count"] = d.count;
  out["seconds"] = d.seconds;
  return out;
}

nb::dict transfers() {
  const TransferStats stats = transfer_stats();
  nb::dict out;
  out["h2d"] = direction(stats.to_device);
  out["d2h"] = direction(stats.to_host);
  return out;
}

void add_device_settings(nb::module_& module) {
  module.def("list_physical_devices",
             [](const std::string& type) { return device_list(config::list_physical_devices(type)); });
  module.def("list_logical_devices",
             [](const std::string& type) { return device_list(config::list_logical_devices(type)); });
  module.def("get_visible_devices",
             [](const std::string& type) { return device_list(config::get_visible_devices(type)); });
  module.def("set_visible_devices", [](nb::list devices, const std::string& type) {
    std::vector<PhysicalDevice> list;
    for (nb::handle device : devices) list.push_back(physical(device));
    config::set_visible_devices(list, type);
  });
  module.def("set_logical_devices", [](nb::handle device, const std::vector<std::optional<double>>& limits) {
    std::vector<config::LogicalDeviceConfiguration> logical;
    for (const auto& limit : limits) logical.push_back({.memory_limit = limit});
    config::set_logical_device_configuration(physical(device), logical);
  });
  module.def("has_logical_devices",
             [](nb::handle device) { return config::get_logical_device_configuration(physical(device)).has_value(); });
  module.def("set_memory_growth", [](nb::handle device, bool on) { config::set_memory_growth(physical(device), on); });
  module.def("get_memory_growth", [](nb::handle device) { return config::get_memory_growth(physical(device)); });
  module.def("get_device_details", [](nb::handle device) {
    nb::dict out;
    for (const auto& [key, value] : config::get_device_details(physical(device))) out[nb::str(key.c_str())] = value;
    return out;
  });
  module.def("get_memory_info", [](const std::string& device) {
    const config::MemoryUse use = config::get_memory_info(device);
    return nb::make_tuple(use.current, use.peak);
  });
  module.def("reset_memory_stats", [](const std::string& device) { config::reset_memory_stats(device); });
  module.def("get_transfer_stats", transfers);
}

}  // namespace

void add_config(nb::module_& module) {
  add_device_settings(module);
  module.def("set_soft_device_placement", config::set_soft_device_placement);
  module.def("get_soft_device_placement", config::get_soft_device_placement);
  module.def("set_synchronous_execution", config::set_synchronous_execution);
  module.def("get_synchronous_execution", config::get_synchronous_execution);
  module.def("set_placement_policy", [](const std::string& policy) { config::set_placement_policy(policy); });
  module.def("get_placement_policy", config::get_placement_policy);
  module.def("set_placement_lock", config::set_placement_lock);
  module.def("get_placement_lock", config::get_placement_lock);
  module.def("add_to_lock", [](const std::string& json, const std::string& path) {
    for (LockedFunction& function : parse_lock(json, "lock").functions) add_to_lock(std::move(function), path);
  });
  module.def("placement_drift", config::placement_drift);
  module.def("enable_op_determinism", config::enable_op_determinism);
  module.def("is_op_determinism_enabled", config::is_op_determinism_enabled);
  module.def("set_intra_op_parallelism_threads", config::set_intra_op_parallelism_threads);
  module.def("get_intra_op_parallelism_threads", config::get_intra_op_parallelism_threads);
  module.def("set_inter_op_parallelism_threads", config::set_inter_op_parallelism_threads);
  module.def("get_inter_op_parallelism_threads", config::get_inter_op_parallelism_threads);
  module.def("set_dedicated_cores", [](std::vector<int> compute, std::vector<int> driver, std::vector<int> data) {
    config::set_dedicated_cores({std::move(compute), std::move(driver), std::move(data)});
  });
  module.def("get_dedicated_cores", [] {
    const CoreRoles cores = config::get_dedicated_cores();
    return nb::make_tuple(nb::cast(cores.compute), nb::cast(cores.driver), nb::cast(cores.data));
  });
  module.def("set_opencl_cpu_as_gpu", config::set_opencl_cpu_as_gpu);
  module.def("get_opencl_cpu_as_gpu", config::get_opencl_cpu_as_gpu);
  module.def("set_opencl_hide_fp64", config::set_opencl_hide_fp64);
  module.def("get_opencl_hide_fp64", config::get_opencl_hide_fp64);
  module.def("set_opencl_shared_memory", config::set_opencl_shared_memory);
  module.def("get_opencl_shared_memory", config::get_opencl_shared_memory);
  module.def("set_links", [](const std::string& links) { config::set_links(links); });
  module.def("get_links", config::get_links);
  module.def("set_spill", config::set_spill);
  module.def("get_spill", config::get_spill);
  module.def("interpreter_ends", interpreter_ends);
  module.def("finish_work", [] {
    const WithoutGil without;
    finish_work();
  });
  module.def("sync_devices", [] {
    const WithoutGil without;
    sync();
  });
}

}  // namespace tandem::python
