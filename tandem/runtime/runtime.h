// The object that assembles everything below: memory, devices, the dispatcher that runs ops.
#pragma once
#include <memory>
#include <span>

#include "tandem/core/device.h"
#include "tandem/memory/host_pool.h"
#include "tandem/op/random_state.h"

namespace tandem {

class EagerDispatcher;

class Runtime {
 public:
  Runtime();
  ~Runtime();

  /// Every device there is, the CPU first; looks for GPUs the first time it is asked.
  std::span<Device* const> devices();
  HostPool& host_pool() { return host_; }
  RandomState& random() { return random_; }
  EagerDispatcher& dispatcher() { return *dispatcher_; }

  /// On: an op asked for a device that is missing or has no kernel runs elsewhere, and its decision says why.
  void set_soft_device_placement(bool on);
  bool soft_device_placement() const;

 private:
  class Registry;
  HostPool host_;
  RandomState random_;
  std::unique_ptr<Registry> registry_;
  std::unique_ptr<EagerDispatcher> dispatcher_;
};

/// The runtime of the process; made at first use.
Runtime& default_runtime();

}  // namespace tandem
