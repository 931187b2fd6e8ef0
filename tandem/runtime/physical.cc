#include "tandem/runtime/physical.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "tandem/base/core_roles.h"

namespace tandem {
namespace {

struct State {
  std::mutex mutex;
  std::optional<opencl::Options> options;
  std::shared_ptr<const opencl::Discovery> discovery;
  bool loaded = false;

  opencl::Options& current() {
    if (!options) options = opencl::options_from_environment();
    return *options;
  }
};

State& state() {
  static auto& state = *new State;  // drivers may still run while the process ends
  return state;
}

}  // namespace

PhysicalGpus physical_gpus() {
  State& s = state();
  std::lock_guard lock(s.mutex);
  if (!s.discovery) {
    opencl::Options options = s.current();
    const CoreRoles roles = core_roles();
    options.cores = roles.driver;
    // The driver's threads would inherit the cores this thread was confined to.
    if (options.cores.empty() && !roles.compute.empty()) options.cores = process_cores();
    s.loaded = true;
    exempt_new_threads([&] { s.discovery = std::make_shared<const opencl::Discovery>(opencl::discover(options)); });
  }
  return {s.current(), s.discovery};
}

void turn_down(const opencl::FoundDevice& device, std::string reason, std::string remedy) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  if (!s.discovery) return;
  auto changed = std::make_shared<opencl::Discovery>(*s.discovery);
  const auto found = std::ranges::find(changed->devices, device.id, &opencl::FoundDevice::id);
  if (found == changed->devices.end()) return;
  found->status = opencl::Status::rejected;
  found->reason = std::move(reason);
  found->remedy = std::move(remedy);
  s.discovery = std::move(changed);
}

opencl::Options opencl_options() {
  State& s = state();
  std::lock_guard lock(s.mutex);
  return s.current();
}

void change_opencl_options(const std::function<void(opencl::Options&)>& change) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  change(s.current());
  s.discovery = nullptr;
}

bool drivers_loaded() {
  State& s = state();
  std::lock_guard lock(s.mutex);
  return s.loaded;
}

}  // namespace tandem
