#include "tandem/autodiff/gradient_graph.h"

#include "tandem/autodiff/tape.h"
#include "tandem/graph/replay.h"
#include "tandem/graph/trace.h"
#include "tandem/op/ops.h"

namespace tandem {

std::shared_ptr<const GraphFunction> gradient_function(const Graph& graph, const std::string& name,
                                                       std::size_t summed_from) {
  for (const Node& node : graph.nodes)
    if (node.op->random)
      fail(ErrorCode::no_gradient, name, " draws random numbers (", node.op->name,
           ") inside; its gradient would draw others. "
           "Draw them outside and pass them in");
  Trace trace;
  GradientTape tape;
  Tensors arguments, sources, targets, target_gradients;
  for (std::int32_t parameter : graph.parameters)
    arguments.push_back(trace.parameter(graph.nodes[static_cast<std::size_t>(parameter)].outputs[0]));
  for (const Tensor& argument : arguments) {
    if (!is_floating(argument.dtype())) continue;
    tape.watch(argument);
    sources.push_back(argument);
  }
  for (const Tensor& result : pick(replay(graph, arguments, Effects::not_again), graph.results)) {
    if (!is_floating(result.dtype())) continue;
    targets.push_back(result);
    target_gradients.push_back(trace.parameter(result.spec()));
  }
  Tensors gradients = tape.gradient(targets, sources, Unconnected::zero, target_gradients);
  std::size_t source = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!is_floating(arguments[i].dtype())) continue;
    if (i >= summed_from) gradients[source] = add(trace.parameter(arguments[i].spec()), gradients[source]);
    ++source;
  }
  return GraphFunction::make(trace.finish(gradients), name + " gradient");
}

Tensors call_op(const std::shared_ptr<const OpDef>& op, std::span<const Tensor> inputs) {
  static const Attrs none{};
  const std::vector<TensorRef> refs(inputs.begin(), inputs.end());
  Tensors outputs(static_cast<std::size_t>(op->outputs));
  OpCall call{.op = *op, .inputs = refs, .attrs = none, .outputs = outputs, .owner = &op};
  DispatchStack::top().run(call);
  return outputs;
}

}  // namespace tandem
