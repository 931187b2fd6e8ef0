#include "tandem/backend/opencl/opencl_device.h"

#include "tandem/backend/opencl/context.h"
#include "tandem/backend/opencl/discovery.h"
#include "tandem/backend/opencl/forks.h"
#include "tandem/backend/opencl/kernels.h"
#include "tandem/core/fallible_space.h"
#include "tandem/core/shared_space.h"
#include "tandem/core/spill.h"

namespace tandem::opencl {
namespace {

/// The device's memory behind the contract of the core.
template <class Contract>
class Memory : public Contract, public FallibleSpace {
 public:
  Memory(Context& context, std::string name) : context_(context), name_(std::move(name)) {
    context.pool().allocate = [this](std::size_t bytes) { return static_cast<Buffer*>(allocate(bytes)); };
  }
  std::string_view name() const override { return name_; }
  void* allocate(std::size_t bytes) override { return allocate_evicting(*this, bytes); }
  void* try_allocate(std::size_t bytes, Purpose purpose) override {
    return context_.pool().try_allocate(bytes, purpose);
  }
  void free(void* address, std::size_t) noexcept override { context_.free(static_cast<Buffer*>(address)); }
  void* slice(void* address, std::size_t offset, std::size_t bytes) override {
    return context_.pool().slice(*static_cast<Buffer*>(address), offset, bytes);
  }
  void free_slice(void* slice) noexcept override { context_.pool().free(static_cast<Buffer*>(slice)); }
  Event copy_from_host(void* to, const void* from, std::size_t bytes, bool pending) override {
    return context_.upload(*static_cast<Buffer*>(to), from, bytes, pending);
  }
  Event copy_to_host(void* to, const void* from, std::size_t bytes) override {
    return context_.download(to, *static_cast<const Buffer*>(from), bytes);
  }
  bool is_whole(const void* address) override { return context_.is_whole(*static_cast<const Buffer*>(address)); }
  MemoryInfo info() const override {
    const MemoryStats stats = context_.pool().stats();
    return {stats.in_use, stats.peak, stats.limit};
  }
  void reset_peak() override { context_.pool().reset_peak(); }

 protected:
  Context& context_;

 private:
  std::string name_;
};
using OwnMemory = Memory<MemorySpace>;

class SharedMemory final : public Memory<SharedSpace> {
 public:
  using Memory::Memory;
  void* try_share(void* host, std::size_t bytes) override { return context_.pool().try_share(host, bytes); }
  Event written(void* shared) override { return context_.written(*static_cast<Buffer*>(shared)); }
  Event last_use(void* shared) override { return context_.last_use(*static_cast<Buffer*>(shared)); }
};

std::unique_ptr<MemorySpace> make_memory(Context& context, const std::string& name) {
  if (context.traits().shared_memory) return std::make_unique<SharedMemory>(context, name);
  return std::make_unique<OwnMemory>(context, name);
}

class OpenclDevice final : public Device {
 public:
  OpenclDevice(const FoundDevice& found, const Traits& traits, int index, const LogicalDeviceConfiguration& memory)
      : properties_{.name = {"GPU", index}, .cores = traits.units},
        host_cores_(found.cores),
        context_(found.id, traits, properties_.name.short_name(), memory),
        memory_(make_memory(context_, properties_.name.short_name())),
        kernels_(kernel_table()) {
    context_.report_loss_to(lost_);
    properties_.memory_bytes = context_.pool().stats().limit;
    properties_.description = text(traits.name, " (", traits.platform, ", driver ", traits.driver,
                                   traits.shared_memory ? ", shares the host's memory)" : ")");
  }
  ~OpenclDevice() override { free_finished_copies(true); }
  const DeviceProperties& properties() const override { return properties_; }
  MemorySpace& memory() override { return *memory_; }
  const KernelTable& kernels() const override { return kernels_; }
  void set_running(const Decision* op) override { Context::set_running(op); }
  void synchronize() override { context_.synchronize(); }
  Context& context() { return context_; }
  const std::vector<int>& host_cores() const { return host_cores_; }

 private:
  DeviceProperties properties_;
  const std::vector<int> host_cores_;
  const ToldOfForks told_of_forks_{lost_};
  Context context_;
  std::unique_ptr<MemorySpace> memory_;
  KernelTable kernels_;
};

void check_limit(const LogicalDeviceConfiguration& memory, const Traits& traits) {
  if (memory.memory_limit && *memory.memory_limit == 0)
    fail(ErrorCode::invalid_argument, "a memory limit of 0 bytes for ", traits.name,
         ": give it some, or hide the device");
}

}  // namespace

std::unique_ptr<Device> make_device(const FoundDevice& found, int index, const LogicalDeviceConfiguration& memory,
                                    const Options& options) {
  Traits traits = traits_of(found.id);
  if (options.hide_fp64) traits.fp64 = false;
  if (options.shared_memory && traits.cpu_type) traits.shared_memory = true;
  if (options.clblast) traits.clblast = *options.clblast;
  if (options.cpu_style) traits.cpu_type = *options.cpu_style;
  if (options.wide_vectors) traits.native_lanes = *options.wide_vectors ? 16 : 8;
  check_limit(memory, traits);
  return std::make_unique<OpenclDevice>(found, traits, index, memory);
}

std::vector<std::unique_ptr<Device>> make_devices(const Options& options) {
  const Discovery discovery = discover(options);
  std::vector<std::unique_ptr<Device>> devices;
  for (const FoundDevice* found : discovery.usable()) {
    const LogicalDeviceConfiguration memory{options.memory_limit ? std::optional(options.memory_limit) : std::nullopt};
    devices.push_back(make_device(*found, static_cast<int>(devices.size()), memory, options));
  }
  return devices;
}

void wait_for_all(Device& device) {
  if (auto* const ours = dynamic_cast<OpenclDevice*>(&device)) ours->context().wait_for_all();
  else device.synchronize();
}

const std::vector<int>& host_cores(Device& device) { return static_cast<OpenclDevice&>(device).host_cores(); }

std::uint64_t start_timing(Device& device) { return static_cast<OpenclDevice&>(device).context().start_timing(); }
void stop_timing(Device& device) { static_cast<OpenclDevice&>(device).context().stop_timing(); }
std::optional<DeviceTiming> take_timing(Device& device, std::uint64_t number) {
  return static_cast<OpenclDevice&>(device).context().take_timing(number);
}

MemoryStats memory_stats(Device& device) { return static_cast<OpenclDevice&>(device).context().pool().stats(); }

void reset_peak(Device& device) { static_cast<OpenclDevice&>(device).context().pool().reset_peak(); }

Context& context_of(const KernelCall& call) {
  TANDEM_CHECK(call.device, "an OpenCL kernel needs to know its device");
  return static_cast<OpenclDevice&>(*call.device).context();
}

}  // namespace tandem::opencl
