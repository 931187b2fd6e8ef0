// From a graph of layers made in C++ to the description that Keras' files have.
#pragma once
#include <string>

#include "tandem/nn/layer_graph.h"
#include "tandem/nn/layer_json.h"

namespace tandem {

/// class_name and config. A graph whose input no layer prepares is a Sequential. Throws when a layer has no class or
/// was never built.
Json describe_model(const LayerGraph& graph, const std::string& name);

}  // namespace tandem
