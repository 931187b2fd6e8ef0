// Eager execution: finds an op's prepared call in a cache and runs it on the calling thread.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "tandem/exec/eager_placement.h"
#include "tandem/exec/eager_timer.h"
#include "tandem/exec/prepared_call.h"

namespace tandem {

class EagerDispatcher final : public Dispatcher {
 public:
  /// Calls kept at most; beyond that the cache is emptied, which costs a moment and keeps memory bounded.
  static constexpr std::size_t kMostCalls = 4096;

  explicit EagerDispatcher(DeviceRegistry& devices) : devices_(devices) {}

  /// The speed of the devices, for ops without a scope when there are several; without it they run near their data.
  std::function<std::shared_ptr<const Machine>()> machine;

  /// Told now and then what an op took, once the machine's figures have been asked for; may be null.
  std::unique_ptr<EagerTimer> timer;

  void run(OpCall& call) override;

  void set_soft_placement(bool on);
  bool soft_placement() const;
  void set_placement_policy(PlacementPolicy policy);
  PlacementRules rules() const;
  DeviceRegistry& devices() { return devices_; }
  /// Large work of so many µs runs on the only device known. When it adds up to more than loading the drivers of GPUs
  /// takes, they are looked for.
  void note_large_work(double us);
  /// Another number whenever what was prepared before no longer holds: devices have come, rules have changed.
  std::uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  std::size_t cached_calls() const;
  /// Forgets all prepared calls: devices have come or rules have changed.
  void forget_calls();

 private:
  /// Never the same twice, so that a thread's cache cannot take one dispatcher for another at the same address.
  static std::uint64_t next_epoch();
  void find_and_execute(OpCall& call);
  void run_prepared(const PreparedCall& prepared, OpCall& call);
  /// Stays, with its loss noted, or moves.
  void stay_or_move(const PreparedCall& prepared, OpCall& call);
  void forget_lost_devices();
  std::shared_ptr<const PreparedCall> find_or_prepare(const OpCall& call, std::uint64_t hash);
  /// Lets the machine's figures decide, where nobody else has.
  std::shared_ptr<const PreparedCall> prepare_placed(const OpCall& call, PlacementRules rules);

  DeviceRegistry& devices_;
  PlacementRules rules_;
  mutable std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, std::shared_ptr<const PreparedCall>> calls_;
  std::atomic<bool> weighs_{false};  // the machine's figures have been asked for
  std::atomic<double> large_work_us_{0};
  std::atomic<std::uint64_t> epoch_{next_epoch()};  // changes when cached calls no longer hold
};

}  // namespace tandem
