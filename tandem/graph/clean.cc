// Passes that drop and merge nodes: dead code, common subexpressions, constants.
#include <cstring>
#include <unordered_map>

#include "tandem/base/hash.h"
#include "tandem/graph/rewrite.h"
#include "tandem/op/dispatcher.h"

namespace tandem {
namespace {

/// Larger results are cheaper to compute in each run than to keep.
constexpr std::size_t kMostFoldedBytes = 1 << 20;

bool repeatable(const Node& node) { return !node.op->random && !node.op->execute && !is_source(node); }

std::uint64_t hash_of(const Node& node) {
  std::uint64_t hash = mix(reinterpret_cast<std::uintptr_t>(node.op), node.attrs.hash());
  for (std::int64_t word : node.attrs.run_time()) hash = mix(hash, static_cast<std::uint64_t>(word));
  for (GraphValue input : node.inputs)
    hash = mix(hash, static_cast<std::uint64_t>(input.node) << 8 | static_cast<std::uint64_t>(input.output));
  return hash;
}

bool same_words(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

bool same(const Node& a, const Node& b) {
  return a.op == b.op && a.inputs == b.inputs && a.attrs.same_key(b.attrs) &&
         same_words(a.attrs.run_time(), b.attrs.run_time()) && a.requested == b.requested;
}

/// Scalars are compared by value: each use of a number in a program makes a tensor of its own. One that was reckoned
/// from sizes is equal to others by chance.
bool same_constant(const Tensor& a, const Tensor& b) {
  if (a.spec() != b.spec() || a.impl()->of_sizes != b.impl()->of_sizes) return false;
  if (a.impl()->storage == b.impl()->storage) return true;
  return a.size() == 1 && a.dtype() != DType::string && std::memcmp(a.raw_data(), b.raw_data(), a.spec().bytes()) == 0;
}

std::uint64_t hash_of_constant(const Tensor& constant) {
  std::uint64_t hash = constant.spec().hash();
  if (constant.size() != 1 || constant.dtype() == DType::string)
    return mix(hash, reinterpret_cast<std::uintptr_t>(constant.impl()->storage.get()));
  std::uint64_t bits = 0;
  std::memcpy(&bits, constant.raw_data(), constant.spec().bytes());
  return mix(hash, bits);
}

}  // namespace

void remove_dead(Graph& graph) {
  std::vector<bool> needed(graph.nodes.size());
  const auto need = [&](GraphValue value) { needed[static_cast<std::size_t>(value.node)] = true; };
  for (GraphValue result : graph.results) need(result);
  for (const Graph::Write& write : graph.writes) need(write.value);
  for (std::int32_t parameter : graph.parameters) need({parameter, 0});
  for (std::size_t at = graph.nodes.size(); at-- > 0;)
    if (needed[at] = needed[at] || has_effects(graph.nodes[at]); needed[at])
      for (GraphValue input : graph.nodes[at].inputs) need(input);
  Graph out;
  out.nodes.reserve(graph.nodes.size());
  std::vector<std::int32_t> moved(graph.nodes.size(), -1);
  const auto now = [&](GraphValue value) {
    return GraphValue{moved[static_cast<std::size_t>(value.node)], value.output};
  };
  for (std::size_t at = 0; at < graph.nodes.size(); ++at) {
    if (!needed[at]) continue;
    for (GraphValue& input : graph.nodes[at].inputs) input = now(input);
    moved[at] = out.add(std::move(graph.nodes[at])).node;
  }
  for (std::int32_t parameter : graph.parameters) out.parameters.push_back(moved[static_cast<std::size_t>(parameter)]);
  for (GraphValue result : graph.results) out.results.push_back(now(result));
  for (Graph::Write& write : graph.writes) out.writes.push_back({std::move(write.cell), now(write.value)});
  graph = std::move(out);
}

void merge_common(Graph& graph) {
  std::unordered_multimap<std::uint64_t, std::int32_t> seen;
  rewrite(graph, [&](Graph& out, const Node& node, std::int32_t) -> Replacement {
    const bool constant = node.op == &constant_op;
    if (!constant && !repeatable(node)) return {};
    const std::uint64_t hash = constant ? hash_of_constant(node.constant) : hash_of(node);
    auto [begin, end] = seen.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      const Node& other = out.nodes[static_cast<std::size_t>(it->second)];
      if (constant ? other.op != &constant_op || !same_constant(other.constant, node.constant) : !same(other, node))
        continue;
      Replacement values;
      for (std::size_t k = 0; k < node.outputs.size(); ++k)
        values.push_back({it->second, static_cast<std::int32_t>(k)});
      return values;
    }
    seen.emplace(hash, static_cast<std::int32_t>(out.nodes.size()));
    return {};
  });
}

void fold_constants(Graph& graph) {
  rewrite(graph, [](Graph& out, const Node& node, std::int32_t) -> Replacement {
    if (!repeatable(node)) return {};
    // A large tensor of one value is better made where it is used.
    if (node.inputs.empty() && node.outputs[0].shape().elements() != 1) return {};
    std::size_t bytes = 0;
    bool of_sizes = false;
    for (const TensorSpec& spec : node.outputs) bytes += spec.bytes();
    if (bytes > kMostFoldedBytes) return {};
    std::vector<TensorRef> inputs;
    for (GraphValue input : node.inputs) {
      if (out.node(input).op != &constant_op) return {};
      inputs.emplace_back(out.node(input).constant);
      of_sizes |= out.node(input).constant.impl()->of_sizes;
    }
    Tensors outputs(node.outputs.size());
    OpCall call{.op = *node.op, .inputs = inputs, .attrs = node.attrs, .outputs = outputs};
    runtime_dispatcher().run(call);
    Replacement values;
    for (const Tensor& output : outputs) {
      output.impl()->of_sizes = of_sizes;
      values.push_back(out.add({.op = &constant_op, .outputs = {output.spec()}, .constant = output}));
    }
    return values;
  });
}

}  // namespace tandem
