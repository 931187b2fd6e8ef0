#include "tandem/backend/opencl/opencl_device.h"

#include "tandem/backend/opencl/context.h"
#include "tandem/backend/opencl/discovery.h"
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

}  // namespace

std::unique_ptr<Device> make_device(const FoundDevice& found, int index, const LogicalDeviceConfiguration& memory, bool hide_fp64) {
  Traits traits = traits_of(found.id);
  if (hide_fp64) traits.fp64 = false;
  return std::make_unique<OpenclDevice>(found.id, traits, index, memory.memory_limit.value_or(0));
}

std::vector<std::unique_ptr<Device>> make_devices(const Options& options) {
  const Discovery discovery = discover(options);
  std::vector<std::unique_ptr<Device>> devices;
  for (const FoundDevice* found : discovery.usable()) {
    const LogicalDeviceConfiguration memory{options.memory_limit ? std::optional(options.memory_limit) : std::nullopt};
    devices.push_back(make_device(*found, static_cast<int>(devices.size()), memory, options.hide_fp64));
  }
  return devices;
}

MemoryStats memory_stats(Device& device) { return static_cast<OpenclDevice&>(device).context().pool().stats(); }

void reset_peak(Device& device) { static_cast<OpenclDevice&>(device).context().pool().reset_peak(); }

Context& context_of(const KernelCall& call) {
  TANDEM_CHECK(call.device, "an OpenCL kernel needs to know its device");
  return static_cast<OpenclDevice&>(*call.device).context();
}

}  // namespace tandem::opencl
