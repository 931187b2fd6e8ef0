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
  Instance(const Graph& open, std::span<const std::int64_t> sizes) : open_(open), sizes_(sizes), all_(open.nodes.size()) {}

  Graph make() {
    for (std::int32_t parameter : open_.parameters) {
      const auto at = static_cast<std::size_t>(parameter);
      all_[at] = {trace_.parameter(spec_at(open_.nodes[at], 0))};
    }
    for (std::size_t at = 0; at < open_.nodes.size(); ++at)
      if (all_[at].empty()) all_[at] = outputs(open_.nodes[at]);
    for (const Graph::Write& write : open_.writes) trace_.write(write.cell, pick(all_, {&write.value, 1})[0]);
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
    const Tensors made = run_node(known, pick(all_, node.inputs));
    for (std::size_t i = 0; i < made.size(); ++i)
      if (const TensorSpec traced = spec_at(node, i); made[i].spec() != traced)
        throw Misfit{text(node.op->name, " gives ", made[i].spec(), ", where the trace has ", traced)};
    return made;
  }

  const Graph& open_;
  const std::span<const std::int64_t> sizes_;
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

bool is_same_node(const Node& a, const Node& b) {
  return a.op == b.op && a.inputs == b.inputs && a.attrs.same_key(b.attrs) && std::ranges::equal(a.attrs.run_time(), b.attrs.run_time()) &&
         a.outputs == b.outputs && a.requested == b.requested && a.cell == b.cell && is_same_constant(a.constant, b.constant);
}

}  // namespace

std::optional<Graph> graph_at(const OpenGraph& open, std::span<const std::int64_t> sizes, std::string& why) {
  for (const SizeCondition& condition : open.conditions)
    if (!condition.holds(sizes)) {
      why = "a comparison of sizes has another result";
      return std::nullopt;
    }
  try {
    return Instance(open.graph, sizes).make();
  } catch (const Misfit& misfit) {
    why = misfit.why;
  } catch (const Error& error) {
    why = error.what();
  }
  return std::nullopt;
}

bool is_same_graph(const Graph& a, const Graph& b, std::string& why) {
  const auto same_write = [](const Graph::Write& x, const Graph::Write& y) { return x.cell == y.cell && x.value == y.value; };
  if (a.nodes.size() != b.nodes.size() || a.parameters != b.parameters || a.results != b.results || !std::ranges::equal(a.writes, b.writes, same_write)) {
    why = "other ops are called";
    return false;
  }
  for (std::size_t i = 0; i < a.nodes.size(); ++i)
    if (!is_same_node(a.nodes[i], b.nodes[i])) {
      why = text(a.nodes[i].op->name, " is another");
      return false;
    }
  return true;
}

}  // namespace tandem
