// Where Keras' .weights.h5 files keep the variables of layers.
#pragma once
#include <string>

#include "tandem/files/hdf5.h"
#include "tandem/nn/layer_graph.h"

namespace tandem {

/// The group of a graph: "layers/dense/vars/0", ….
Hdf5Object weights_of(const LayerGraph& graph, const std::string& name);
/// Gives the layers their values, at once or when they are built. All is checked first: when it throws, nothing has
/// changed. `file` stands in errors.
void give_weights(const LayerGraph& graph, const Hdf5Object& root, const std::string& file);

}  // namespace tandem
