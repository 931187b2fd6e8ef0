// The devices of a runtime: the CPU at once; GPUs when somebody asks for one, because loading their drivers takes
// longer than a small program.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "tandem/exec/prepared_call.h"
#include "tandem/runtime/settings.h"

namespace tandem {

class Registry final : public DeviceRegistry {
 public:
  Registry(MemorySpace& host, const Settings& settings);
  ~Registry() override;

  Device& host_device() override { return *known()[0]; }
  Device* find(const DeviceName& name) override;
  std::span<Device* const> known() const override { return *list_.load(std::memory_order_acquire); }
  ReasonCode why_missing(const DeviceName& name) const override;
  bool searched() const override { return searched_.load(std::memory_order_acquire); }
  void remove(Device& device) override;

  /// Looks for GPUs, the first time it is called.
  void discover();

  std::function<void()> on_discovery;

 private:
  void open_gpus();
  void publish(std::vector<Device*> list);

  const Settings settings_;
  std::vector<std::unique_ptr<Device>> devices_;  // also those that were lost: tensors may still point to them
  std::once_flag discovered_;
  std::atomic<bool> searched_{false};
  std::atomic<int> hidden_{0};                    // GPUs that exist but may not be used
  // The list is replaced as a whole; old ones are kept, because somebody may be reading them.
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<const std::vector<Device*>>> lists_;
  std::atomic<const std::vector<Device*>*> list_{nullptr};
};

}  // namespace tandem
