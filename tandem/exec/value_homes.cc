#include "tandem/exec/value_homes.h"

#include <utility>

#include "tandem/graph/split.h"

namespace tandem {

Home& ValueHomes::of(GraphValue value) {
  const GraphValue at = list_.root(value);
  return made_by(at.node)[static_cast<std::size_t>(at.output)];
}

ValueHomes::ValueHomes(const Graph& graph, const StepList& list) : list_(list) {
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    homes_.emplace_back(graph.nodes[n].outputs.size());
    if (is_source(graph.nodes[n]) || list.lent[n]) homes_.back()[0].stored = true;
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
  if (list.lanes == 0)
    for (const Step& step : list.steps) join_in_place(graph, step);
}

/// What lies side by side in a tensor of the host is written there at once, or copied there from a device, where nobody
/// else needs it: the concat finds it in its place.
void ValueHomes::join_in_place(const Graph& graph, const Step& join) {
  const Node& node = graph.nodes[static_cast<std::size_t>(join.node)];
  if (!join.call || !join.space->is_host() || !joins_rows(node)) return;
  Home& whole = made_by(join.node)[0];
  if (whole.copied) return;
  std::size_t offset = 0;
  for (GraphValue input : node.inputs) {
    Home& part = of(input);
    const std::size_t begin = std::exchange(offset, offset + graph.spec(input).bytes());
    const bool made_here = part.space && part.space->is_host();
    if (part.made < 0 || part.uses != 1 || part.leaves || begin % kRowAlignment != 0 || (made_here && part.stored) ||
        !list_.steps[static_cast<std::size_t>(part.made)].call)
      continue;
    part.whole = &whole;
    part.offset = begin;
    whole.stored = true;
  }
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
