// Runs the nodes of a graph one by one through the dispatcher: inside a trace that copies them, under a tape it makes
// them differentiable.
#pragma once
#include "tandem/graph/graph.h"
#include "tandem/op/dispatcher.h"

namespace tandem {

/// Whether nodes that only have effects run: what is computed again for a gradient should not print again.
enum class Effects { again, not_again };

/// Every value of the graph, given its arguments (one a parameter); by node, then output. Variables are read as they
/// are now; what the graph writes to variables is left to the caller.
std::vector<Tensors> replay(const Graph& graph, std::span<const Tensor> arguments, Effects effects = Effects::again);

/// The tensors that stand for `values` after a replay.
Tensors pick(const std::vector<Tensors>& all, std::span<const GraphValue> values);

/// Runs one op, made at run time or not.
Tensors run_node(const Node& node, std::span<const Tensor> inputs);

}  // namespace tandem
