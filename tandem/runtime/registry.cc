#include "tandem/runtime/registry.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "tandem/backend/cpu/cpu_device.h"
#include "tandem/backend/opencl/discovery.h"
#include "tandem/base/error.h"
#include "tandem/base/log.h"
#include "tandem/base/cgroup.h"
#include "tandem/core/spill.h"
#include "tandem/runtime/physical.h"

namespace tandem {

Registry::Registry(MemorySpace& host, const Settings& settings) : settings_(settings) {
  std::vector<Device*> list;
  for (int i = 0; i < settings.cpus; ++i) {
    devices_.push_back(cpu::make_device(host, usable_memory(), i));
    list.push_back(devices_.back().get());
  }
  publish(std::move(list));
}

Registry::~Registry() = default;

Device* Registry::find(const DeviceName& name) {
  if (name.kind != "CPU") discover();
  for (Device* device : known())
    if (device->name() == name && !device->lost()) return device;
  return nullptr;
}

ReasonCode Registry::why_missing(const DeviceName& name) const {
  std::lock_guard lock(mutex_);
  int gpus = 0;
  for (const auto& device : devices_) {
    if (device->name() == name) return ReasonCode::device_lost;
    gpus += device->name().kind == "GPU";
  }
  return name.kind == "GPU" && name.index < gpus + hidden_ ? ReasonCode::not_visible : ReasonCode::device_missing;
}

void Registry::remove(Device& device) {
  std::vector<Device*> list;
  for (Device* other : known())
    if (other != &device) list.push_back(other);
  if (list.size() == known().size()) return;
  log(LogLevel::error, text(device.name().short_name(),
                            " was lost and is no longer used; values of which it held the only copy are gone"));
  publish(std::move(list));
}

void Registry::discover() {
  std::call_once(discovered_, [this] {
    open_gpus();
    searched_ = true;
    if (on_discovery) on_discovery();
  });
}

namespace {

/// The logical devices of a GPU, from /GPU:`first` on. None when its driver fails: ops that ask for it run elsewhere.
std::vector<std::unique_ptr<Device>> open_gpu(const opencl::FoundDevice& found, int first, const Settings::Gpu& gpu,
                                              const opencl::Options& options) {
  std::vector<std::unique_ptr<Device>> made;
  auto open = [&](std::optional<std::size_t> limit) {
    made.push_back(
        opencl::make_device(found, first + static_cast<int>(made.size()), {limit, gpu.growth.value_or(true)}, options));
  };
  try {
    for (std::size_t limit : gpu.limits) open(limit);
    if (gpu.limits.empty()) open(std::nullopt);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_argument) throw;
    const std::string reason = text("it could not be opened: ", error.message());
    const std::string remedy = "update the driver, or see what else uses the device";
    log(LogLevel::error, text(found.name, " is not used: ", reason, "; ", remedy));
    turn_down(found, reason, remedy);
    made.clear();
  }
  return made;
}

}  // namespace

void Registry::open_gpus() {
  spill_enabled();  // says so if the environment has a value for it that makes no sense
  const PhysicalGpus physical = physical_gpus();
  int hidden = physical.discovery->hidden();
  std::vector<std::unique_ptr<Device>> opened;
  const auto found = physical.discovery->usable();
  std::set<std::optional<bool>> growths;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto& visible = settings_.visible_gpus;
    if (visible && std::find(visible->begin(), visible->end(), static_cast<int>(i)) == visible->end()) {
      ++hidden;
      continue;
    }
    const auto wish = settings_.gpus.find(static_cast<int>(i));
    const Settings::Gpu gpu = wish == settings_.gpus.end() ? Settings::Gpu{} : wish->second;
    growths.insert(gpu.growth);
    if (growths.size() > 1) fail(ErrorCode::invalid_argument, "Memory growth cannot differ between GPU devices");
    auto made = open_gpu(*found[i], static_cast<int>(opened.size()), gpu, physical.options);
    std::ranges::move(made, std::back_inserter(opened));
  }
  std::vector<Device*> list(known().begin(), known().end());
  for (auto& device : opened) {
    device->memory().set_device(device.get());
    list.push_back(device.get());
  }
  {
    std::lock_guard lock(mutex_);
    for (auto& device : opened) devices_.push_back(std::move(device));
  }
  hidden_ = hidden;
  publish(std::move(list));
}

void Registry::publish(std::vector<Device*> list) {
  std::lock_guard lock(mutex_);
  lists_.push_back(std::make_unique<const std::vector<Device*>>(std::move(list)));
  list_.store(lists_.back().get(), std::memory_order_release);
}

}  // namespace tandem
