#include "tandem/backend/opencl/opencl_device.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "tandem/backend/opencl/context.h"
#include "tandem/backend/opencl/kernels.h"

namespace tandem::opencl {
namespace {

/// The device's memory behind the contract of the core.
class Memory final : public MemorySpace {
 public:
  Memory(Context& context, std::string name) : context_(context), name_(std::move(name)) {}
  std::string_view name() const override { return name_; }
  void* allocate(std::size_t bytes) override { return context_.pool().allocate(bytes); }
  void free(void* address, std::size_t) noexcept override { context_.pool().free(static_cast<Buffer*>(address)); }
  bool is_host() const override { return false; }
  Event copy_from_host(void* to, const void* from, std::size_t bytes) override {
    context_.write(*static_cast<Buffer*>(to), from, bytes);
    return {};
  }
  Event copy_to_host(void* to, const void* from, std::size_t bytes) override {
    context_.read(to, *static_cast<const Buffer*>(from), bytes);
    return {};
  }

 private:
  Context& context_;
  std::string name_;
};

class OpenclDevice final : public Device {
 public:
  OpenclDevice(cl_device_id device, const Traits& traits, int index, std::size_t memory_limit)
      : properties_{.name = {"GPU", index}, .cores = traits.units},
        context_(device, traits, properties_.name.short_name(), memory_limit),
        memory_(context_, properties_.name.short_name()),
        kernels_(kernel_table()) {
    properties_.memory_bytes = context_.pool().stats().limit;
    properties_.description = text(traits.name, " (", traits.platform, ", driver ", traits.driver, ")");
  }
  const DeviceProperties& properties() const override { return properties_; }
  MemorySpace& memory() override { return memory_; }
  const KernelTable& kernels() const override { return kernels_; }
  void synchronize() override { context_.synchronize(); }
  Context& context() { return context_; }

 private:
  DeviceProperties properties_;
  Context context_;
  Memory memory_;
  KernelTable kernels_;
};

/// Runs a kernel whose result is known; throws when the device does not give it.
void prove(Context& context) {
  const std::string source =
      "__kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1)))\n"
      "void prove(__global int* x, int n) { int i = (int)get_global_id(0); if (i < n) x[i] = i * 3 + 1; }\n";
  constexpr int kCount = 64;
  const KernelFunction kernel = context.kernel(source, "prove");
  const Scratch scratch(context.pool(), kCount * sizeof(cl_int));
  Launch(context, kernel).buffer(scratch.get()).value<cl_int>(kCount).run(kCount);
  cl_int got[kCount] = {};
  context.read(got, *scratch.get(), sizeof(got));
  for (int i = 0; i < kCount; ++i)
    if (got[i] != i * 3 + 1) fail(ErrorCode::device_unavailable, "a test kernel gave ", got[i], " instead of ", i * 3 + 1);
}

struct Candidate {
  cl_device_id device;
  Traits traits;
};

std::mutex& rejected_mutex() {
  static std::mutex mutex;
  return mutex;
}
std::vector<Rejected>& rejected_list() {
  static std::vector<Rejected> list;
  return list;
}
void reject(const std::string& platform, const std::string& device, const std::string& reason, const std::string& remedy) {
  std::lock_guard lock(rejected_mutex());
  rejected_list().push_back({platform, device, reason, remedy});
}

std::vector<cl_platform_id> platforms() {
  cl_uint count = 0;
  const cl_int status = clGetPlatformIDs(0, nullptr, &count);
  if (status != CL_SUCCESS || count == 0) {
    reject("", "", "no OpenCL driver is installed", "install the driver of your GPU, or pocl-opencl-icd to try without one");
    return {};
  }
  std::vector<cl_platform_id> found(count);
  check(clGetPlatformIDs(count, found.data(), nullptr), "listing the platforms");
  return found;
}

/// Devices of one type; a platform without any is no error.
std::vector<cl_device_id> devices_of(cl_platform_id platform, cl_device_type type) {
  cl_uint count = 0;
  if (clGetDeviceIDs(platform, type, 0, nullptr, &count) != CL_SUCCESS || count == 0) return {};
  std::vector<cl_device_id> found(count);
  if (clGetDeviceIDs(platform, type, count, found.data(), nullptr) != CL_SUCCESS) return {};
  return found;
}

/// `device` in `parts` equal parts, each with its own compute units.
std::vector<cl_device_id> split(cl_device_id device, const Traits& traits, int parts) {
  if (parts == 1) return {device};
  if (traits.units < parts)
    fail(ErrorCode::invalid_argument, traits.name, " has ", traits.units, " compute units and cannot be split into ", parts);
  const cl_device_partition_property how[] = {CL_DEVICE_PARTITION_EQUALLY, traits.units / parts, 0};
  cl_uint count = 0;
  check(clCreateSubDevices(device, how, 0, nullptr, &count), "splitting the device");
  std::vector<cl_device_id> made(count);
  check(clCreateSubDevices(device, how, count, made.data(), nullptr), "splitting the device");
  made.resize(std::min<std::size_t>(made.size(), static_cast<std::size_t>(parts)));
  return made;
}

/// The threads PoCL starts at its first call inherit the mask of the thread that makes it.
class CoreMask {
 public:
  explicit CoreMask(const std::vector<int>& cores) : active_(!cores.empty() && sched_getaffinity(0, sizeof(old_), &old_) == 0) {
    if (!active_) return;
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    for (int core : cores) CPU_SET(core, &wanted);
    if (sched_setaffinity(0, sizeof(wanted), &wanted) != 0)
      fail(ErrorCode::invalid_argument, "OpenCL threads cannot be pinned to cores [", join(cores), "]: not all of them are there");
    // One thread a core, unless the user said otherwise; read by PoCL at its first call.
    setenv("POCL_MAX_PTHREAD_COUNT", text(cores.size()).c_str(), 0);
    setenv("POCL_AFFINITY", "0", 0);
  }
  ~CoreMask() {
    if (active_) sched_setaffinity(0, sizeof(old_), &old_);
  }

 private:
  cpu_set_t old_;
  bool active_;
};

std::vector<Candidate> candidates(const Options& options) {
  std::vector<Candidate> found;
  bool have_cpu = false;
  for (cl_platform_id platform : platforms()) {
    for (cl_device_id device : devices_of(platform, CL_DEVICE_TYPE_GPU)) found.push_back({device, traits_of(device)});
    for (cl_device_id device : devices_of(platform, CL_DEVICE_TYPE_CPU)) {
      const Traits traits = traits_of(device);
      if (options.cpu_as_gpu <= 0 || have_cpu) {
        reject(traits.platform, traits.name, have_cpu ? "another CPU-type device serves already" : "it is no GPU",
               have_cpu ? "choose the driver with OCL_ICD_VENDORS" : "set TANDEM_OPENCL_CPU_AS_GPU=1 to use it as one");
        continue;
      }
      have_cpu = true;
      for (cl_device_id part : split(device, traits, options.cpu_as_gpu)) found.push_back({part, traits_of(part)});
    }
  }
  return found;
}

}  // namespace

std::vector<std::unique_ptr<Device>> make_devices(const Options& options) {
  {
    std::lock_guard lock(rejected_mutex());
    rejected_list().clear();
  }
  const CoreMask mask(options.cores);
  std::vector<std::unique_ptr<Device>> devices;
  for (Candidate& candidate : candidates(options)) {
    if (options.hide_fp64) candidate.traits.fp64 = false;
    try {
      auto device = std::make_unique<OpenclDevice>(candidate.device, candidate.traits, static_cast<int>(devices.size()),
                                                   options.memory_limit);
      prove(device->context());
      devices.push_back(std::move(device));
    } catch (const Error& error) {
      reject(candidate.traits.platform, candidate.traits.name, error.what(), "update the driver, or check its permissions");
    }
  }
  return devices;
}

std::vector<Rejected> rejected_devices() {
  std::lock_guard lock(rejected_mutex());
  return rejected_list();
}

MemoryStats memory_stats(Device& device) { return static_cast<OpenclDevice&>(device).context().pool().stats(); }

Context& context_of(const KernelCall& call) {
  TANDEM_CHECK(call.device, "an OpenCL kernel needs to know its device");
  return static_cast<OpenclDevice&>(*call.device).context();
}

}  // namespace tandem::opencl
