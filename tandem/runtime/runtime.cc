#include "tandem/runtime/runtime.h"

#include <atomic>
#include <random>

#include "tandem/base/cores.h"
#include "tandem/base/fault.h"
#include "tandem/base/log.h"
#include "tandem/core/fallible_space.h"
#include "tandem/core/run_queue.h"
#include "tandem/core/tensor.h"
#include "tandem/exec/eager.h"
#include "tandem/op/random_state.h"
#include "tandem/runtime/config.h"
#include "tandem/runtime/eager_learning.h"
#include "tandem/runtime/registry.h"

namespace tandem {

Runtime::Runtime(const Settings& settings) {
  log_level();  // says so if the environment asks for a level that does not exist
  set_faults_from_environment();
  if (!settings.cores.compute.empty()) confine_process(settings.cores.compute);
  if (settings.threads > 0) Cores::process().set_threads(settings.threads);
  registry_ = std::make_unique<Registry>(host_, settings);
  dispatcher_ = std::make_unique<EagerDispatcher>(*registry_);
  dispatcher_->set_soft_placement(settings.soft_placement);
  dispatcher_->set_placement_policy(settings.policy);
  dispatcher_->machine = [this] { return machine(); };
  dispatcher_->timer = std::make_unique<EagerLearning>(*this);
  registry_->on_discovery = [this] { dispatcher_->forget_calls(); };
}

Runtime::~Runtime() = default;

std::span<Device* const> Runtime::devices() {
  registry_->discover();
  return registry_->known();
}

void Runtime::set_soft_device_placement(bool on) { dispatcher_->set_soft_placement(on); }
bool Runtime::soft_device_placement() const { return dispatcher_->soft_placement(); }

void Runtime::synchronize() {
  RunQueue::await_all();
  try {
    for (Device* device : registry_->known()) device->synchronize();
  } catch (const Error&) {
    loss_was_told();
    throw;
  }
}

namespace {
std::atomic<bool> started{false};
}

Runtime& default_runtime() {
  // Not destroyed: tensors with static lifetime give their memory back after main has ended.
  static Runtime& runtime = *[] {
    auto* made = new Runtime(config::settle());
    started.store(true);
    return made;
  }();
  return runtime;
}

void sync() { default_runtime().synchronize(); }

void finish_work() noexcept {
  if (!started.load()) return;
  RunQueue::finish();
  try {
    sync();
  } catch (const std::exception&) {  // the process ends; whoever needed the value has been told
  }
}

// What lower layers declare and only the assembled runtime can give.
MemorySpace& host_memory() { return default_runtime().host_pool(); }
Dispatcher& runtime_dispatcher() { return default_runtime().dispatcher(); }
RandomState& random_state() {
  if (RandomState* own = ScopedRandomState::current()) return *own;
  // Apart from the runtime: setting a seed settles nothing about devices.
  static auto& state = *new RandomState(std::random_device{}());
  return state;
}

}  // namespace tandem
