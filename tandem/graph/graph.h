// A graph: ops as nodes in static single assignment, in the order in which they run. What a trace makes, passes
// rewrite, the placer places and the executor runs.
#pragma once
#include <compare>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tandem/core/cell.h"
#include "tandem/graph/device_group.h"
#include "tandem/op/op_def.h"

namespace tandem {

/// An output of a node.
struct GraphValue {
  std::int32_t node = -1;
  std::int32_t output = 0;
  auto operator<=>(const GraphValue&) const = default;
};

/// Attributes as nodes keep them. Room for the longest lists would make a node five times as large, and passes copy
/// nodes: most ops have no attributes, and copies share them.
class NodeAttrs {
 public:
  NodeAttrs() = default;
  NodeAttrs(const Attrs& attrs)  // NOLINT: so that a node is given attributes as it always was
      : attrs_(attrs.key().empty() && attrs.run_time().empty() ? nullptr : std::make_shared<const Attrs>(attrs)) {}
  operator const Attrs&() const { return get(); }  // NOLINT: they are attributes
  std::span<const std::int64_t> key() const { return get().key(); }
  std::span<const std::int64_t> run_time() const { return get().run_time(); }
  bool same_key(const NodeAttrs& other) const { return get().same_key(other.get()); }
  std::uint64_t hash() const { return get().hash(); }

 private:
  const Attrs& get() const { return attrs_ ? *attrs_ : kNone; }
  static const Attrs kNone;
  std::shared_ptr<const Attrs> attrs_;  // null: none
};

struct Node {
  const OpDef* op = nullptr;
  std::vector<GraphValue> inputs = {};
  NodeAttrs attrs = {};
  Specs outputs = {};
  std::optional<DeviceName> requested = {};
  std::shared_ptr<const OpDef> owner = {};  // of an op made at run time
  Tensor constant = {};                     // of a constant
  Ref<Cell> cell = {};                      // of a variable
};
static_assert(std::is_nothrow_move_constructible_v<Node>);  // else a growing list of nodes copies them

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

  std::vector<Node> nodes;  // a node's inputs stand before it
  std::vector<std::int32_t> parameters;
  std::vector<GraphValue> results;
  std::vector<Write> writes;
  std::shared_ptr<DeviceGroup> group = {};  // whose replicas it was divided among; as traced, passes need not keep it

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
  /// Is its work done again by others of the group when a device fails?
  bool is_repeated() const { return group && group->may_leave(); }
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
