// Models drawn as a graph of layers.
//
//   Symbol x = Input({784});
//   Symbol h = Dense(64, "relu")(x);
//   Model model({x}, {Dense(10, "softmax")(h)});
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tandem/nn/layer_graph.h"

namespace tandem {

/// A value of a model that is being drawn: what a layer gives for others. Nothing is computed, but shapes are checked.
class Symbol {
 public:
  struct Use;  // of a layer
  Symbol(std::shared_ptr<const Use> use, std::size_t result) : use_(std::move(use)), result_(result) {}

  DType dtype() const { return spec().dtype; }
  /// The batch axis first; -1 where open.
  const std::vector<std::int64_t>& shape() const { return spec().shape; }
  /// Another result of the same layer, as recurrent layers with return_state have them.
  Symbol result(std::size_t index) const;

  const OpenSpec& spec() const;
  const Use& use() const { return *use_; }
  std::size_t index() const { return result_; }

 private:
  std::shared_ptr<const Use> use_;
  std::size_t result_;
};

struct InputOptions {
  DType dtype = DType::f32;
  std::string name = {};
};
/// A model's input; `shape` is that of one sample, -1 where open.
Symbol Input(std::vector<std::int64_t> shape, InputOptions options = {});

/// The graph between these values. Throws when an output depends on an Input() that is not among the inputs.
LayerGraph graph_between(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs);

}  // namespace tandem
