// Copying a graph node by node, with something else in place of some nodes: the way passes change graphs.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "tandem/graph/graph.h"

namespace tandem {

/// What a visitor puts in place of a node: one value an output. Empty: the node is copied.
using Replacement = std::vector<GraphValue>;

/// What became of the values of a graph, node after node.
class Moved {
 public:
  explicit Moved(const Graph& graph) {
    first_.reserve(graph.nodes.size());
    values_.reserve(graph.nodes.size());
  }
  GraphValue operator()(GraphValue value) const {
    return values_[first_[static_cast<std::size_t>(value.node)] + static_cast<std::size_t>(value.output)];
  }
  /// The next node became these.
  void to(const Replacement& values) {
    first_.push_back(values_.size());
    values_.insert(values_.end(), values.begin(), values.end());
  }
  /// The next node is now `node`.
  void to(std::int32_t node, std::size_t outputs) {
    first_.push_back(values_.size());
    for (std::size_t k = 0; k < outputs; ++k) values_.push_back({node, static_cast<std::int32_t>(k)});
  }

 private:
  std::vector<std::size_t> first_;  // a node: where its values begin
  std::vector<GraphValue> values_;
};

/// Calls visit(out, node, old) for every node in order; `out` is the graph so far, `node` the node with its inputs
/// already those of `out`, `old` its index before. Parameters, results and writes follow.
template <class F>
void rewrite(Graph& graph, F visit) {
  Graph out;
  out.nodes.reserve(graph.nodes.size());
  Moved moved(graph);
  for (std::size_t at = 0; at < graph.nodes.size(); ++at) {
    Node& node = graph.nodes[at];
    for (GraphValue& input : node.inputs) input = moved(input);
    if (const Replacement values = visit(out, std::as_const(node), static_cast<std::int32_t>(at)); !values.empty()) {
      moved.to(values);
      continue;
    }
    const std::size_t outputs = node.outputs.size();
    moved.to(out.add(std::move(node)).node, outputs);
  }
  for (std::int32_t parameter : graph.parameters) out.parameters.push_back(moved({parameter, 0}).node);
  for (GraphValue result : graph.results) out.results.push_back(moved(result));
  for (Graph::Write& write : graph.writes) out.writes.push_back({std::move(write.cell), moved(write.value)});
  graph = std::move(out);
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
/// What works element by element on a reshaped product works on the product, and its result is reshaped: a reshape
/// costs nothing, and the product can go on with it.
void move_reshapes(Graph& graph);
/// Elementwise ops on the result of a matmul or a convolution become part of it.
void fuse_products(Graph& graph);
/// Elementwise ops become part of the reduction that reads them.
void fuse_reductions(Graph& graph);
/// Elementwise ops that feed one another become one loop.
void fuse(Graph& graph);

}  // namespace tandem
