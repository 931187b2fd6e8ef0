#include "tandem/graph/open_graph.h"

#include <algorithm>
#include <cstring>

#include "tandem/graph/replay.h"
#include "tandem/graph/trace.h"

namespace tandem {
namespace {

/// What cannot be said for these sizes. Never leaves this file.
struct Misfit {
  std::string why;
};

class Instance {
 public:
  Instance(const Graph& open, std::span<const std::int64_t> sizes, const SizesInside& inside)
      : open_(open),
        sizes_(sizes),
        inside_(inside),
        all_(open.nodes.size()) {}

  Graph make() {
    for (std::int32_t parameter : open_.parameters) {
      const auto at = static_cast<std::size_t>(parameter);
      all_[at] = {trace_.parameter(spec_at(open_.nodes[at], 0))};
    }
    for (std::size_t at = 0; at < open_.nodes.size(); ++at)
      if (all_[at].empty()) all_[at] = outputs(open_.nodes[at]);
    for (const Graph::Write& write : open_.writes) trace_.write(write.cell, pick(all_, {&write.value, 1})[0]);
    trace_.note_group(open_.group);
    return trace_.finish(pick(all_, open_.results));
  }

 private:
  TensorSpec spec_at(const Node& node, std::size_t output) const {
    const TensorSpec& spec = node.outputs[output];
    const auto shape = shape_at(spec.shape(), sizes_);
    if (!shape) throw Misfit{text(node.op->name, " would give ", open_text(spec.shape()))};
    return {spec.dtype(), *shape};
  }

  Tensors outputs(const Node& node) {
    if (node.op == &constant_op) return {node.constant};
    if (node.op == &variable_op) return {trace_.read(node.cell)};
    const auto attrs = attrs_at(*node.op, node.attrs, sizes_);
    if (!attrs) throw Misfit{text(node.op->name, " has an attribute that would be negative")};
    if (auto number = known_number(*node.op, *attrs)) return {*number};
    Node known = node;
    known.attrs = *attrs;
    if (node.owner) known.op = (known.owner = made_op_at(node)).get();
    const Tensors made = run_node(known, pick(all_, node.inputs));
    for (std::size_t i = 0; i < made.size(); ++i)
      if (const TensorSpec traced = spec_at(node, i); made[i].spec() != traced)
        throw Misfit{text(node.op->name, " gives ", made[i].spec(), ", where the trace has ", traced)};
    return made;
  }

  std::shared_ptr<const OpDef> made_op_at(const Node& node) const {
    const InitScope apart;  // its graphs are traced by themselves
    std::string why;
    auto op = inside_.at(node.owner, sizes_, why);
    if (!op) throw Misfit{text(node.op->name, ": ", why)};
    return op;
  }

  const Graph& open_;
  const std::span<const std::int64_t> sizes_;
  const SizesInside& inside_;
  Trace trace_;
  std::vector<Tensors> all_;
};

bool is_same_constant(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (!a.defined() || a.impl() == b.impl()) return true;
  if (a.spec() != b.spec()) return false;
  if (a.dtype() == DType::string) return a.strings() == b.strings();
  return std::memcmp(a.raw_data(), b.raw_data(), a.spec().bytes()) == 0;
}

/// Two graphs, node by node. Where parameters and constants stand among the nodes does not matter.
class Comparison {
 public:
  Comparison(const Graph& a, const Graph& b, const SizesInside& inside)
      : a_(a),
        b_(b),
        inside_(inside),
        partners_(a.nodes.size(), -1) {}

  /// Says where they differ; nothing when they do not.
  std::optional<std::string> difference() {
    const std::vector<std::int32_t> ops = ops_of(a_), others = ops_of(b_);
    if (ops.size() != others.size() || a_.parameters.size() != b_.parameters.size() ||
        a_.writes.size() != b_.writes.size())
      return "other ops are called";
    for (std::size_t i = 0; i < a_.parameters.size(); ++i) partner(a_.parameters[i]) = b_.parameters[i];
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (!same_node(a_.nodes[static_cast<std::size_t>(ops[i])], b_.nodes[static_cast<std::size_t>(others[i])]))
        return text(a_.nodes[static_cast<std::size_t>(ops[i])].op->name, " is another");
      partner(ops[i]) = others[i];
    }
    const auto same_write = [&](const Graph::Write& x, const Graph::Write& y) {
      return x.cell == y.cell && same_value(x.value, y.value);
    };
    if (!same_values(a_.results, b_.results) || !std::ranges::equal(a_.writes, b_.writes, same_write))
      return "other values are returned";
    return std::nullopt;
  }

 private:
  static std::vector<std::int32_t> ops_of(const Graph& graph) {
    std::vector<std::int32_t> ops;
    for (std::size_t at = 0; at < graph.nodes.size(); ++at)
      if (graph.nodes[at].op != &parameter_op && graph.nodes[at].op != &constant_op)
        ops.push_back(static_cast<std::int32_t>(at));
    return ops;
  }

  std::int32_t& partner(std::int32_t node) { return partners_[static_cast<std::size_t>(node)]; }

  bool same_value(GraphValue x, GraphValue y) {
    const Node &one = a_.node(x), &other = b_.node(y);
    if (one.op == &constant_op) return other.op == &constant_op && is_same_constant(one.constant, other.constant);
    return partner(x.node) == y.node && x.output == y.output;
  }

  bool same_values(std::span<const GraphValue> x, std::span<const GraphValue> y) {
    return std::ranges::equal(x, y, [&](GraphValue one, GraphValue other) { return same_value(one, other); });
  }

  bool same_node(const Node& x, const Node& y) {
    const bool same_op = x.op == y.op || (x.owner && y.owner && inside_.same(*x.op, *y.op));
    return same_op && same_values(x.inputs, y.inputs) && x.attrs.same_key(y.attrs) &&
           std::ranges::equal(x.attrs.run_time(), y.attrs.run_time()) && x.outputs == y.outputs &&
           x.requested == y.requested && x.cell == y.cell;
  }

  const Graph &a_, &b_;
  const SizesInside& inside_;
  std::vector<std::int32_t> partners_;  // by node of a_: the one of b_
};

}  // namespace

std::optional<Graph> graph_at(const OpenGraph& open, std::span<const std::int64_t> sizes, const SizesInside& inside,
                              std::string& why) {
  const auto all = open.notes.all_sizes(sizes);
  if (!all || !std::ranges::all_of(open.notes.conditions,
                                   [&](const SizeCondition& condition) { return condition.holds(*all); })) {
    why = "a comparison of sizes has another result";
    return std::nullopt;
  }
  try {
    return Instance(open.graph, *all, inside).make();
  } catch (const Misfit& misfit) {
    why = misfit.why;
  } catch (const Error& error) {
    why = error.what();
  }
  return std::nullopt;
}

bool is_same_graph(const Graph& a, const Graph& b, const SizesInside& inside, std::string& why) {
  auto difference = Comparison(a, b, inside).difference();
  if (difference) why = *std::move(difference);
  return !difference;
}

}  // namespace tandem
