// The gradient of a graph as a graph.
#pragma once
#include <limits>
#include <memory>

#include "tandem/autodiff/graph_function.h"

namespace tandem {

/// Takes the parameters of `graph`, then a gradient for each of its floating results; returns a gradient for each
/// floating parameter, zeros where nothing connects them. Computes the results again on the way. Of parameters from
/// `summed_from` on it takes a gradient too, behind the others, and returns the sum.
std::shared_ptr<const GraphFunction> gradient_function(
    const Graph& graph, const std::string& name, std::size_t summed_from = std::numeric_limits<std::size_t>::max());

/// Runs a function made at run time through the dispatcher, so that scopes, tapes and traces see it.
Tensors call_op(const std::shared_ptr<const OpDef>& op, std::span<const Tensor> inputs);

}  // namespace tandem
