// Copying a graph node by node, with something else in place of some nodes: the way passes change graphs.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "tandem/graph/graph.h"

namespace tandem {

/// What a visitor puts in place of a node: one value an output. Empty: the node is copied.
using Replacement = std::vector<GraphValue>;

/// Calls visit(out, node, old) for every node in order; `out` is the graph so far, `node` the node with its inputs
/// already those of `out`, `old` its index before. Parameters, results and writes follow.
template <class F>
Graph rewrite(const Graph& graph, F visit) {
  Graph out;
  out.nodes.reserve(graph.nodes.size());
  std::vector<Replacement> moved(graph.nodes.size());
  const auto now = [&](GraphValue value) { return moved[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)]; };
  for (std::size_t at = 0; at < graph.nodes.size(); ++at) {
    Node node = graph.nodes[at];
    for (GraphValue& input : node.inputs) input = now(input);
    Replacement& values = moved[at];
    values = visit(out, node, static_cast<std::int32_t>(at));
    if (!values.empty()) continue;
    const std::size_t outputs = node.outputs.size();
    const std::int32_t copy = out.add(std::move(node)).node;
    for (std::size_t k = 0; k < outputs; ++k) values.push_back({copy, static_cast<std::int32_t>(k)});
  }
  for (std::int32_t parameter : graph.parameters) out.parameters.push_back(now({parameter, 0}).node);
  for (GraphValue result : graph.results) out.results.push_back(now(result));
  for (const Graph::Write& write : graph.writes) out.writes.push_back({write.cell, now(write.value)});
  return out;
}

/// Drops nodes that no result and no variable needs; parameters stay.
void remove_dead(Graph& graph);
/// Nodes that compute the same from the same become one.
void merge_common(Graph& graph);
/// Computes what depends on constants only.
void fold_constants(Graph& graph);
/// x * 1, x + 0, a cast to the same dtype, a reshape of a reshape, ….
void simplify(Graph& graph);
/// Transposes of the last two axes become flags of the matmul that reads them.
void fold_transposes(Graph& graph);
/// Elementwise ops that feed one another become one loop.
void fuse(Graph& graph);

}  // namespace tandem
