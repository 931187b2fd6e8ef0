// Fusion: elementwise ops whose results only feed one another become one loop, so that what lies between them never
// reaches memory.
#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "tandem/graph/rewrite.h"
#include "tandem/kernel/fused.h"
#include "tandem/op/records.h"

namespace tandem {
namespace {

/// Inputs and outputs one loop can walk.
constexpr std::size_t kMostOperands = 14;
/// Longer bodies run out of registers.
constexpr std::size_t kMostSteps = 48;

bool is_elementwise(const Node& node) { return node.op->scalar && !node.op->random; }

/// Bytes of the lanes a dtype is computed in; 0 for masks, which go with any. Generated code has lanes of one width.
int lane_width(DType dtype) {
  switch (expr::lane_of(dtype)) {
    case expr::Lane::f32:
    case expr::Lane::i32: return 4;
    case expr::Lane::f64:
    case expr::Lane::i64: return 8;
    case expr::Lane::mask: return 0;
  }
  return 0;
}

/// True when values of `dtype` have the same bits in lanes as in memory, or only more precision: what lies between two
/// steps is not rounded to it. Narrow integers would have to wrap.
bool may_stay_in_lanes(DType dtype) {
  return dtype != DType::i8 && dtype != DType::u8 && !is_storage_only(dtype);
}

/// True of a cast that generated code cannot do: between lanes of two widths, or between integers and floats of 64 bits.
bool is_hard_cast(const Graph& graph, const Node& node) {
  std::set<expr::Lane> lanes;
  for (GraphValue input : node.inputs) lanes.insert(expr::lane_of(graph.spec(input).dtype()));
  for (const TensorSpec& output : node.outputs) lanes.insert(expr::lane_of(output.dtype()));
  const auto has = [&](expr::Lane lane) { return lanes.contains(lane); };
  const bool wide = has(expr::Lane::f64) || has(expr::Lane::i64), narrow = has(expr::Lane::f32) || has(expr::Lane::i32);
  return (wide && narrow) || (has(expr::Lane::f64) && has(expr::Lane::i64));
}

/// One region on its way: `root` is its last node, nodes join from the end backwards.
class Region {
 public:
  Region(const Graph& graph, const std::vector<int>& uses, std::int32_t root) : graph_(graph), uses_(uses) {
    const Node& node = graph.nodes[static_cast<std::size_t>(root)];
    shape_ = &node.outputs[0].shape();
    requested_ = node.requested;
    for (const TensorSpec& spec : node.outputs) add_width(spec.dtype());
    add(root);
    grow();
  }

  const std::set<std::int32_t>& members() const { return members_; }

 private:
  void grow() {
    std::priority_queue<std::int32_t> candidates;  // the latest first: all its users are decided
    std::set<std::int32_t> seen;
    const auto offer = [&](std::int32_t member) {
      for (GraphValue input : graph_.nodes[static_cast<std::size_t>(member)].inputs)
        if (seen.insert(input.node).second) candidates.push(input.node);
    };
    offer(*members_.begin());
    while (!candidates.empty() && members_.size() < kMostSteps) {
      const std::int32_t node = candidates.top();
      candidates.pop();
      if (!fits(node)) continue;
      add(node);
      offer(node);
    }
  }

  bool fits(std::int32_t at) const {
    const Node& node = graph_.nodes[static_cast<std::size_t>(at)];
    if (!is_elementwise(node) || node.outputs.size() != 1 || node.outputs[0].shape() != *shape_) return false;
    if (node.requested != requested_ || !may_stay_in_lanes(node.outputs[0].dtype())) return false;
    const auto inside = uses_inside_.find(at);
    if (inside == uses_inside_.end() || inside->second != uses_[static_cast<std::size_t>(at)]) return false;
    if (is_hard_cast(graph_, node) || !width_agrees(node)) return false;
    std::set<GraphValue> operands = outside_;
    operands.erase({at, 0});
    for (GraphValue input : node.inputs) operands.insert(input);
    return operands.size() <= kMostOperands - graph_.nodes[static_cast<std::size_t>(*members_.rbegin())].outputs.size();
  }

  bool width_agrees(const Node& node) const {
    const auto agrees = [&](DType dtype) { return lane_width(dtype) == 0 || width_ == 0 || lane_width(dtype) == width_; };
    for (GraphValue input : node.inputs)
      if (!agrees(graph_.spec(input).dtype())) return false;
    return agrees(node.outputs[0].dtype());
  }

  void add_width(DType dtype) { width_ = std::max(width_, lane_width(dtype)); }

  void add(std::int32_t at) {
    const Node& node = graph_.nodes[static_cast<std::size_t>(at)];
    members_.insert(at);
    outside_.erase({at, 0});
    for (GraphValue input : node.inputs) {
      ++uses_inside_[input.node];
      outside_.insert(input);
      add_width(graph_.spec(input).dtype());
    }
  }

  const Graph& graph_;
  const std::vector<int>& uses_;
  const Shape* shape_;
  std::optional<DeviceName> requested_;
  int width_ = 0;
  std::set<std::int32_t> members_;
  std::set<GraphValue> outside_;
  std::map<std::int32_t, int> uses_inside_;
};

std::vector<int> count_uses(const Graph& graph) {
  std::vector<int> uses(graph.nodes.size());
  for (const Node& node : graph.nodes)
    for (GraphValue input : node.inputs) ++uses[static_cast<std::size_t>(input.node)];
  for (GraphValue result : graph.results) ++uses[static_cast<std::size_t>(result.node)];
  for (const Graph::Write& write : graph.writes) ++uses[static_cast<std::size_t>(write.value.node)];
  return uses;
}

/// What an operand of a region really reads: a broadcast is part of how the loop walks.
GraphValue through_broadcast(const Graph& graph, GraphValue value) {
  const Node& node = graph.node(value);
  return node.op == &broadcast_to_op ? node.inputs[0] : value;
}

/// Writes a region down as one node.
class Writer {
 public:
  Writer(const Graph& graph, const std::set<std::int32_t>& members) : graph_(graph) {
    for (std::int32_t member : members)
      for (GraphValue input : graph.nodes[static_cast<std::size_t>(member)].inputs)
        if (!members.contains(input.node)) note_input(input);
    next_ = static_cast<std::int32_t>(inputs_.size());
    for (GraphValue literal : literals_) add_literal(literal);
    for (std::int32_t member : members) add_step(member);
    root_ = *members.rbegin();
  }

  /// Its inputs are values of the old graph.
  Node node() {
    const Node& root = graph_.nodes[static_cast<std::size_t>(root_)];
    std::vector<std::int32_t> results;
    for (std::size_t k = 0; k < root.outputs.size(); ++k) results.push_back(numbers_.at({root_, static_cast<std::int32_t>(k)}));
    auto op = make_fused(std::move(steps_), std::move(results), root.outputs);
    return {.op = op.get(), .inputs = inputs_, .outputs = root.outputs, .requested = root.requested, .owner = op};
  }

 private:
  void note_input(GraphValue input) {
    if (numbers_.contains(input)) return;
    if (graph_.node(input).op == &fill_op) {
      numbers_[input] = -1;
      literals_.push_back(input);
      return;
    }
    const GraphValue source = through_broadcast(graph_, input);
    if (auto known = numbers_.find(source); known != numbers_.end() && source != input) {
      numbers_[input] = known->second;
      return;
    }
    numbers_[input] = numbers_[source] = static_cast<std::int32_t>(inputs_.size());
    inputs_.push_back(source);
  }

  void add_literal(GraphValue value) {
    const Node& fill = graph_.node(value);
    numbers_[value] = next_++;
    steps_.push_back({.op = &fill_op, .inputs = {}, .outputs = {fill.outputs[0].dtype()}, .literal = AttrView(*fill.op, fill.attrs).real("value")});
  }

  void add_step(std::int32_t at) {
    const Node& node = graph_.nodes[static_cast<std::size_t>(at)];
    FusedOp::Step step{.op = node.op, .inputs = {}, .outputs = {}};
    for (GraphValue input : node.inputs) step.inputs.push_back(numbers_.at(input));
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      step.outputs.push_back(node.outputs[k].dtype());
      numbers_[{at, static_cast<std::int32_t>(k)}] = next_++;
    }
    steps_.push_back(std::move(step));
  }

  const Graph& graph_;
  std::vector<GraphValue> inputs_, literals_;
  std::map<GraphValue, std::int32_t> numbers_;
  std::vector<FusedOp::Step> steps_;
  std::int32_t next_ = 0, root_ = 0;
};

}  // namespace

void fuse(Graph& graph) {
  const std::vector<int> uses = count_uses(graph);
  std::vector<bool> taken(graph.nodes.size());
  std::map<std::int32_t, Node> regions;  // by root; inputs are values of the old graph
  for (std::size_t at = graph.nodes.size(); at-- > 0;) {
    if (taken[at] || !is_elementwise(graph.nodes[at]) || is_hard_cast(graph, graph.nodes[at])) continue;
    const Region region(graph, uses, static_cast<std::int32_t>(at));
    if (region.members().size() < 2) continue;
    for (std::int32_t member : region.members()) taken[static_cast<std::size_t>(member)] = true;
    regions.emplace(static_cast<std::int32_t>(at), Writer(graph, region.members()).node());
  }
  if (regions.empty()) return;
  std::vector<std::vector<GraphValue>> moved(graph.nodes.size());
  graph = rewrite(graph, [&](Graph& out, const Node& node, std::int32_t old) -> Replacement {
    if (node.outputs.empty()) return {};  // there for its effects
    auto& values = moved[static_cast<std::size_t>(old)];
    const auto region = regions.find(old);
    Node copy = region == regions.end() ? node : region->second;
    if (region != regions.end())
      for (GraphValue& input : copy.inputs)
        input = moved[static_cast<std::size_t>(input.node)][static_cast<std::size_t>(input.output)];
    const std::size_t outputs = copy.outputs.size();
    const std::int32_t made = out.add(std::move(copy)).node;
    for (std::size_t k = 0; k < outputs; ++k) values.push_back({made, static_cast<std::int32_t>(k)});
    return values;
  });
  remove_dead(graph);  // the ops that are now part of a region
}

}  // namespace tandem
