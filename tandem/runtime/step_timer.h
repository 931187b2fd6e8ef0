// Times one run of a plan now and then: the step, each device's share, and each op, for the machine's history.
#pragma once
#include <optional>
#include <unordered_map>

#include "tandem/exec/plan.h"
#include "tandem/place/plan_chooser.h"

namespace tandem {

class StepTimer {
 public:
  explicit StepTimer(std::vector<Device*> devices) : devices_(std::move(devices)) {}

  /// Runs the plan and notes what the host sees of it; what other devices took comes later. False: it ran untimed,
  /// because somebody else times a device.
  bool run(const Plan& plan, std::span<const TensorRef> arguments, std::span<Tensor> results);
  bool under_way() const { return under_way_; }
  /// Null until all devices have ended. `slowed`: how many times devices are slowed at present; ops are learnt without
  /// it.
  std::optional<StepCost> take(std::span<const double> slowed);

 private:
  /// What is known of an op before it runs.
  struct Known {
    HistoryKey key;
    double predicted_us = 0;
    double launch_us = 0;
    std::size_t device = 0;
  };
  class Timing;

  void fetch();
  void learn(std::span<const double> slowed);
  void share_out(std::size_t device);
  const Known& known(const PreparedCall& call);

  std::vector<Device*> devices_;
  bool under_way_ = false;
  bool ended_ = false;  // it was timed, and did not fail
  double host_us_ = 0;
  RunTimes times_;
  struct DeviceSpan {
    std::uint64_t pending = 0;  // number of the device's timing; 0: none
    double span_us = 0, busy_us = 0;
    std::vector<std::pair<const Decision*, double>> commands;  // in the order in which they were given
  };
  std::vector<DeviceSpan> spans_;  // by device
  std::shared_ptr<const Machine> machine_;  // that `known_` was predicted with
  std::unordered_map<const PreparedCall*, Known> known_;
};

/// Seconds of a clock that only goes forward.
double steady_seconds();

}  // namespace tandem
