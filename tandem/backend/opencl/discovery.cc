#include "tandem/backend/opencl/discovery.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <set>

#include "tandem/backend/opencl/context.h"
#include "tandem/backend/opencl/forks.h"
#include "tandem/base/core_roles.h"
#include "tandem/base/fault.h"

namespace tandem::opencl {
namespace {

constexpr std::string_view kSelfTest =
    "__kernel void prove(__global int* x) { int i = (int)get_global_id(0); x[i] = i * 3 + 1; }\n";

ProgramHandle self_test_program(cl_context context, cl_device_id device, const ProgramCache& cache,
                                const std::string& key, bool& kept) {
  cl_int status = CL_SUCCESS, binary_status = CL_SUCCESS;
  if (const auto binary = cache.load(key)) {
    const unsigned char* data = binary->data();
    const std::size_t size = binary->size();
    ProgramHandle loaded(clCreateProgramWithBinary(context, 1, &device, &size, &data, &binary_status, &status));
    kept = status == CL_SUCCESS && binary_status == CL_SUCCESS &&
           clBuildProgram(loaded.get(), 1, &device, "", nullptr, nullptr) == CL_SUCCESS;
    if (kept) return loaded;
  }
  const char* data = kSelfTest.data();
  const std::size_t size = kSelfTest.size();
  ProgramHandle program(clCreateProgramWithSource(context, 1, &data, &size, &status));
  check(status, "making a program");
  check(clBuildProgram(program.get(), 1, &device, "-w", nullptr, nullptr), "compiling a test kernel");
  return program;
}

/// To be called after a launch, because drivers finish compiling there.
void keep_program(cl_program program, const ProgramCache& cache, const std::string& key) {
  std::size_t length = 0;
  if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(length), &length, nullptr) != CL_SUCCESS || !length)
    return;
  ProgramCache::Bytes bytes(length);
  unsigned char* target = bytes.data();
  if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(target), &target, nullptr) == CL_SUCCESS)
    cache.store(key, bytes);
}

/// Runs a kernel whose result is known; throws when the device does not give it.
void self_test(cl_device_id device, const Traits& traits) {
  constexpr std::size_t kCount = 16;
  cl_int status = CL_SUCCESS;
  const ContextHandle context(clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status));
  check(status, "opening the device");
  const QueueHandle queue(clCreateCommandQueue(context.get(), device, 0, &status));
  check(status, "making a queue");
  cl_int got[kCount] = {};
  const MemoryHandle memory(
      clCreateBuffer(context.get(), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(got), got, &status));
  check(status, "making a buffer");
  const ProgramCache cache(ProgramCache::default_folder());
  const std::string key =
      program_key({std::string(kSelfTest), traits.platform, traits.name, traits.driver, text(traits.units)});
  bool kept = false;
  const ProgramHandle program = self_test_program(context.get(), device, cache, key, kept);
  const KernelHandle kernel(clCreateKernel(program.get(), "prove", &status));
  check(status, "finding a kernel");
  const cl_mem argument = memory.get();
  check(clSetKernelArg(kernel.get(), 0, sizeof(argument), &argument), "setting an argument of a kernel");
  const std::size_t items = kCount, local = 1;
  check(clEnqueueNDRangeKernel(queue.get(), kernel.get(), 1, nullptr, &items, &local, 0, nullptr, nullptr),
        "starting a kernel");
  check(clEnqueueReadBuffer(queue.get(), memory.get(), CL_TRUE, 0, sizeof(got), got, 0, nullptr, nullptr),
        "copying to the host");
  if (!kept) keep_program(program.get(), cache, key);
  if (fault(Fault::opencl_self_test)) got[0] = -1;
  for (std::size_t i = 0; i < kCount; ++i)
    if (got[i] != static_cast<cl_int>(i * 3 + 1))
      fail(ErrorCode::device_failed, "a test kernel gave ", got[i], " instead of ", i * 3 + 1);
}

std::string platform_text(cl_platform_id platform, cl_platform_info what) {
  std::size_t size = 0;
  if (clGetPlatformInfo(platform, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return "";
  std::string value(size, '\0');
  if (clGetPlatformInfo(platform, what, size, value.data(), nullptr) != CL_SUCCESS) return "";
  value.resize(std::min(value.find('\0'), value.size()));
  return value;
}

std::vector<cl_platform_id> platform_ids() {
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) return {};
  std::vector<cl_platform_id> found(count);
  if (clGetPlatformIDs(count, found.data(), nullptr) != CL_SUCCESS) return {};
  return found;
}

/// A platform without devices is no error, but worth saying.
std::vector<cl_device_id> device_ids(cl_platform_id platform, Discovery& found) {
  cl_uint count = 0;
  std::vector<cl_device_id> ids;
  cl_int status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  if (status == CL_SUCCESS && count) {
    ids.resize(count);
    status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr);
  }
  if (status == CL_SUCCESS && count) return ids;
  found.problems.push_back(
      {platform_text(platform, CL_PLATFORM_NAME),
       status == CL_SUCCESS || status == CL_DEVICE_NOT_FOUND
           ? "its driver offers no device"
           : text("its driver does not say which devices there are: ", status_text(status)),
       "check that the card is there and that this user may use it (groups render and video), or remove the driver"});
  return {};
}

/// `device` in `parts` equal parts, each with its own compute units.
std::vector<cl_device_id> split(cl_device_id device, const Traits& traits, int parts) {
  if (parts == 1) return {device};
  if (traits.units < parts)
    fail(ErrorCode::invalid_argument, traits.name, " has ", traits.units, " compute units and cannot be split into ",
         parts, " (TANDEM_OPENCL_CPU_AS_GPU)");
  const cl_device_partition_property how[] = {CL_DEVICE_PARTITION_EQUALLY, traits.units / parts, 0};
  cl_uint count = 0;
  check(clCreateSubDevices(device, how, 0, nullptr, &count), "splitting the device");
  std::vector<cl_device_id> made(count);
  check(clCreateSubDevices(device, how, count, made.data(), nullptr), "splitting the device");
  made.resize(std::min<std::size_t>(made.size(), static_cast<std::size_t>(parts)));
  return made;
}

/// The cores for `units` of PoCL's threads from the `first` on: a part of a device has threads of its own, and there is
/// a core for each as long as there are enough.
std::vector<int> cores_for(int first, int units, const Options& options) {
  const std::vector<int>& all = options.cores.empty() ? process_cores() : options.cores;
  std::set<int> cores;
  for (int i = first; i < first + units; ++i) cores.insert(all[static_cast<std::size_t>(i) % all.size()]);
  return {cores.begin(), cores.end()};
}

/// Whether PoCL's threads, of which the first stays on core 0 and so on, would run on just these cores.
bool are_first_cores(const std::vector<int>& cores) {
  for (std::size_t i = 0; i < cores.size(); ++i)
    if (cores[i] != static_cast<int>(i)) return false;
  return true;
}

/// A variable that PoCL reads at its first call, unless the user has set it. Processes that this one starts do not get
/// it: they may have other cores.
class PoclVariable {
 public:
  PoclVariable(const char* name, const std::string& value) : name_(std::getenv(name) ? nullptr : name) {
    if (name_) setenv(name_, value.c_str(), 1);
  }
  ~PoclVariable() {
    if (name_) unsetenv(name_);
  }
  PoclVariable(const PoclVariable&) = delete;
  PoclVariable& operator=(const PoclVariable&) = delete;

 private:
  const char* name_;
};

/// Where the threads run that PoCL starts at its first call: it reads its variables then, and the threads inherit the
/// mask of the thread that makes it. What the user has set stays.
class CoreMask {
 public:
  explicit CoreMask(const std::vector<int>& cores)
      : active_(!cores.empty() && sched_getaffinity(0, sizeof(old_), &old_) == 0) {
    const std::vector<int>& wanted = active_ ? cores : process_cores();
    const bool all_of_them = active_ || static_cast<long>(wanted.size()) == sysconf(_SC_NPROCESSORS_ONLN);
    // Threads that may move are often woken on one core, and a short kernel has ended before they are parted.
    affinity_.emplace("POCL_AFFINITY", all_of_them && are_first_cores(wanted) ? "1" : "0");
    if (!active_) return;
    confine(cores);
    threads_.emplace("POCL_MAX_PTHREAD_COUNT", text(cores.size()));  // one thread a core
  }
  ~CoreMask() {
    if (active_) sched_setaffinity(0, sizeof(old_), &old_);
  }

 private:
  static void confine(const std::vector<int>& cores) {
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    for (int core : cores) CPU_SET(core, &wanted);
    if (sched_setaffinity(0, sizeof(wanted), &wanted) != 0)
      fail(ErrorCode::invalid_argument, "OpenCL threads cannot be pinned to cores [", join(cores),
           "]: not all of them are there");
  }

  cpu_set_t old_;
  bool active_;
  std::optional<PoclVariable> affinity_, threads_;
};

FoundDevice describe(cl_device_id id, const Traits& traits) {
  cl_device_type type = 0;
  check(clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof(type), &type, nullptr), "asking for the type of the device");
  return {.platform = traits.platform,
          .name = traits.name,
          .driver = traits.driver,
          .type = type & CL_DEVICE_TYPE_GPU   ? "GPU"
                  : type & CL_DEVICE_TYPE_CPU ? "CPU"
                                              : "accelerator",
          .units = traits.units,
          .memory_bytes = traits.memory_bytes,
          .fp64 = traits.fp64,
          .id = id};
}

/// For a device that may tell nothing else.
std::string name_of(cl_device_id id) {
  char name[256] = {};
  if (clGetDeviceInfo(id, CL_DEVICE_NAME, sizeof(name) - 1, name, nullptr) != CL_SUCCESS)
    return "a device without a name";
  return name;
}

constexpr const char* kDriverRemedy = "update the driver, or check that this user may use the device";

void reject(FoundDevice& device, std::string reason, std::string remedy, Status status = Status::rejected) {
  device.status = status;
  device.reason = std::move(reason);
  device.remedy = std::move(remedy);
}

/// A device that may serve: a GPU as it is, one CPU-type device in as many parts as asked for.
void add_device(cl_device_id id, const Options& options, Discovery& found) {
  const bool have_cpu = std::any_of(found.devices.begin(), found.devices.end(),
                                    [](const FoundDevice& d) { return d.type == "CPU" && d.status == Status::usable; });
  const Traits traits = traits_of(id);
  FoundDevice device = describe(id, traits);
  if (device.type == "CPU" && options.cpu_as_gpu > 0 && !have_cpu) {
    std::vector<FoundDevice> parts;
    int first = 0;
    for (cl_device_id part : split(id, traits, options.cpu_as_gpu)) {
      parts.push_back(describe(part, traits_of(part)));
      parts.back().cores = cores_for(first, parts.back().units, options);
      first += parts.back().units;
    }
    std::ranges::move(parts, std::back_inserter(found.devices));
    return;
  }
  if (device.type == "CPU" && have_cpu)
    reject(device, "another CPU-type device serves already", "choose the driver with OCL_ICD_VENDORS");
  else if (device.type == "CPU") reject(device, "it is no GPU", "set TANDEM_OPENCL_CPU_AS_GPU=1 to use it as one");
  else if (device.type != "GPU") reject(device, "it is neither a GPU nor a CPU", "use another device");
  found.devices.push_back(std::move(device));
}

/// Adds the devices of a platform; one about which its driver does not answer is no reason to do without the others.
void add_devices(cl_platform_id platform, const Options& options, Discovery& found) {
  for (cl_device_id id : device_ids(platform, found)) {
    try {
      add_device(id, options, found);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::invalid_argument) throw;
      FoundDevice device{
          .platform = platform_text(platform, CL_PLATFORM_NAME), .name = name_of(id), .type = "unknown", .id = id};
      reject(device, text("its driver does not answer: ", error.message()), kDriverRemedy);
      found.devices.push_back(std::move(device));
    }
  }
}

void hide(const Options& options, Discovery& found) {
  // NVIDIA's driver obeys CUDA_VISIBLE_DEVICES itself: what it offers is what may be used, under new numbers.
  const bool by_driver =
      !options.visible && std::any_of(found.devices.begin(), found.devices.end(),
                                      [](const FoundDevice& d) { return d.platform.starts_with("NVIDIA"); });
  const auto& visible = options.visible ? options.visible : options.cuda_visible;
  if (!visible || by_driver) return;
  int index = 0;
  for (FoundDevice& device : found.devices) {
    if (device.status != Status::usable) continue;
    const auto& list = visible->devices;
    if (std::find(list.begin(), list.end(), index++) == list.end())
      reject(device, text("hidden by ", visible->variable, "='", visible->text, "'"),
             text("add ", index - 1, " to ", visible->variable, " or unset it"), Status::hidden);
  }
}

void prove(FoundDevice& device) {
  if (device.status != Status::usable) return;
  if (left_behind())
    return reject(device, "this process was forked from one that used OpenCL, whose threads stayed there",
                  "start processes anew (in Python with multiprocessing's \"spawn\")");
  try {
    self_test(device.id, traits_of(device.id));
  } catch (const Error& error) {
    reject(device, text("its self-test failed: ", error.message()), kDriverRemedy);
  }
}

}  // namespace

std::vector<const FoundDevice*> Discovery::usable() const {
  std::vector<const FoundDevice*> list;
  if (left_behind()) return list;
  for (const FoundDevice& device : devices)
    if (device.status == Status::usable) list.push_back(&device);
  return list;
}

int Discovery::hidden() const {
  return static_cast<int>(
      std::count_if(devices.begin(), devices.end(), [](const FoundDevice& d) { return d.status == Status::hidden; }));
}

Discovery discover(const Options& options) {
  begin_to_use_drivers();
  const CoreMask mask(options.cores);
  Discovery found;
  for (cl_platform_id platform : platform_ids()) {
    const std::size_t before = found.devices.size();
    add_devices(platform, options, found);
    found.platforms.push_back({platform_text(platform, CL_PLATFORM_NAME), platform_text(platform, CL_PLATFORM_VENDOR),
                               platform_text(platform, CL_PLATFORM_VERSION),
                               static_cast<int>(found.devices.size() - before)});
  }
  hide(options, found);
  for (FoundDevice& device : found.devices) prove(device);
  const bool have_gpu =
      std::any_of(found.devices.begin(), found.devices.end(), [](const FoundDevice& d) { return d.type == "GPU"; });
  std::ranges::move(driver_problems({}, {.platform = !found.platforms.empty(), .gpu = have_gpu}),
                    std::back_inserter(found.problems));
  return found;
}

}  // namespace tandem::opencl
