// The gradient of a graph as a graph.
#pragma once
#include <memory>

#include "tandem/autodiff/graph_function.h"

namespace tandem {

/// Takes the parameters of `graph`, then a gradient for each of its floating results; returns a gradient for each
/// floating parameter, zeros where nothing connects them. Computes the results again on the way.
std::shared_ptr<const GraphFunction> gradient_function(const Graph& graph, const std::string& name);

/// Runs a function made at run time through the dispatcher, so that scopes, tapes and traces see it.
Tensors call_op(const std::shared_ptr<const OpDef>& op, std::span<const Tensor> inputs);

}  // namespace tandem
