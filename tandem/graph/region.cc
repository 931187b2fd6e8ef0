#include "tandem/graph/region.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>

#include "tandem/kernel/fused.h"
#include "tandem/op/array_records.h"
#include "tandem/op/records.h"

namespace tandem {
namespace {

/// Inputs and outputs one loop can walk.
constexpr std::size_t kMostOperands = 14;
/// Longer bodies run out of registers.
constexpr std::size_t kMostSteps = 48;
/// Rows shorter than this cost more than their elements where a row is folded at a time.
constexpr std::int64_t kShortRow = 64;

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
bool may_stay_in_lanes(DType dtype) { return !is_integer(dtype) || dtype == DType::i32 || dtype == DType::i64; }

bool is_reduction(const OpDef& op) {
  for (const OpDef* one : {&reduce_sum_op, &reduce_mean_op, &reduce_max_op, &reduce_min_op, &reduce_prod_op,
                           &reduce_any_op, &reduce_all_op})
    if (&op == one) return true;
  return false;
}

/// Size of axis `d` of `domain` in an operand that is broadcast to it.
std::int64_t own_size(const Shape& operand, const Shape& domain, int d) {
  const int own = d - (domain.rank() - operand.rank());
  return own < 0 ? 1 : operand[own];
}

/// True when the axes along which the operand is not repeated are neighbours: then element e of the domain is element
/// e / a % b of the operand.
bool is_one_run(const Shape& operand, const Shape& domain) {
  int runs = 0;
  bool inside = false;
  for (int d = 0; d < domain.rank(); ++d) {
    if (domain[d] == 1) continue;
    const bool own = own_size(operand, domain, d) != 1;
    runs += own && !inside;
    inside = own;
  }
  return runs <= 1;
}

/// True when the axes are kept, reduced, kept, each group possibly empty.
bool is_one_group(const Shape& domain, AxisSet axes) {
  int groups = 0;
  bool inside = false;
  for (int d = 0; d < domain.rank(); ++d) {
    if (domain[d] == 1) continue;
    groups += axes.contains(d) && !inside;
    inside = axes.contains(d);
  }
  return groups <= 1;
}

/// Elements at the end of the domain, all reduced, that every operand reads in one go.
std::int64_t joined_end(const Shape& domain, AxisSet axes, const std::vector<Shape>& operands) {
  std::int64_t length = 1;
  std::vector<int> repeated(operands.size(), -1);  // along the axes so far: no, yes, unknown
  for (int d = domain.rank() - 1; d >= 0; --d) {
    if (domain[d] == 1) continue;
    if (!axes.contains(d)) break;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const int now = own_size(operands[i], domain, d) == 1;
      if (repeated[i] >= 0 && repeated[i] != now) return length;
      repeated[i] = now;
    }
    length *= domain[d];
  }
  return length;
}

}  // namespace

Uses::Uses(const Graph& graph)
    : by_nodes(graph.nodes.size()),
      in_all(graph.nodes.size()),
      taken(graph.nodes.size()),
      available(graph.nodes.size()) {
  std::iota(available.begin(), available.end(), 0);
  read_at = available;
  for (std::size_t at = 0; at < graph.nodes.size(); ++at)
    for (GraphValue input : graph.nodes[at].inputs) {
      by_nodes[static_cast<std::size_t>(input.node)].push_back(static_cast<std::int32_t>(at));
      ++in_all[static_cast<std::size_t>(input.node)];
    }
  for (GraphValue result : graph.results) ++in_all[static_cast<std::size_t>(result.node)];
  for (const Graph::Write& write : graph.writes) ++in_all[static_cast<std::size_t>(write.value.node)];
}

void Uses::note(const Region& region) {
  const auto note_node = [&](std::int32_t at) {
    if (at < 0) return;
    taken[static_cast<std::size_t>(at)] = true;
    available[static_cast<std::size_t>(at)] = read_at[static_cast<std::size_t>(at)] = region.position();
  };
  for (std::int32_t member : region.members()) note_node(member);
  note_node(region.reduction());
  note_node(region.product());
}

bool is_elementwise(const Node& node) { return node.op->scalar && !node.op->random; }

bool is_hard_cast(const Graph& graph, const Node& node) {
  unsigned lanes = 0;
  const auto note = [&](DType dtype) { lanes |= 1u << static_cast<int>(expr::lane_of(dtype)); };
  const auto has = [&](expr::Lane lane) { return lanes >> static_cast<int>(lane) & 1; };
  for (GraphValue input : node.inputs) note(graph.spec(input).dtype());
  for (const TensorSpec& output : node.outputs) note(output.dtype());
  const bool wide = has(expr::Lane::f64) || has(expr::Lane::i64), narrow = has(expr::Lane::f32) || has(expr::Lane::i32);
  return (wide && narrow) || (has(expr::Lane::f64) && has(expr::Lane::i64));
}

GraphValue through_broadcast(const Graph& graph, GraphValue value) {
  const Node& node = graph.node(value);
  return node.op == &broadcast_to_op ? node.inputs[0] : value;
}

std::vector<int> steps_behind_products(const Graph& graph) {
  std::vector<int> steps(graph.nodes.size());
  for (std::size_t at = 0; at < graph.nodes.size(); ++at) {
    const Node& node = graph.nodes[at];
    if (!is_elementwise(node)) continue;
    int least = static_cast<int>(kMostSteps) + 1;
    for (GraphValue input : node.inputs) {
      if (graph.spec(input).shape() != node.outputs[0].shape()) continue;
      if (fused_product_like(*graph.node(input).op)) least = 1;
      else if (const int before = steps[static_cast<std::size_t>(input.node)]; before > 0)
        least = std::min(least, before + 1);
    }
    if (least <= static_cast<int>(kMostSteps)) steps[at] = least;
  }
  return steps;
}

Region::Region(const Graph& graph, const Uses& uses, std::int32_t root) : Region(graph, uses, root, -1) {}

Region::Region(const Graph& graph, const Uses& uses, std::int32_t root, std::int32_t reduction)
    : graph_(&graph),
      uses_(&uses),
      position_(reduction < 0 ? root : reduction),
      reduction_(reduction) {
  for (const TensorSpec& spec : node(root).outputs) width_ = std::max(width_, lane_width(spec.dtype()));
  add(root);
  grow();
}

std::optional<Region> Region::reduced(const Graph& graph, const Uses& uses, std::int32_t reduction) {
  const Node& last = graph.nodes[static_cast<std::size_t>(reduction)];
  if (!is_reduction(*last.op)) return {};
  const std::int32_t root = last.inputs[0].node;
  const Node& mapped = graph.nodes[static_cast<std::size_t>(root)];
  if (!is_elementwise(mapped) || mapped.outputs.size() != 1 || is_hard_cast(graph, mapped) ||
      mapped.requested != last.requested || !may_stay_in_lanes(mapped.outputs[0].dtype()) ||
      uses.in_all[static_cast<std::size_t>(root)] != 1)
    return {};
  const Region region(graph, uses, root, reduction);
  return region.can_be_reduced() ? std::optional(region) : std::nullopt;
}

void Region::grow() {
  std::priority_queue<std::int32_t> candidates;  // the latest first: all its users are decided
  std::set<std::int32_t> seen;
  const auto offer = [&](std::int32_t member) {
    for (GraphValue input : node(member).inputs)
      if (seen.insert(input.node).second) candidates.push(input.node);
  };
  offer(root());
  while (!candidates.empty() && members_.size() < kMostSteps) {
    const std::int32_t at = candidates.top();
    candidates.pop();
    if (!fits(at)) continue;
    if (is_read_outside(at)) {
      const std::int32_t reader = first_reader(at);
      is_early_ |= reader <= position_;
      position_ = std::min(position_, reader);
      stored_.push_back(at);
    }
    add(at);
    offer(at);
  }
}

bool Region::fits(std::int32_t at) const {
  const Node& one = node(at);
  if (uses_->taken[static_cast<std::size_t>(at)] || !is_elementwise(one) || one.outputs.size() != 1) return false;
  if (one.outputs[0].shape() != node(root()).outputs[0].shape() || one.requested != node(root()).requested)
    return false;
  if (!may_stay_in_lanes(one.outputs[0].dtype()) || is_hard_cast(*graph_, one) || !width_agrees(one)) return false;
  const bool stores = is_read_outside(at);
  if (stores && (reduction_ >= 0 || node(root()).op->in_place || one.op->in_place)) return false;
  std::set<GraphValue> operands = outside_;
  operands.erase({at, 0});
  for (GraphValue input : one.inputs) operands.insert(input);
  if (operands.size() + stored_.size() + stores + node(root()).outputs.size() > kMostOperands) return false;
  // A region that stores what others read runs before them all: its operands have to be there. A reader at the very
  // place of the region is another region, which must not be read in turn.
  const std::int32_t reader = stores ? first_reader(at) : position_ + 1, position = std::min(position_, reader);
  return (!is_early_ && reader > position_) || std::all_of(operands.begin(), operands.end(), [&](GraphValue operand) {
           return uses_->available[static_cast<std::size_t>(operand.node)] < position;
         });
}

bool Region::width_agrees(const Node& one) const {
  const auto agrees = [&](DType dtype) { return lane_width(dtype) == 0 || width_ == 0 || lane_width(dtype) == width_; };
  for (GraphValue input : one.inputs)
    if (!agrees(graph_->spec(input).dtype())) return false;
  return agrees(one.outputs[0].dtype());
}

bool Region::is_read_outside(std::int32_t at) const {
  return uses_inside_.at(at) != uses_->in_all[static_cast<std::size_t>(at)];
}

/// Where what `at` makes is first read by others; results and variables are read at the end.
std::int32_t Region::first_reader(std::int32_t at) const {
  std::int32_t first = std::numeric_limits<std::int32_t>::max();
  for (std::int32_t reader : uses_->by_nodes[static_cast<std::size_t>(at)])
    if (!members_.contains(reader)) first = std::min(first, uses_->read_at[static_cast<std::size_t>(reader)]);
  return first;
}

void Region::add(std::int32_t at) {
  const Node& one = node(at);
  members_.insert(at);
  outside_.erase({at, 0});
  for (GraphValue input : one.inputs) {
    ++uses_inside_[input.node];
    outside_.insert(input);
    width_ = std::max(width_, lane_width(graph_->spec(input).dtype()));
  }
}

/// Made of variables and constants alone: its size does not follow the batch's.
static bool is_fixed(const Graph& graph, GraphValue value) {
  while (graph.node(value).op->view) value = graph.node(value).inputs[static_cast<std::size_t>(value.output)];
  return is_source(graph.node(value)) && graph.node(value).op != &parameter_op;
}

/// The shape with two rows in place of one.
static Shape with_more_rows(const Shape& shape) {
  std::vector<std::int64_t> sizes(shape.begin(), shape.end());
  sizes[0] = 2;
  return Shape(std::span<const std::int64_t>(sizes));
}

bool Region::can_be_reduced() const {
  const Node& last = node(reduction_);
  const Shape& domain = graph_->spec(last.inputs[0]).shape();
  const AxisSet axes = reduced_axes(last.op->name, AttrView(*last.op, last.attrs).ints("axis"), domain.rank());
  if (domain.elements() == 0 || !is_one_group(domain, axes)) return false;
  std::vector<Shape> operands;
  for (GraphValue value : outside_) {
    const GraphValue source = through_broadcast(*graph_, value);
    if (graph_->node(value).op == &fill_op) continue;
    const Shape& operand = graph_->spec(source).shape();
    operands.push_back(operand);
    // One row is fused as more would be: else it would have a kernel of its own.
    if (domain.rank() > 0 && domain[0] == 1 && operand.rank() == domain.rank() && !is_fixed(*graph_, source) &&
        !is_one_run(with_more_rows(operand), with_more_rows(domain)))
      return false;
  }
  if (operands.empty()) return false;
  for (const Shape& operand : operands)
    if (!is_one_run(operand, domain)) return false;
  const std::int64_t end = joined_end(domain, axes, operands);
  return end >= kShortRow || end == joined_end(domain, axes, {domain});
}

/// Is the value made where another device was asked for? Views are looked through.
static bool comes_from_elsewhere(const Graph& graph, GraphValue value, const std::optional<DeviceName>& here) {
  while (graph.node(value).op->view) value = graph.node(value).inputs[static_cast<std::size_t>(value.output)];
  const Node& maker = graph.node(value);
  return !is_source(maker) && maker.requested != here;
}

bool Region::serves_product(std::int32_t at) const {
  const Node& product = node(at);
  if (!fused_product_like(*product.op) || product.requested != node(root()).requested || is_read_outside(at))
    return false;
  const TensorSpec& spec = product.outputs[0];
  if (!is_floating(spec.dtype()) || spec != node(root()).outputs[0]) return false;
  const Shape& domain = spec.shape();
  const std::int64_t rows = domain.rank() > 1 && domain[-1] > 0 ? domain.elements() / domain[-1] : 0;
  for (GraphValue value : outside_) {
    if (value.node == at || graph_->node(value).op == &fill_op) continue;
    // The product is most of the work: it does not wait for another device.
    if (comes_from_elsewhere(*graph_, value, product.requested)) return false;
    const Shape& other = graph_->spec(through_broadcast(*graph_, value)).shape();
    const bool is_vector = other.rank() > 0 && other[-1] == domain[-1] && other.elements() == domain[-1];
    // With one row [1, 1] is most likely a number for each: with more it could not be taken along.
    const bool of_row = rows == 1 && other.rank() == domain.rank() && other != domain;
    if (other.elements() == 1 ? of_row : !is_vector && other.elements() != domain.elements()) return false;
  }
  return true;
}

void Region::take_product() {
  if (reduction_ >= 0 || node(root()).op->in_place) return;
  for (auto operand = outside_.rbegin(); operand != outside_.rend() && product_ < 0; ++operand)
    if (serves_product(operand->node)) product_ = operand->node;
}

}  // namespace tandem
