// A graph of layers: which layer reads what. The body of every model, and of a model inside a model.
#pragma once
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tandem/nn/layer.h"

namespace tandem {

/// A dtype and a shape in which sizes may be open (-1); the first always is.
struct OpenSpec {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
};

class LayerGraph {
 public:
  /// A value: one of the results of a node.
  struct Value {
    std::size_t node = 0, result = 0;
  };
  /// One use of a layer; a shared layer has several.
  struct Node {
    LayerPtr layer;
    std::vector<Value> inputs;
    std::vector<OpenSpec> results = {};  // where the model was drawn, and so they are known before it runs
    std::vector<std::pair<std::size_t, Value>> masks =
        {};  // given by the model for an input, instead of what that brings; behind the
             // inputs: for all of the layer, such as the attention_mask
  };

  /// A graph that passes one input on.
  static LayerGraph identity();

  /// A further input of the graph, which `layer` prepares; null leaves it as it is.
  Value add_input(LayerPtr layer = nullptr, std::vector<OpenSpec> results = {});
  /// The first result of `layer` on earlier values.
  Value add(LayerPtr layer, std::vector<Value> inputs, std::vector<OpenSpec> results = {});
  void set_mask(const Value& node, std::size_t input, const Value& mask) {
    nodes_[node.node].masks.emplace_back(input, mask);
  }
  void set_outputs(std::vector<Value> outputs) { outputs_ = std::move(outputs); }
  /// A layer of a model whose nodes do not show it, and where Keras' files keep it.
  void track(std::string path, LayerPtr layer);
  /// The layers in Keras' order, where it is not that of their first use.
  void set_layers(std::vector<LayerPtr> layers) { layers_ = std::move(layers); }

  const std::vector<std::string>& tracked() const { return paths_; }
  std::size_t input_count() const { return inputs_.size(); }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<std::size_t>& inputs() const { return inputs_; }
  const std::vector<Value>& outputs() const { return outputs_; }
  const std::vector<LayerPtr>& layers() const { return layers_; }
  /// Of all layers, in their order.
  std::vector<Variable> variables() const;
  std::vector<Variable> trainable_variables() const;
  /// The layer that makes an output; null when that is an input as it came.
  const LayerPtr& layer_of(std::size_t output) const { return nodes_[outputs_[output].node].layer; }
  /// The activation at the end of an output that run() can leave out; empty where others read what comes after it.
  std::string_view last_activation(std::size_t output) const;

  /// `as_logits`: which outputs come without their last activation; empty for none.
  Tensors run(const Tensors& inputs, bool training, const std::vector<bool>& as_logits = {}) const;
  /// The same with masks of the inputs, if there are any; gives those of the outputs.
  struct MaskedOutputs {
    Tensors values, masks;
  };
  MaskedOutputs run_masked(const Tensors& inputs, const Tensors& masks, bool training,
                           const std::vector<bool>& as_logits = {}) const;

  /// The layers by the paths under which Keras' files keep them: "layers/dense_1".
  std::vector<std::pair<std::string, LayerPtr>> stored_layers() const;

 private:
  std::vector<Node> nodes_;
  std::vector<std::size_t> inputs_;  // nodes
  std::vector<Value> outputs_;
  std::vector<LayerPtr> layers_;
  std::vector<std::string> paths_;  // of tracked layers
  std::set<const Layer*> known_;  // those in layers_
};

/// A model used as a layer of another.
class NestedModel final : public Layer {
 public:
  NestedModel(LayerConfig config, LayerGraph graph)
      : Layer(std::move(config), std::nullopt),
        graph_(std::move(graph)) {}
  std::vector<std::pair<std::string, LayerPtr>> children() const override { return graph_.stored_layers(); }
  const LayerGraph& graph() const { return graph_; }

 private:
  Tensor call(const Tensor& x, bool training) override { return graph_.run({x}, training)[0]; }
  Tensors call_all(const Tensors& inputs, bool training) override { return graph_.run(inputs, training); }
  Masked call_masked(const Tensors& inputs, const Tensors& masks, bool training) override {
    auto [values, after] = graph_.run_masked(inputs, masks, training);
    return {std::move(values), after[0]};
  }
  LayerGraph graph_;
};

}  // namespace tandem
