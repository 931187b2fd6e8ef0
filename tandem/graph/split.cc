#include "tandem/graph/split.h"

#include <map>

#include "tandem/op/records.h"

namespace tandem {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// A slice or a concat along the rows, told apart from those of the program: no other op is `like` those.
struct RowsOp final : OpDef {
  explicit RowsOp(RowShare taken) : OpDef(slice_op), share(taken) { like = &slice_op; }
  RowShare share;
};
struct JoinOp final : OpDef {
  JoinOp() : OpDef(concat_op) { like = &concat_op; }
};

class Splitter {
 public:
  Splitter(const Graph& graph, const RowRegion& region, std::span<const std::int64_t> parts)
      : graph_(graph),
        rows_(region.rows),
        inside_(graph.nodes.size()),
        moved_(graph.nodes.size(), -1),
        parts_of_(graph.nodes.size()) {
    for (std::int32_t node : region.nodes) inside_[at(node)] = 1;
    std::int64_t first = 0;
    for (std::int64_t count : parts) {
      shares_.push_back({first, count, rows_});
      first += count;
    }
    TANDEM_CHECK(first == rows_, "parts of ", rows_, " rows add up to ", first);
  }

  Graph run() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (inside_[n]) split(static_cast<std::int32_t>(n));
      else copy(static_cast<std::int32_t>(n));
    }
    for (std::int32_t parameter : graph_.parameters) out_.parameters.push_back(whole({parameter, 0}).node);
    for (GraphValue result : graph_.results) out_.results.push_back(whole(result));
    for (const Graph::Write& write : graph_.writes) out_.writes.push_back({write.cell, whole(write.value)});
    return std::move(out_);
  }

 private:
  void copy(std::int32_t n) {
    Node node = graph_.nodes[at(n)];
    for (GraphValue& input : node.inputs) input = whole(input);
    moved_[at(n)] = out_.add(std::move(node)).node;
  }

  void split(std::int32_t n) {
    const Node& node = graph_.nodes[at(n)];
    const RowInputs by_rows = *row_inputs(graph_, node, rows_);
    for (std::size_t p = 0; p < shares_.size(); ++p) {
      Node part = node;
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        part.inputs[i] = by_rows[i] ? rows(node.inputs[i], p) : whole(node.inputs[i]);
      for (TensorSpec& spec : part.outputs) spec = with_rows(spec, shares_[p].count);
      if (node.op->name == "reshape") part.attrs = make_attrs(*node.op, part.outputs[0].shape());
      parts_of_[at(n)].push_back(out_.add(std::move(part)).node);
    }
  }

  static TensorSpec with_rows(const TensorSpec& spec, std::int64_t rows) {
    std::vector<std::int64_t> sizes(spec.shape().sizes().begin(), spec.shape().sizes().end());
    sizes[0] = rows;
    return {spec.dtype(), Shape(sizes)};
  }

  /// A part of a value's rows: made by the region, or cut out of what others made.
  GraphValue rows(GraphValue value, std::size_t p) {
    if (inside_[at(value.node)]) return {parts_of_[at(value.node)][p], value.output};
    auto& cut = cuts_[value];
    if (cut.empty()) cut.resize(shares_.size());
    if (cut[p].node >= 0) return cut[p];
    const TensorSpec& spec = graph_.spec(value);
    const auto op = std::make_shared<RowsOp>(shares_[p]);
    const TensorSpec made = with_rows(spec, shares_[p].count);
    std::vector<std::int64_t> begin(at(spec.shape().rank()));
    begin[0] = shares_[p].first;
    const GraphValue source = whole(value);
    return cut[p] = out_.add({.op = op.get(),
                              .inputs = {source},
                              .attrs = make_attrs(*op, begin, made.shape()),
                              .outputs = {made},
                              .owner = op});
  }

  /// All of a value, in the new graph.
  GraphValue whole(GraphValue value) {
    if (!inside_[at(value.node)]) return {moved_[at(value.node)], value.output};
    const auto [found, fresh] = joined_.try_emplace(value);
    if (fresh) {
      static const auto op = std::make_shared<JoinOp>();
      std::vector<GraphValue> parts;
      for (std::int32_t part : parts_of_[at(value.node)]) parts.push_back({part, value.output});
      found->second = out_.add(
          {.op = op.get(), .inputs = parts, .attrs = make_attrs(*op, 0), .outputs = {graph_.spec(value)}, .owner = op});
    }
    return found->second;
  }

  const Graph& graph_;
  const std::int64_t rows_;
  std::vector<RowShare> shares_;
  std::vector<char> inside_;
  std::vector<std::int32_t> moved_;                  // by old node outside
  std::vector<std::vector<std::int32_t>> parts_of_;  // by old node inside
  std::map<GraphValue, GraphValue> joined_;
  std::map<GraphValue, std::vector<GraphValue>> cuts_;
  Graph out_;
};

}  // namespace

Graph split_rows(const Graph& graph, const RowRegion& region, std::span<const std::int64_t> parts) {
  return Splitter(graph, region, parts).run();
}

const RowShare* rows_taken(const Node& node) {
  return node.op->like == &slice_op ? &static_cast<const RowsOp&>(*node.op).share : nullptr;
}

std::size_t offset_of_rows(const Graph& graph, const Node& node) {
  const RowShare* rows = rows_taken(node);
  return rows ? graph.spec(node.inputs[0]).bytes() / at(rows->of) * at(rows->first) : 0;
}

bool joins_rows(const Node& node) { return node.op->like == &concat_op; }

std::vector<std::optional<RowShare>> row_shares(const Graph& graph) {
  std::vector<std::optional<RowShare>> shares(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (joins_rows(node)) continue;
    if (const RowShare* rows = rows_taken(node)) {
      shares[n] = *rows;
      continue;
    }
    for (GraphValue input : node.inputs)
      if (!shares[n]) shares[n] = shares[at(input.node)];
  }
  return shares;
}

}  // namespace tandem
