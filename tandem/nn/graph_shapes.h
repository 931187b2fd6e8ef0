// The shapes of values inside a graph of layers, found without computing.
#pragma once
#include <string>
#include <vector>

#include "tandem/nn/layer_graph.h"

namespace tandem {

/// What a layer gives for such inputs, found by sending symbolic tensors through it; this builds it.
std::vector<OpenSpec> results_of(Layer& layer, const std::vector<OpenSpec>& inputs);

/// The results of every node; empty where a layer was never built.
std::vector<std::vector<OpenSpec>> shapes_in(const LayerGraph& graph);

/// A name for each of graph.layers(), made unique as Keras does: "dense", "dense_1".
std::vector<std::string> unique_names(const LayerGraph& graph);

}  // namespace tandem
