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
  std::optional<DeviceName> requested, near;

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

/// The devices there are. Discovery may be put off until a device is asked for by name.
class DeviceRegistry {
 public:
  virtual ~DeviceRegistry() = default;
  /// The CPU: runs everything, in the host's memory.
  virtual Device& host_device() = 0;
  /// Null when there is no such device.
  virtual Device* find(const DeviceName& name) = 0;
  /// Those found so far.
  virtual std::span<Device* const> known() const = 0;
  /// Takes a device that was lost out of the list.
  virtual void remove(Device&) {}
  /// Why find() knows no such device: device_missing, not_visible or device_lost.
  virtual ReasonCode why_missing(const DeviceName&) const { return ReasonCode::device_missing; }
};

struct PlacementRules {
  /// An op asked for a device that is missing or has no kernel runs on the host, and its decision says why.
  bool soft_placement = true;
  /// Set: the op runs on the host, for this reason.
  std::optional<ReasonCode> to_host = {};
};

/// Infers, chooses device and kernel, prepares. Throws Error when the call is wrong or nothing can run it.
std::unique_ptr<PreparedCall> prepare(const OpCall& call, DeviceRegistry& devices, PlacementRules rules);

}  // namespace tandem
