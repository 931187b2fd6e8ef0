// Fusion: elementwise ops that feed one another become one loop, so that what lies between them never reaches memory. A
// reduction of their result becomes part of the loop, a product that they begin with runs them on its result.
#include <algorithm>
#include <map>

#include "tandem/graph/region.h"
#include "tandem/graph/rewrite.h"
#include "tandem/kernel/fused.h"
#include "tandem/op/records.h"

namespace tandem {
namespace {

/// Writes a region down as one node.
class Writer {
 public:
  Writer(const Graph& graph, const Region& region) : graph_(graph), region_(region) {
    if (region.product() >= 0) note_input({region.product(), 0});
    note_overwritten();
    for (std::int32_t member : region.members())
      for (GraphValue input : node_at(member).inputs)
        if (!region.members().contains(input.node)) note_input(input);
    next_ = static_cast<std::int32_t>(inputs_.size());
    for (GraphValue literal : literals_) add_literal(literal);
    for (std::int32_t member : region.members()) add_step(member);
  }

  /// Its inputs are values of the old graph.
  Node node() {
    const Node& root = node_at(region_.root());
    const Node& last = region_.reduction() < 0 ? root : node_at(region_.reduction());
    FusedParts parts{.steps = std::move(steps_), .results = {}, .result_specs = last.outputs};
    for (std::size_t k = 0; k < root.outputs.size(); ++k)
      parts.results.push_back(numbers_.at({region_.root(), static_cast<std::int32_t>(k)}));
    for (std::int32_t member : region_.stored()) {
      parts.results.push_back(numbers_.at({member, 0}));
      parts.result_specs.push_back(node_at(member).outputs[0]);
    }
    Node out{.inputs = inputs_, .outputs = parts.result_specs, .requested = root.requested};
    out.owner = make(std::move(parts), root, last);
    out.op = out.owner.get();
    if (region_.product() >= 0) {
      const Node& product = node_at(region_.product());
      out.inputs = product.inputs;
      out.inputs.insert(out.inputs.end(), inputs_.begin() + 1, inputs_.end());
    }
    return out;
  }

 private:
  std::shared_ptr<const OpDef> make(FusedParts parts, const Node& root, const Node& last) const {
    if (region_.reduction() >= 0) return make_fused_reduction(std::move(parts), *last.op, last.attrs, root.outputs[0]);
    if (region_.product() < 0) return make_fused(std::move(parts), overwrites_ ? root.op->in_place : 0);
    const Node& product = node_at(region_.product());
    return make_fused_product(std::move(parts), *product.op, product.attrs, product.outputs[0]);
  }

  const Node& node_at(std::int32_t at) const { return graph_.nodes[static_cast<std::size_t>(at)]; }

  /// What the root may overwrite keeps its number: variables that are updated in place.
  void note_overwritten() {
    const Node& root = node_at(region_.root());
    if (!root.op->in_place) return;
    overwrites_ = true;
    for (std::size_t k = 0; k < root.outputs.size(); ++k) {
      const GraphValue input = root.inputs[k];
      overwrites_ &=
          !region_.members().contains(input.node) && graph_.node(input).op != &fill_op && !numbers_.contains(input);
      if (!overwrites_) return;
      note_input(input);
    }
  }

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
    steps_.push_back({.op = &fill_op,
                      .inputs = {},
                      .outputs = {fill.outputs[0].dtype()},
                      .literal = AttrView(*fill.op, fill.attrs).real("value")});
  }

  void add_step(std::int32_t at) {
    const Node& node = node_at(at);
    FusedOp::Step step{.op = node.op, .inputs = {}, .outputs = {}};
    for (GraphValue input : node.inputs) step.inputs.push_back(numbers_.at(input));
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      step.outputs.push_back(node.outputs[k].dtype());
      numbers_[{at, static_cast<std::int32_t>(k)}] = next_++;
    }
    steps_.push_back(std::move(step));
  }

  const Graph& graph_;
  const Region& region_;
  std::vector<GraphValue> inputs_, literals_;
  std::map<GraphValue, std::int32_t> numbers_;
  std::vector<FusedOp::Step> steps_;
  std::int32_t next_ = 0;
  bool overwrites_ = false;
};

/// A region as a node, and the values of the old graph that its outputs are.
struct Fused {
  Node node;  // its inputs are values of the old graph
  std::vector<GraphValue> replaces;
};

/// What the regions of a pass are.
enum class Kind { products, reductions, elementwise };

class Fusion {
 public:
  /// `run` takes the nodes out of `graph`.
  Fusion(Graph& graph, Kind kind)
      : graph_(graph),
        kind_(kind),
        uses_(graph),
        region_of_(graph.nodes.size(), -1),
        moved_(graph.nodes.size()) {
    std::vector<int> behind;
    if (kind == Kind::products) behind = steps_behind_products(graph);
    for (std::size_t at = graph.nodes.size(); at-- > 0;)
      if (!uses_.taken[at] && (behind.empty() || behind[at] > 0)) find(static_cast<std::int32_t>(at));
  }

  bool empty() const { return fused_.empty(); }

  Graph run() {
    out_.nodes.reserve(graph_.nodes.size());
    std::size_t next = 0;
    std::sort(order_.begin(), order_.end());
    for (std::int32_t at = 0; at < static_cast<std::int32_t>(graph_.nodes.size()); ++at) {
      for (; next < order_.size() && order_[next].first == at; ++next) place_region(order_[next].second);
      if (region_of_[static_cast<std::size_t>(at)] < 0) place(at);
    }
    for (std::int32_t parameter : graph_.parameters) out_.parameters.push_back(now({parameter, 0}).node);
    for (GraphValue result : graph_.results) out_.results.push_back(now(result));
    for (const Graph::Write& write : graph_.writes) out_.writes.push_back({write.cell, now(write.value)});
    return std::move(out_);
  }

 private:
  void find(std::int32_t at) {
    const Node& node = graph_.nodes[static_cast<std::size_t>(at)];
    if (kind_ == Kind::reductions) {
      if (const auto region = Region::reduced(graph_, uses_, at)) take(*region);
      return;
    }
    if (!is_elementwise(node) || is_hard_cast(graph_, node)) return;
    Region region(graph_, uses_, at);
    if (kind_ == Kind::products) region.take_product();
    if (kind_ == Kind::products ? region.product() >= 0 : region.members().size() > 1) take(region);
  }

  void take(const Region& region) {
    uses_.note(region);
    const auto index = static_cast<std::int32_t>(fused_.size());
    for (std::int32_t member : region.members()) region_of_[static_cast<std::size_t>(member)] = index;
    region_of_[static_cast<std::size_t>(region.last())] = index;
    if (region.product() >= 0) region_of_[static_cast<std::size_t>(region.product())] = index;
    Fused fused{.node = Writer(graph_, region).node(), .replaces = {}};
    for (std::size_t k = 0; k < graph_.nodes[static_cast<std::size_t>(region.last())].outputs.size(); ++k)
      fused.replaces.push_back({region.last(), static_cast<std::int32_t>(k)});
    for (std::int32_t member : region.stored()) fused.replaces.push_back({member, 0});
    fused_.push_back(std::move(fused));
    order_.push_back({region.position(), index});
  }

  GraphValue now(GraphValue value) const {
    return moved_[static_cast<std::size_t>(value.node)].at(static_cast<std::size_t>(value.output));
  }

  /// A region may run before the place where a node stood that it reads: what it reads comes first.
  void place(std::int32_t at) {
    const std::int32_t region = region_of_[static_cast<std::size_t>(at)];
    if (region >= 0) place_region(region);
    else if (moved_[static_cast<std::size_t>(at)].empty()) place_node(at);
  }

  void place_region(std::int32_t index) {
    Fused& fused = fused_[static_cast<std::size_t>(index)];
    if (!fused.node.op) return;  // placed already
    Node node = std::exchange(fused.node, Node{});
    for (GraphValue input : node.inputs) place(input.node);
    add(std::move(node), fused.replaces);
  }

  void place_node(std::int32_t at) {
    std::vector<GraphValue> own;
    Node& node = graph_.nodes[static_cast<std::size_t>(at)];
    for (GraphValue input : node.inputs) place(input.node);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) own.push_back({at, static_cast<std::int32_t>(k)});
    add(std::move(node), own);
  }

  void add(Node node, const std::vector<GraphValue>& replaces) {
    for (GraphValue& input : node.inputs) input = now(input);
    const std::int32_t made = out_.add(std::move(node)).node;
    for (std::size_t k = 0; k < replaces.size(); ++k) {
      auto& values = moved_[static_cast<std::size_t>(replaces[k].node)];
      values.resize(std::max(values.size(), static_cast<std::size_t>(replaces[k].output) + 1));
      values[static_cast<std::size_t>(replaces[k].output)] = {made, static_cast<std::int32_t>(k)};
    }
  }

  Graph& graph_;
  Kind kind_;
  Uses uses_;
  Graph out_;
  std::vector<Fused> fused_;
  std::vector<std::pair<std::int32_t, std::int32_t>> order_;  // the node before which a region runs, the region
  std::vector<std::int32_t> region_of_;  // by old node; -1: none
  std::vector<std::vector<GraphValue>> moved_;  // values of the new graph, by old node
};

void run(Graph& graph, Kind kind) {
  Fusion fusion(graph, kind);
  if (fusion.empty()) return;
  graph = fusion.run();
  remove_dead(graph);  // fills and broadcasts that are now part of a region
}

}  // namespace

void fuse_products(Graph& graph) {
  move_reshapes(graph);
  run(graph, Kind::products);
}
void fuse_reductions(Graph& graph) { run(graph, Kind::reductions); }
void fuse(Graph& graph) { run(graph, Kind::elementwise); }

}  // namespace tandem
