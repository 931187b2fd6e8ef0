// Runs of plans that the caller does not wait for: steps of several replicas, whose devices wait for one another.
#pragma once
#include <functional>
#include <memory>
#include <span>

#include "tandem/exec/plan.h"

namespace tandem {

/// Are there ops that ask for one device, and ops that ask for another?
bool asks_for_several_devices(const Graph& graph);
/// And do so few ask for none that there is nothing to gain by trying other places for them?
bool leaves_little_to_place(const Graph& graph);

class RunAhead {
 public:
  /// Whether nobody has to wait for a run: the plan waits for devices, does nothing but compute, and gives little.
  static bool may(const Plan& plan);
  /// Called on RunQueue's thread with what does one run of a plan: runs that of the time, and where a device leaves,
  /// another.
  using Attempts = std::function<void(const std::function<void(const Plan&)>&)>;
  /// Hands a run over to RunQueue's thread; the results are waited for when they are read. Without attempts there is
  /// one, of this plan.
  static void run(const std::shared_ptr<const Plan>& plan, std::span<const TensorRef> arguments,
                  std::span<Tensor> results, Attempts attempts = {});
  /// Before a run by the caller itself: waits for those that were handed over and use the same variables.
  static void await_others(const Plan& plan);
};

}  // namespace tandem
