// A graph run op by op, as a program without a trace would: what a plan does when its values do not fit a device at
// once. Between ops anything may be spilled, and an op that cannot fit by itself runs on the host.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "tandem/exec/plan.h"
#include "tandem/op/random_state.h"

namespace tandem {

class Stepwise {
 public:
  /// `devices`: by node, where the plan would run it; none for what runs nothing.
  Stepwise(const Graph& graph, std::vector<std::optional<DeviceName>> devices);

  bool has_effects() const { return graph_.effects() != nullptr; }

  /// As the plan's run, whose `writes` it does. `drawn`: the numbers that random ops take, in the order of the graph;
  /// none: they are drawn here.
  void run(std::span<const TensorRef> arguments, std::span<Tensor> results, std::span<const Plan::Write> writes,
           std::span<const RandomState::Call> drawn) const;

 private:
  std::vector<Tensors> compute(std::span<const TensorRef> arguments, std::span<const RandomState::Call> drawn) const;
  Tensors run_node(std::size_t at, const std::vector<Tensors>& values, const Attrs& attrs) const;

  const Graph graph_;
  const std::vector<std::optional<DeviceName>> devices_;
  std::vector<std::vector<GraphValue>> ending_;  // by node: values that nobody needs after it
};

}  // namespace tandem
