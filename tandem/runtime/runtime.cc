#include "tandem/runtime/runtime.h"

#include <atomic>
#include <functional>
#include <mutex>
#include <random>
#include <vector>

#include "tandem/backend/cpu/cpu_device.h"
#include "tandem/backend/opencl/opencl_device.h"
#include "tandem/core/tensor.h"
#include "tandem/exec/eager.h"

namespace tandem {

/// The CPU at once; GPUs when somebody asks for one, because loading their drivers takes longer than a small program.
class Runtime::Registry final : public DeviceRegistry {
 public:
  Registry(MemorySpace& host) {
    devices_.push_back(cpu::make_device(host, usable_memory()));
    list_.push_back(devices_[0].get());
    known_count_ = 1;
  }

  Device& host_device() override { return *list_[0]; }

  Device* find(const DeviceName& name) override {
    if (name.kind != "CPU") discover();
    for (Device* device : known())
      if (device->name() == name) return device;
    return nullptr;
  }

  std::span<Device* const> known() const override { return {list_.data(), known_count_.load(std::memory_order_acquire)}; }

  void discover() {
    std::call_once(discovered_, [this] {
      for (auto& device : opencl::make_devices(opencl::options_from_environment())) {
        if (list_.size() == kMostDevices) break;
        device->memory().set_device(device.get());
        list_.push_back(device.get());
        devices_.push_back(std::move(device));
      }
      known_count_.store(list_.size(), std::memory_order_release);
      if (on_discovery) on_discovery();
    });
  }

  std::function<void()> on_discovery;

 private:
  static constexpr std::size_t kMostDevices = 64;
  struct Reserved : std::vector<Device*> {
    Reserved() { reserve(kMostDevices); }  // so that known() stays valid while devices are added
  };
  std::vector<std::unique_ptr<Device>> devices_;
  Reserved list_;
  std::atomic<std::size_t> known_count_{0};
  std::once_flag discovered_;
};

Runtime::Runtime() : registry_(std::make_unique<Registry>(host_)) {
  random_.set_seed(std::random_device{}());
  dispatcher_ = std::make_unique<EagerDispatcher>(*registry_);
  registry_->on_discovery = [this] { dispatcher_->forget_calls(); };
}

Runtime::~Runtime() = default;

std::span<Device* const> Runtime::devices() {
  registry_->discover();
  return registry_->known();
}

void Runtime::set_soft_device_placement(bool on) { dispatcher_->set_soft_placement(on); }
bool Runtime::soft_device_placement() const { return dispatcher_->soft_placement(); }

Runtime& default_runtime() {
  // Not destroyed: tensors with static lifetime give their memory back after main has ended.
  static Runtime& runtime = *new Runtime;
  return runtime;
}

// What lower layers declare and only the assembled runtime can give.
MemorySpace& host_memory() { return default_runtime().host_pool(); }
Dispatcher& runtime_dispatcher() { return default_runtime().dispatcher(); }
RandomState& random_state() {
  RandomState* own = ScopedRandomState::current();
  return own ? *own : default_runtime().random();
}

}  // namespace tandem
