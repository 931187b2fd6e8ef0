#include "tandem/exec/value_homes.h"

namespace tandem {

Home& ValueHomes::of(GraphValue value) {
  const GraphValue at = list_.root(value);
  return made_by(at.node)[static_cast<std::size_t>(at.output)];
}

ValueHomes::ValueHomes(const Graph& graph, const StepList& list) : list_(list) {
  for (const Node& node : graph.nodes) {
    homes_.emplace_back(node.outputs.size());
    if (is_source(node)) homes_.back()[0].stored = true;
  }
  for (std::size_t s = 0; s < list.steps.size(); ++s) {
    const Step& step = list.steps[s];
    for (Home& made : made_by(step.node))
      made = {.space = step.space, .made = static_cast<std::int32_t>(s), .stored = !step.call, .lane = step.lane};
    for (GraphValue input : graph.nodes[static_cast<std::size_t>(step.node)].inputs) {
      Home& h = of(input);
      h.last_use = static_cast<std::int32_t>(s);
      ++h.uses;
      h.crosses |= h.made >= 0 && h.lane != step.lane;
      h.read_by_host |= h.space && !h.space->is_host() && (!step.space || step.space->is_host());
      if (!step.call || h.space != step.space || h.crosses) h.stored = true;
    }
  }
  for (GraphValue result : graph.results) of(result).stored = of(result).leaves = true;
  note_writes(graph);
}

/// A tensor of its own costs more than copying a counter or the sum of a metric.
void ValueHomes::note_writes(const Graph& graph) {
  constexpr std::size_t kFewBytes = 64;
  for (const auto& [cell, value] : list_.in_place) of(value).stored = true;
  for (const Graph::Write& write : graph.writes) {
    Home& h = of(write.value);
    const TensorSpec& spec = graph.spec(write.value);
    h.leaves = true;
    h.copied = !h.stored && h.space && h.space->is_host() && spec.bytes() <= kFewBytes && spec.dtype() != DType::string;
    h.stored = !h.copied;
  }
}

}  // namespace tandem
