// One op made ready for given operand specs on a device: the unit that runs, eagerly or in a plan.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "tandem/core/device.h"
#include "tandem/kernel/kernel.h"
#include "tandem/op/dispatcher.h"

namespace tandem {

/// What a prepared call is found by. Run-time attributes are no part of it.
struct CallKey {
  const OpDef* op;
  std::vector<TensorSpec> inputs;
  Attrs attrs;
  std::optional<DeviceName> requested;

  explicit CallKey(const OpCall& call);
  bool matches(const OpCall& call) const;
};
std::uint64_t hash_of(const OpCall& call);

struct PreparedCall {
  CallKey key;
  Specs outputs;
  Device* device = nullptr;
  Prepared kernel;  // null for a view
  const Decision* decision = nullptr;
};

/// Where an op may run, and what to do when the device asked for is not there.
struct DeviceSet {
  std::vector<Device*> devices;  // the first is the fallback
  bool soft_placement = true;
};

/// Infers, chooses device and kernel, prepares. Throws Error when the call is wrong or nothing can run it.
std::unique_ptr<PreparedCall> prepare(const OpCall& call, const DeviceSet& devices);

}  // namespace tandem
