#include "tandem/graph/rows.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "tandem/op/array_records.h"
#include "tandem/op/network_records.h"
#include "tandem/op/records.h"

namespace tandem {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

bool has_rows(const TensorSpec& spec, std::int64_t rows) { return spec.shape().rank() > 0 && spec.shape()[0] == rows; }

/// Operands are lined up with the result from the last axis on; one without its first axis, or with one row, is read
/// whole.
RowInputs lined_up(const Graph& graph, const Node& node, std::int64_t rows) {
  RowInputs inputs;
  for (GraphValue input : node.inputs)
    inputs.push_back(graph.spec(input).shape().rank() == node.outputs[0].shape().rank() &&
                     has_rows(graph.spec(input), rows));
  return inputs;
}

RowInputs first_only(const Node& node) {
  RowInputs inputs(node.inputs.size());
  inputs[0] = 1;
  return inputs;
}

bool is_one_of(const Node& node, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, node.op->name) != names.end();
}

bool is_first_axis(std::int64_t axis, int rank) { return axis == 0 || axis == -rank; }

/// Of ops that read one operand along axes that their attributes name.
bool mixes_rows(const Node& node, int rank) {
  const AttrView attrs(*node.op, node.attrs);
  if (node.op == &softmax_op || node.op == &log_softmax_op) return is_first_axis(attrs.integer("axis"), rank);
  if (node.op == &transpose_op) return attrs.ints("perm").empty() || attrs.ints("perm")[0] != 0;
  if (node.op != &reduce_sum_op && node.op != &reduce_mean_op && node.op != &reduce_max_op && node.op != &reduce_min_op)
    return true;
  const auto axes = attrs.ints("axis");
  return axes.empty() || std::ranges::any_of(axes, [&](std::int64_t axis) { return is_first_axis(axis, rank); });
}

/// The rows that a node keeps apart; 0: it does not.
std::int64_t rows_of(const Graph& graph, const Node& node) {
  if (is_source(node) || node.owner || node.requested || has_effects(node) || node.op->random || node.op->execute)
    return 0;
  if (node.inputs.empty() || node.outputs.empty() || node.outputs[0].shape().rank() == 0) return 0;
  const std::int64_t rows = node.outputs[0].shape()[0];
  if (rows < 2 || !std::ranges::all_of(node.outputs, [&](const TensorSpec& spec) { return has_rows(spec, rows); }))
    return 0;
  const auto inputs = row_inputs(graph, node, rows);
  return inputs && std::ranges::count(*inputs, 1) > 0 ? rows : 0;
}

/// Sets that grow together.
class Sets {
 public:
  explicit Sets(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }
  std::int32_t find(std::int32_t item) {
    while (parent_[at(item)] != item) item = parent_[at(item)] = parent_[at(parent_[at(item)])];
    return item;
  }
  void join(std::int32_t a, std::int32_t b) { parent_[at(find(b))] = find(a); }

 private:
  std::vector<std::int32_t> parent_;
};

}  // namespace

std::optional<RowInputs> row_inputs(const Graph& graph, const Node& node, std::int64_t rows) {
  if (node.op->scalar) return lined_up(graph, node, rows);
  const TensorSpec& first = graph.spec(node.inputs[0]);
  if (node.op == &matmul_op && node.outputs[0].shape().rank() > 2) return lined_up(graph, node, rows);
  if (!has_rows(first, rows)) return std::nullopt;
  if (node.op == &dot_product_attention_op) return lined_up(graph, node, rows);
  if (node.op == &sparse_softmax_cross_entropy_op || node.op == &softmax_cross_entropy_op)
    return RowInputs(node.inputs.size(), 1);
  if (is_one_of(node, {"softmax_grad", "log_softmax_grad"}))
    return is_first_axis(AttrView(*node.op, node.attrs).integer("axis"), first.shape().rank())
               ? std::nullopt
               : std::optional(RowInputs(2, 1));
  if (is_one_of(node, {"bias_add", "conv2d", "max_pool2d", "avg_pool2d", "layer_normalization", "identity",
                       "stop_gradient", "reshape"}))
    return first_only(node);
  const bool apart = node.op == &matmul_op ? !AttrView(*node.op, node.attrs).boolean("transpose_a")
                                           : !mixes_rows(node, first.shape().rank());
  return apart ? std::optional(first_only(node)) : std::nullopt;
}

std::vector<RowRegion> row_regions(const Graph& graph) {
  std::vector<std::int64_t> rows(graph.nodes.size());
  Sets sets(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    rows[n] = rows_of(graph, node);
    if (rows[n] == 0) continue;
    const RowInputs by_rows = *row_inputs(graph, node, rows[n]);
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (by_rows[i] && rows[at(node.inputs[i].node)] == rows[n])
        sets.join(node.inputs[i].node, static_cast<std::int32_t>(n));
  }
  std::map<std::int32_t, RowRegion> regions;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (rows[n] == 0) continue;
    RowRegion& region = regions[sets.find(static_cast<std::int32_t>(n))];
    region.rows = rows[n];
    region.nodes.push_back(static_cast<std::int32_t>(n));
  }
  std::vector<RowRegion> list;
  for (auto& [root, region] : regions) list.push_back(std::move(region));
  return list;
}

}  // namespace tandem
