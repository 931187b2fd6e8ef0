#include "tandem/runtime/runtime.h"

#include <random>

#include "tandem/backend/cpu/cpu_device.h"
#include "tandem/core/tensor.h"
#include "tandem/exec/eager.h"

namespace tandem {

Runtime::Runtime() {
  random_.set_seed(std::random_device{}());
  devices_.push_back(cpu::make_device(host_, usable_memory()));
  for (const auto& device : devices_) device_list_.push_back(device.get());
  dispatcher_ = std::make_unique<EagerDispatcher>(DeviceSet{.devices = device_list_});
}

Runtime::~Runtime() = default;

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
RandomState& random_state() { return default_runtime().random(); }

}  // namespace tandem
