// A graph: ops as nodes in static single assignment, in the order in which they run. What a trace makes, passes
// rewrite, the placer places and the executor runs.
#pragma once
#include <compare>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/core/cell.h"
#include "tandem/op/op_def.h"

namespace tandem {

/// An output of a node.
struct GraphValue {
  std::int32_t node = -1;
  std::int32_t output = 0;
  auto operator<=>(const GraphValue&) const = default;
};

struct Node {
  const OpDef* op = nullptr;
  std::vector<GraphValue> inputs = {};
  Attrs attrs = {};
  Specs outputs = {};
  std::optional<DeviceName> requested = {};
  std::shared_ptr<const OpDef> owner = {};  // of an op made at run time
  Tensor constant = {};                     // of a constant
  Ref<Cell> cell = {};                      // of a variable
};

/// Nodes that run nothing: an argument of the function, a value known when it was traced, a variable as it is when the
/// function begins.
extern const OpDef parameter_op, constant_op, variable_op;
inline bool is_source(const Node& node) {
  return node.op == &parameter_op || node.op == &constant_op || node.op == &variable_op;
}

/// What ops made at run time are `like` when they do something besides giving results (print, call Python): no pass may
/// drop them, and they run in the order in which they were traced.
extern const OpDef effects_op;
inline bool has_effects(const Node& node) { return node.op->like == &effects_op; }

class Graph {
 public:
  /// What a variable holds when the function has ended.
  struct Write {
    Ref<Cell> cell;
    GraphValue value;
  };

  std::vector<Node> nodes;           // a node's inputs stand before it
  std::vector<std::int32_t> parameters;
  std::vector<GraphValue> results;
  std::vector<Write> writes;

  const TensorSpec& spec(GraphValue value) const {
    return nodes[static_cast<std::size_t>(value.node)].outputs[static_cast<std::size_t>(value.output)];
  }
  const Node& node(GraphValue value) const { return nodes[static_cast<std::size_t>(value.node)]; }
  GraphValue add(Node node) {
    nodes.push_back(std::move(node));
    return {static_cast<std::int32_t>(nodes.size()) - 1, 0};
  }
  /// Ops that run: all nodes but the sources.
  std::size_t op_count() const;
  /// &effects_op when a node has effects, else null: what an op that runs this graph is `like`.
  const OpDef* effects() const;
  /// What they do together.
  Cost work() const;

  /// One line a node: "%3 = matmul(%0, %1) : float32 [32, 10]".
  std::string to_string() const;
  /// For Graphviz.
  std::string to_dot() const;
};

/// Throws `internal` when the graph is not well formed: an input after its use, specs that the shape rules deny,
/// results that do not exist. Run after every pass.
void verify(const Graph& graph);

}  // namespace tandem
