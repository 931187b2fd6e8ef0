#include "tandem/graph/replay.h"

#include "tandem/graph/trace.h"

namespace tandem {

Tensors run_node(const Node& node, std::span<const Tensor> inputs) {
  const std::vector<TensorRef> refs(inputs.begin(), inputs.end());
  Tensors outputs(node.outputs.size());
  OpCall call{.op = *node.op,
              .inputs = refs,
              .attrs = node.attrs,
              .outputs = outputs,
              .requested = node.requested ? &*node.requested : nullptr,
              .owner = node.owner ? &node.owner : nullptr};
  DispatchStack::top().run(call);
  return outputs;
}

std::vector<Tensors> replay(const Graph& graph, std::span<const Tensor> arguments, Effects effects) {
  TANDEM_CHECK(arguments.size() == graph.parameters.size(), "a graph of ", graph.parameters.size(),
               " parameters, given ", arguments.size());
  std::vector<Tensors> all(graph.nodes.size());
  for (std::size_t i = 0; i < arguments.size(); ++i)
    all[static_cast<std::size_t>(graph.parameters[i])] = {arguments[i]};
  for (std::size_t at = 0; at < graph.nodes.size(); ++at) {
    const Node& node = graph.nodes[at];
    if (node.op == &parameter_op) continue;
    if (effects == Effects::not_again && has_effects(node) && node.outputs.empty()) continue;
    if (node.op == &constant_op) {
      all[at] = {node.constant};
    } else if (node.op == &variable_op) {
      all[at] = {Trace::current() ? Trace::current()->read(node.cell) : node.cell->read()};
    } else {
      all[at] = run_node(node, pick(all, node.inputs));
    }
  }
  return all;
}

Tensors pick(const std::vector<Tensors>& all, std::span<const GraphValue> values) {
  Tensors picked;
  for (GraphValue value : values)
    picked.push_back(all[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)]);
  return picked;
}

}  // namespace tandem
