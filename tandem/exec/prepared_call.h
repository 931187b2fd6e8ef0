// One op made ready for given operand specs on a device: the unit that runs, eagerly or in a plan.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "tandem/core/device.h"
#include "tandem/kernel/kernel.h"
#include "tandem/op/dispatcher.h"
#include "tandem/place/bandwidth.h"

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

/// What an op without a scope loses on the device it was prepared for, and what it would take to move its operands.
struct Stay {
  Device* there = nullptr;  // the best of the others; null: none; its own: there may be others to be found
  float loss_us = 0;        // each time it computes here; below 0 where it computes faster here
  MoveTime<float> to_there = {}, to_here = {};
};

struct PreparedCall {
  CallKey key;
  Specs outputs;
  Device* device = nullptr;
  Prepared kernel;  // null for a view
  const Decision* decision = nullptr;
  Stay stay = {};
  std::shared_ptr<const OpDef> owner =
      {};  // of an op made at run time: while a call of it is kept, no other has its address
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
  /// Have all been looked for?
  virtual bool searched() const { return true; }
  /// Takes a device that was lost out of the list.
  virtual void remove(Device&) {}
  /// Why find() knows no such device: device_missing, not_visible or device_lost.
  virtual ReasonCode why_missing(const DeviceName&) const { return ReasonCode::device_missing; }
};

/// Where an op is to run, and why.
struct DeviceChoice {
  Device* device = nullptr;
  ReasonCode reason = ReasonCode::only_device;
  bool operator==(const DeviceChoice&) const = default;
};

/// How ops without a scope find their device: where they finish first, as measured while they run; where they should,
/// as predicted, once; or TensorFlow's rule.
enum class PlacementPolicy { automatic, first_gpu, planned };

struct PlacementRules {
  /// An op asked for a device that is missing or has no kernel runs on the host, and its decision says why.
  bool soft_placement = true;
  PlacementPolicy policy = PlacementPolicy::automatic;
  /// Set: the op runs there if there is a kernel, else on the host.
  std::optional<DeviceChoice> chosen = {};
  /// `chosen` is the placer's: nothing to be said aloud.
  bool placed = false;
};

/// The first kernel of the device that takes the call; null when none does. What was asked is added to `asked`.
const Kernel* find_kernel(const KernelCall& call, std::vector<Candidate>& asked);

/// Infers, chooses device and kernel, prepares. Throws Error when the call is wrong or nothing can run it.
std::unique_ptr<PreparedCall> prepare(const OpCall& call, DeviceRegistry& devices, const PlacementRules& rules);

}  // namespace tandem
