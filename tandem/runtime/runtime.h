// The object that assembles everything below: memory, devices, the dispatcher that runs ops.
#pragma once
#include <memory>
#include <span>

#include "tandem/core/device.h"
#include "tandem/memory/host_pool.h"
#include "tandem/runtime/settings.h"

namespace tandem {

class EagerDispatcher;
class Registry;

class Runtime {
 public:
  explicit Runtime(const Settings& settings = {});
  ~Runtime();

  /// Every device there is, the CPU first; looks for GPUs the first time it is asked.
  std::span<Device* const> devices();
  HostPool& host_pool() { return host_; }
  EagerDispatcher& dispatcher() { return *dispatcher_; }

  /// On: an op asked for a device that is missing or has no kernel runs elsewhere, and its decision says why.
  void set_soft_device_placement(bool on);
  bool soft_device_placement() const;

  /// Returns when everything given to any device has ended; throws the first failure not yet reported.
  void synchronize();

 private:
  HostPool host_;
  std::unique_ptr<Registry> registry_;
  std::unique_ptr<EagerDispatcher> dispatcher_;
};

/// The runtime of the process; made at first use, set up as `config` says (tandem/runtime/config.h).
Runtime& default_runtime();

/// Waits for all devices: ops on a GPU return before they have ended, so a clock is read after this.
void sync();
/// Before the process ends: waits for what devices still do, so that drivers are not torn down under it. Starts nothing.
void finish_work() noexcept;

}  // namespace tandem
