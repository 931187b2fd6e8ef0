// The object that assembles everything below: memory, devices, the dispatcher that runs ops.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "tandem/core/device.h"
#include "tandem/exec/graph_placement.h"
#include "tandem/memory/host_pool.h"
#include "tandem/runtime/cost_log.h"
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

  /// How ops without a scope find their device.
  void set_placement_policy(PlacementPolicy policy);
  PlacementPolicy placement_policy() const;

  /// The devices as the placer sees them: what was set, the file TANDEM_MACHINE names, what was stored for this host
  /// and these drivers, or else a quick measurement, which is then stored. One that others disturbed is made again a
  /// minute later or more, when figures are asked for.
  std::shared_ptr<const Machine> machine();
  /// Figures to use from now on; none: those of the host again.
  void set_machine(std::optional<Machine> machine);
  /// Where the ops of a graph run that ask for no device; null when there is one device only or the policy decides.
  /// `homes`: the devices that hold its arguments.
  struct PlaceHow {
    std::vector<Constraints::Slowdown> contention = {};
    std::string only = {};  // a device that all of it is kept to
  };
  std::shared_ptr<const GraphPlacement> place(const Graph& graph, const std::vector<std::string>& homes,
                                              const PlaceHow& how);
  std::shared_ptr<const GraphPlacement> place(const Graph& graph, const std::vector<std::string>& homes) {
    return place(graph, homes, {});
  }
  /// The same work with large ops split among devices, for a graph before its passes and its placement after them; null
  /// when that is not predicted to pay, or when every run has to give the same bits.
  std::shared_ptr<const GraphPlacement> place_split(const Graph& traced, const GraphPlacement& whole,
                                                    const std::vector<std::string>& homes);
  /// May traced functions move while they run? Not if somebody said how fast the devices are, or wants the same bits
  /// in every run.
  bool adapts();
  /// The figures that ops run by themselves may teach: those that were measured here; null until somebody has asked for
  /// them, and while they are being measured.
  std::shared_ptr<const Machine> learning_machine();
  /// Ops were measured while a program ran: the machine's history learns from it, and keeps it for later programs if
  /// nobody else had the cores. `reckoned`: with whose figures they were predicted; after those have changed nothing is
  /// learnt.
  void learn(std::span<const CostLog::Sample> samples, const Machine& reckoned);

  void store_learnt();

  /// Returns when everything given to any device has ended; throws the first failure not yet reported.
  void synchronize();

 private:
  std::shared_ptr<const Machine> given_machine();
  std::shared_ptr<const Machine> host_machine(std::span<Device* const> devices);
  bool measure_again(std::span<Device* const> devices);

  HostPool host_;
  std::unique_ptr<Registry> registry_;
  std::unique_ptr<EagerDispatcher> dispatcher_;
  std::mutex machine_mutex_;
  std::shared_ptr<const Machine> machine_;
  bool machine_given_ = false;  // by the user
  std::atomic<bool> calibrating_{false};  // under the lock, by ops like any others, which must not ask for it
  CostLog learnt_;
};

/// The runtime of the process; made at first use, set up as `config` says (tandem/runtime/config.h).
Runtime& default_runtime();

/// Waits for all devices: ops on a GPU return before they have ended, so a clock is read after this.
void sync();
/// Before the process ends: waits for what devices still do, so that drivers are not torn down under it. Starts
/// nothing.
void finish_work() noexcept;

}  // namespace tandem
