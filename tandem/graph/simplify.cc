// Algebra: nodes that change nothing go, views of views become one, transposes fold into products, reshapes move behind
// what follows a product.
#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include "tandem/graph/region.h"
#include "tandem/graph/rewrite.h"
#include "tandem/kernel/fused.h"
#include "tandem/op/array_records.h"
#include "tandem/op/records.h"

namespace tandem {
namespace {

/// x op value == x, with the value on the right or on either side.
struct Neutral {
  std::string_view op;
  double value;
  bool left_too;
};
constexpr std::array kNeutrals{Neutral{"add", 0, true},      Neutral{"subtract", 0, false},
                               Neutral{"multiply", 1, true}, Neutral{"divide", 1, false},
                               Neutral{"pow", 1, false},     Neutral{"bias_add", 0, false}};

const Neutral* neutral_of(const OpDef& op) {
  static const auto table = [] {
    std::unordered_map<const OpDef*, const Neutral*> map;
    for (const Neutral& neutral : kNeutrals) map[find_op(neutral.op)] = &neutral;
    return map;
  }();
  const auto found = table.find(&op);
  return found == table.end() ? nullptr : found->second;
}

/// True when every element of `value` is known to be `wanted`, whatever sizes tensors have: a formula of its own for a
/// batch of one row would have to be compiled.
bool is_uniform(const Graph& graph, GraphValue value, double wanted) {
  const Node& node = graph.node(value);
  if (node.op == &fill_op) return AttrView(*node.op, node.attrs).real("value") == wanted;
  if (node.op == &broadcast_to_op) return is_uniform(graph, node.inputs[0], wanted);
  return node.op == &constant_op && node.constant.size() == 1 && node.constant.dtype() != DType::string &&
         !node.constant.impl()->of_sizes && node.constant.item<double>() == wanted;
}

Replacement without_neutral(const Graph& out, const Node& node) {
  const Neutral* neutral = neutral_of(*node.op);
  if (!neutral) return {};
  const auto stands_for_all = [&](GraphValue kept, GraphValue other) {
    return out.spec(kept) == node.outputs[0] && is_uniform(out, other, neutral->value);
  };
  if (stands_for_all(node.inputs[0], node.inputs[1])) return {node.inputs[0]};
  if (neutral->left_too && stands_for_all(node.inputs[1], node.inputs[0])) return {node.inputs[1]};
  return {};
}

bool is_named(const Node& node, std::string_view name) { return node.op->name == name; }

/// Views that change nothing, casts to the same dtype, broadcasts to the same shape.
Replacement without_effect(const Graph& out, const Node& node) {
  if (!node.op->view && node.op != &cast_op && node.op != &broadcast_to_op) return {};
  for (std::size_t k = 0; k < node.outputs.size(); ++k)
    if (out.spec(node.inputs[k]) != node.outputs[k]) return {};
  return Replacement(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(node.outputs.size()));
}

/// reshape(reshape(x)) is reshape(x).
Replacement joined_views(Graph& out, const Node& node) {
  if (!node.op->view || !is_named(node, "reshape")) return {};
  const Node& inner = out.node(node.inputs[0]);
  if (!inner.op->view) return {};
  Node joined = node;
  joined.inputs[0] = inner.inputs[0];
  if (out.spec(joined.inputs[0]) == joined.outputs[0]) return {joined.inputs[0]};
  return {out.add(std::move(joined))};
}

/// transpose(transpose(x)): one, or none when they cancel.
Replacement joined_transposes(Graph& out, const Node& node) {
  if (node.op != &transpose_op || out.node(node.inputs[0]).op != &transpose_op) return {};
  const Node& inner = out.node(node.inputs[0]);
  const int rank = node.outputs[0].shape().rank();
  const auto axes = [&](const Node& n) {
    const auto perm = AttrView(*n.op, n.attrs).ints("perm");
    std::vector<std::int64_t> list(perm.begin(), perm.end());
    if (list.empty())
      for (int i = rank - 1; i >= 0; --i) list.push_back(i);
    for (std::int64_t& axis : list) axis = axis < 0 ? axis + rank : axis;
    return list;
  };
  const auto first = axes(inner), second = axes(node);
  std::vector<std::int64_t> both;
  bool identity = true;
  for (std::size_t i = 0; i < second.size(); ++i) {
    both.push_back(first[static_cast<std::size_t>(second[i])]);
    identity &= both.back() == static_cast<std::int64_t>(i);
  }
  if (identity) return {inner.inputs[0]};
  Node joined = node;
  joined.inputs[0] = inner.inputs[0];
  joined.attrs = make_attrs(transpose_op, both);
  return {out.add(std::move(joined))};
}

/// add(x, gather_grad(rows, indices)): the rows are added where they belong, not zeros everywhere else.
Replacement added_rows(Graph& out, const Node& node) {
  if (!is_named(node, "add")) return {};
  for (const auto& [whole, part] :
       {std::pair(node.inputs[0], node.inputs[1]), std::pair(node.inputs[1], node.inputs[0])}) {
    const Node gradient = out.node(part);
    if (gradient.op != &gather_grad_op || AttrView(*gradient.op, gradient.attrs).integer("axis") != 0) continue;
    if (out.spec(whole) != node.outputs[0] || gradient.outputs[0] != node.outputs[0]) continue;
    const TensorSpec& indices = out.spec(gradient.inputs[1]);
    std::vector<std::int64_t> sizes(indices.shape().begin(), indices.shape().end());
    sizes.push_back(1);
    static const OpDef& reshape = *find_op("reshape");
    Node places{.op = &reshape,
                .inputs = {gradient.inputs[1]},
                .attrs = make_attrs(reshape, sizes),
                .outputs = {{indices.dtype(), Shape(std::span<const std::int64_t>(sizes))}},
                .requested = node.requested};
    const GraphValue at = out.add(std::move(places));
    return {out.add({.op = &tensor_scatter_nd_add_op,
                     .inputs = {whole, at, gradient.inputs[0]},
                     .outputs = node.outputs,
                     .requested = node.requested})};
  }
  return {};
}

/// True when the node swaps the last two axes and leaves the others.
bool swaps_last_two(const Node& node) {
  if (node.op != &transpose_op) return false;
  const int rank = node.outputs[0].shape().rank();
  const auto perm = AttrView(*node.op, node.attrs).ints("perm");
  if (perm.empty()) return rank == 2;
  for (int i = 0; i < rank; ++i) {
    const std::int64_t axis = perm[static_cast<std::size_t>(i)] < 0 ? perm[static_cast<std::size_t>(i)] + rank
                                                                    : perm[static_cast<std::size_t>(i)];
    const int wanted = i == rank - 1 ? rank - 2 : i == rank - 2 ? rank - 1 : i;
    if (axis != wanted) return false;
  }
  return rank >= 2;
}

/// Moves reshapes of products behind the elementwise ops that follow.
class ReshapeMover {
 public:
  explicit ReshapeMover(const Graph& graph) : uses_(graph) {}

  Replacement visit(Graph& out, const Node& node, std::int32_t at) {
    const bool read_once = uses_.in_all[static_cast<std::size_t>(at)] == 1;
    const auto next = static_cast<std::int32_t>(out.nodes.size());  // the node, if it is copied
    if (fused_product_like(*node.op) && read_once) goes_on_.insert(next);
    if (node.op == &reshape_ && read_once && goes_on_.contains(node.inputs[0].node)) views_.insert(next);
    const GraphValue* view = view_read_by(out, node);
    if (!view) return {};
    const GraphValue moved = on_the_product(out, node, out.spec(out.node(*view).inputs[0]).shape());
    const GraphValue back = reshaped(out, moved, node.outputs[0].shape(), node);
    if (read_once) goes_on_.insert(moved.node), views_.insert(back.node);
    has_moved_ = true;
    return {back};
  }
  bool has_moved() const { return has_moved_; }

 private:
  /// The reshaped product that the node reads, while all that it reads has the shape of its result; null: none.
  const GraphValue* view_read_by(const Graph& out, const Node& node) const {
    if (!is_elementwise(node) || node.op->in_place || node.outputs.size() != 1) return nullptr;
    const auto differs = [&](GraphValue input) { return out.spec(input).shape() != node.outputs[0].shape(); };
    if (std::ranges::any_of(node.inputs, differs)) return nullptr;
    const auto found = std::ranges::find_if(node.inputs, [&](GraphValue input) { return views_.contains(input.node); });
    return found == node.inputs.end() ? nullptr : &*found;
  }

  GraphValue on_the_product(Graph& out, const Node& node, const Shape& shape) const {
    Node moved = node;
    for (GraphValue& value : moved.inputs) {
      const Node& maker = out.node(value);
      const bool is_back = maker.op == &reshape_ && out.spec(maker.inputs[0]).shape() == shape;
      value = is_back ? maker.inputs[0] : reshaped(out, value, shape, node);
    }
    moved.outputs[0] = {node.outputs[0].dtype(), shape};
    return out.add(std::move(moved));
  }

  GraphValue reshaped(Graph& out, GraphValue value, const Shape& shape, const Node& where) const {
    const std::vector<std::int64_t> sizes(shape.begin(), shape.end());
    return out.add({.op = &reshape_,
                    .inputs = {value},
                    .attrs = make_attrs(reshape_, sizes),
                    .outputs = {{out.spec(value).dtype(), shape}},
                    .requested = where.requested});
  }

  const OpDef& reshape_ = *find_op("reshape");
  const Uses uses_;
  std::set<std::int32_t> goes_on_;  // nodes that end what a product begins, and are read once
  std::set<std::int32_t> views_;  // their reshapes, read once
  bool has_moved_ = false;
};

}  // namespace

void simplify(Graph& graph) {
  rewrite(graph, [](Graph& out, const Node& node, std::int32_t) -> Replacement {
    if (is_source(node)) return {};
    if (Replacement r = without_effect(out, node); !r.empty()) return r;
    if (Replacement r = without_neutral(out, node); !r.empty()) return r;
    if (Replacement r = joined_views(out, node); !r.empty()) return r;
    if (Replacement r = added_rows(out, node); !r.empty()) return r;
    return joined_transposes(out, node);
  });
}

void move_reshapes(Graph& graph) {
  ReshapeMover mover(graph);
  rewrite(graph, [&](Graph& out, const Node& node, std::int32_t at) { return mover.visit(out, node, at); });
  if (mover.has_moved()) remove_dead(graph);  // the reshapes that nobody reads any more
}

void fold_transposes(Graph& graph) {
  rewrite(graph, [](Graph& out, const Node& node, std::int32_t) -> Replacement {
    if (node.op != &matmul_op) return {};
    const AttrView attrs(*node.op, node.attrs);
    bool flags[2] = {attrs.boolean("transpose_a"), attrs.boolean("transpose_b")};
    Node folded = node;
    for (std::size_t i = 0; i < 2; ++i) {
      const Node& operand = out.node(node.inputs[i]);
      if (!swaps_last_two(operand)) continue;
      folded.inputs[i] = operand.inputs[0];
      flags[i] = !flags[i];
    }
    if (folded.inputs == node.inputs) return {};
    folded.attrs = make_attrs(matmul_op, flags[0], flags[1]);
    return {out.add(std::move(folded))};
  });
}

}  // namespace tandem
