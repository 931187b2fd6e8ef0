// A graph that can be called like an op: it runs as a plan, on any device, under any tape.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "tandem/exec/plan.h"
#include "tandem/graph/graph.h"

namespace tandem {

class AdaptivePlans;

/// Where a graph comes from: whether the trace had open sizes, and what was noted of it.
struct TraceOrigin {
  bool open = false;
  std::shared_ptr<const void> note = {};
};

/// Made by make() and shared: tapes and plans that refer to it keep it alive.
class GraphFunction final : public OpDef, public std::enable_shared_from_this<GraphFunction> {
 public:
  static std::shared_ptr<GraphFunction> make(Graph graph, std::string name = "function", TraceOrigin origin = {});
  const TraceOrigin& origin() const { return origin_; }

  /// As traced, and after the passes.
  const Graph& graph() const { return graph_; }
  const Graph& optimized() const;
  /// The plan for a device scope; made when first needed, and again when devices or rules have changed. Without a scope
  /// it runs on `near`, or where the placer puts it, who counts with arguments where those given are now.
  std::shared_ptr<const Plan> plan(const DeviceName* scope, const DeviceName* near = nullptr,
                                   std::span<const TensorRef> arguments = {}) const;
  /// Runs that plan. One that the placer made may give way to another while it is being run
  /// (tandem/runtime/adaptive_plans.h). Where a device of the graph's group fails, the run is done again without it.
  void run(OpCall& call) const;
  /// The same for a part of a function, such as the body of a loop.
  void run(const DeviceName* scope, const DeviceName* near, std::span<const TensorRef> arguments,
           std::span<Tensor> results) const;

  /// Runs the graph as one op: scopes and tapes see it.
  Tensors operator()(std::span<const Tensor> arguments) const;
  /// The function that a node of a graph calls; null for other ops.
  static std::shared_ptr<const GraphFunction> called_by(const OpDef& op);

 private:
  struct Differentiable;
  struct CachedPlan {
    std::uint64_t epoch = 0;
    std::shared_ptr<const Plan> plan = nullptr;
    std::shared_ptr<AdaptivePlans> adaptive = nullptr;  // instead of the plan
    std::uint64_t departures = 0;  // from the group, when it was made
    double large_work_us = 0;  // of a plan for the only device known, while others have not been looked for
  };

  GraphFunction(Graph graph, std::string name);
  static void execute_call(OpCall& call);
  CachedPlan cached_plan(const DeviceName* scope, const DeviceName* near, std::span<const TensorRef> arguments) const;
  /// The optimized graph for the devices that are left in its group.
  Graph for_those_left() const;
  void hand_over(const std::shared_ptr<const Plan>& plan, OpCall& call) const;
  /// attempt() until none of the group's devices fails in it. Variables are replaced last, so that each begins with the
  /// same values.
  void until_done(const std::function<void()>& attempt) const;
  std::shared_ptr<const Differentiable> differentiable() const;
  /// The constants that a tape follows: tensors from outside, which the function refers to. Nodes, in order.
  std::vector<std::int32_t> followed_constants() const;
  /// The function that takes these constants as further arguments.
  std::shared_ptr<const GraphFunction> taking(const std::vector<std::int32_t>& constants) const;
  Tensors gradients(GradContext& context) const;

  Graph graph_;
  std::string name_storage_;
  TraceOrigin origin_;
  mutable std::mutex mutex_;
  mutable std::optional<Graph> optimized_;
  mutable std::map<std::string, CachedPlan> plans_;  // by scope
  mutable std::shared_ptr<const Differentiable> differentiable_;
  mutable std::shared_ptr<const GraphFunction> gradient_;
  std::vector<std::int32_t> constants_;  // floating ones
  mutable std::map<std::vector<std::int32_t>, std::shared_ptr<const GraphFunction>> taking_;  // by constants
};

/// The devices in whose own memory the arguments lie; "" for the host's.
std::vector<std::string> homes_of(std::span<const TensorRef> arguments);

}  // namespace tandem
