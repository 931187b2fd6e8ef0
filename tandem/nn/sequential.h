// A stack of layers that learns.
//
//   Sequential model({Dense(64, "relu"), Dense(10, "softmax")});
//   model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
//   History history = model.fit(x, y, {.batch_size = 32, .epochs = 5});
#pragma once
#include "tandem/nn/layers.h"
#include "tandem/nn/model.h"

namespace tandem {

class Sequential final : public Model {
 public:
  explicit Sequential(std::vector<LayerPtr> layers = {}, std::string name = "sequential")
      : Model(LayerGraph::identity(), std::move(name)) {
    for (LayerPtr& layer : layers) add(std::move(layer));
  }
  void add(LayerPtr layer) { append(std::move(layer)); }
};

}  // namespace tandem
