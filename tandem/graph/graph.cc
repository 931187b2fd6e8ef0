#include "tandem/graph/graph.h"

#include <algorithm>

namespace tandem {

const Attrs NodeAttrs::kNone{};

const OpDef parameter_op{.name = "parameter", .doc = "An argument of the function."};
const OpDef constant_op{.name = "constant", .doc = "A value known when the function was traced."};
const OpDef variable_op{.name = "variable", .doc = "A variable as it is when the function begins."};
const OpDef effects_op{.name = "effects", .doc = "Done for more than its results."};

std::size_t Graph::op_count() const {
  return static_cast<std::size_t>(
      std::count_if(nodes.begin(), nodes.end(), [](const Node& n) { return !is_source(n); }));
}

const OpDef* Graph::effects() const {
  return std::any_of(nodes.begin(), nodes.end(), has_effects) ? &effects_op : nullptr;
}

Cost Graph::work() const {
  Cost sum;
  for (const Node& node : nodes) {
    if (is_source(node) || node.op->view) continue;
    std::vector<const TensorSpec*> specs;
    for (GraphValue input : node.inputs) specs.push_back(&spec(input));
    const Cost one = cost(*node.op, specs, node.attrs, node.outputs);
    sum.flops += one.flops;
    sum.bytes += one.bytes;
  }
  return sum;
}

namespace {

void verify_value(const Graph& graph, GraphValue value, std::size_t before, std::string_view user) {
  TANDEM_CHECK(value.node >= 0 && static_cast<std::size_t>(value.node) < before, user, " reads node ", value.node,
               ", which does not stand before it");
  TANDEM_CHECK(value.output >= 0 && static_cast<std::size_t>(value.output) < graph.node(value).outputs.size(), user,
               " reads output ", value.output, " of ", graph.node(value).op->name);
}

void verify_node(const Graph& graph, std::size_t at, std::vector<const TensorSpec*>& specs) {
  const Node& node = graph.nodes[at];
  specs.clear();
  for (GraphValue input : node.inputs) {
    verify_value(graph, input, at, node.op->name);
    specs.push_back(&graph.spec(input));
  }
  if (is_source(node)) {
    TANDEM_CHECK(node.op != &constant_op || node.constant.defined(), "a constant without a value");
    TANDEM_CHECK(node.op != &variable_op || node.cell, "a variable without its cell");
    return;
  }
  TANDEM_CHECK(infer(*node.op, specs, node.attrs) == node.outputs, "the shape rule of ", node.op->name,
               " gives other outputs than node ", at, " has");
}

}  // namespace

void verify(const Graph& graph) {
  std::vector<const TensorSpec*> specs;
  for (std::size_t at = 0; at < graph.nodes.size(); ++at) verify_node(graph, at, specs);
  for (std::int32_t parameter : graph.parameters)
    TANDEM_CHECK(graph.nodes.at(static_cast<std::size_t>(parameter)).op == &parameter_op, "node ", parameter,
                 " is called a parameter");
  for (GraphValue result : graph.results) verify_value(graph, result, graph.nodes.size(), "the result");
  for (const Graph::Write& write : graph.writes) {
    verify_value(graph, write.value, graph.nodes.size(), write.cell->name());
    TANDEM_CHECK(graph.spec(write.value) == write.cell->spec(), "variable ", write.cell->name(), " would be given ",
                 graph.spec(write.value));
  }
}

}  // namespace tandem
