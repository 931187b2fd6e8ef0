#include "tandem/backend/opencl/traits.h"

#include <algorithm>

#include "tandem/base/cgroup.h"
#include "tandem/base/fault.h"
#include "tandem/core/device.h"

namespace tandem::opencl {
namespace {

template <class T>
T device_info(cl_device_id device, cl_device_info what) {
  T value{};
  check(clGetDeviceInfo(device, what, sizeof(value), &value, nullptr), "asking for a property of the device");
  return value;
}

std::string device_text(cl_device_id device, cl_device_info what) {
  std::size_t size = 0;
  check(clGetDeviceInfo(device, what, 0, nullptr, &size), "asking for a property of the device");
  std::string value(size, '\0');
  check(clGetDeviceInfo(device, what, size, value.data(), nullptr), "asking for a property of the device");
  while (!value.empty() && (value.back() == '\0' || value.back() == ' ')) value.pop_back();
  return value;
}

}  // namespace

Traits traits_of(cl_device_id device) {
  Traits t;
  if (fault(Fault::opencl_info)) check(CL_DEVICE_NOT_AVAILABLE, "asking for a property of the device");
  t.name = device_text(device, CL_DEVICE_NAME);
  t.driver = device_text(device, CL_DRIVER_VERSION);
  const auto platform = device_info<cl_platform_id>(device, CL_DEVICE_PLATFORM);
  char platform_name[256] = {};
  clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(platform_name) - 1, platform_name, nullptr);
  t.platform = platform_name;
  t.cpu_type = device_info<cl_device_type>(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU;
  t.clblast = !t.cpu_type;
  t.shared_memory = !t.cpu_type && device_info<cl_bool>(device, CL_DEVICE_HOST_UNIFIED_MEMORY);
  t.fp64 = device_text(device, CL_DEVICE_EXTENSIONS).find("cl_khr_fp64") != std::string::npos;
  t.exact_division =
      device_info<cl_device_fp_config>(device, CL_DEVICE_SINGLE_FP_CONFIG) & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
  t.units = static_cast<int>(device_info<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS));
  t.native_lanes = static_cast<int>(device_info<cl_uint>(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT));
  t.memory_bytes = device_info<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE);
  t.in_host_memory = t.cpu_type || t.shared_memory;
  // Such a driver reports the machine's memory, and knows nothing of cgroups.
  if (t.in_host_memory) t.memory_bytes = std::min(t.memory_bytes, usable_memory());
  t.largest_buffer = device_info<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  t.alignment = std::max<std::size_t>(MemorySpace::kSliceAlignment,
                                      device_info<cl_uint>(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8);
  return t;
}

}  // namespace tandem::opencl
