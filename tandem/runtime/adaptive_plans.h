// The plans of one graph that runs without a scope: as the placer predicts, with ops split among devices where that
// should pay, and on each device alone; which of them runs is decided by what steps take.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "tandem/exec/plan.h"
#include "tandem/place/plan_chooser.h"
#include "tandem/runtime/device_probe.h"
#include "tandem/runtime/step_sampler.h"
#include "tandem/runtime/step_timer.h"
#include "tandem/runtime/trial_watch.h"

namespace tandem {

class AdaptivePlans {
 public:
  /// The same work with ops split among devices, where that is predicted to pay, and the graph before its passes.
  struct Split {
    std::shared_ptr<const GraphPlacement> placement = {};  // null: it does not pay
    const Graph& traced;
  };
  /// `options` with the placement by prediction; both graphs must outlive it.
  AdaptivePlans(const Graph& graph, LowerOptions options, std::vector<std::string> homes, const Split& split);
  ~AdaptivePlans();

  /// Is it worth the trouble: enough work, and several devices to choose from?
  static bool pays(const GraphPlacement& placement);

  void run(std::span<const TensorRef> arguments, std::span<Tensor> results);
  /// The plan that the next run takes.
  std::shared_ptr<const Plan> current();

 private:
  /// A way to place the graph; lowered when it first runs, anew for each reason to run it.
  struct Way {
    std::string name;
    std::shared_ptr<const GraphPlacement> placement;
    bool predicted = true;  // else: placed by what was measured
    int samples = 0;        // so far, as long as nothing was placed by them
    std::map<ReasonCode, std::shared_ptr<const Plan>> plans = {};
  };

  void add(std::string name, std::shared_ptr<const GraphPlacement> placement);
  std::shared_ptr<const Plan> plan_of_running();
  std::shared_ptr<const GraphPlacement> explained(const Way& way, ReasonCode reason) const;
  std::shared_ptr<const GraphPlacement> explained_anew(GraphPlacement placement, const std::string& sentence,
                                                       ReasonCode reason) const;
  std::string why_moved(const Way& way, ReasonCode reason) const;
  StepCost predicted(const GraphPlacement& placement) const;
  void find_other_ways();
  void wait_for_kernels(const GraphPlacement& other);
  void place_as_measured(const Way& way, const StepCost& measured);
  void note_first_samples(const StepCost& cost);
  void look(double now_s);
  void probe(double now_s);
  void take_probe_of(std::size_t device, double now_s);
  void drop_idle_frames();
  void log_move() const;

  const Graph& graph_;
  const Split split_;
  const LowerOptions options_;
  const std::vector<std::string> homes_;
  std::vector<Device*> devices_;
  const std::shared_ptr<const Machine> machine_;  // that the first placement reckoned with

  std::mutex mutex_;
  PlanChooser chooser_;
  std::vector<Way> ways_;
  std::shared_ptr<const Plan> running_;
  std::size_t left_ = 0;  // the way that ran before
  bool complete_ = false;              // all ways are known
  std::optional<double> started_s_;
  double adapts_after_s_ = 0;          // a trial may have to compile kernels: it must be worth that
  StepTimer timer_;
  bool timing_ = false;                // a thread runs a step that is timed
  std::size_t sampled_ = 0;            // its way
  double sampled_s_ = 0;               // when it began
  std::optional<double> period_us_;    // from its begin to that of the next step
  std::optional<std::size_t> probed_;  // a device that is being probed
  ProbeRun probe_;
  StepSampler sampler_;
  TrialWatch trial_watch_;
  double next_probe_s_ = 0;
};

}  // namespace tandem
