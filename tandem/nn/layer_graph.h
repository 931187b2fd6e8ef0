// A graph of layers: which layer reads what. The body of every model, and of a model inside a model.
#pragma once
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tandem/nn/layer.h"

namespace tandem {

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
  };

  /// A graph that passes one input on.
  static LayerGraph identity();

  /// A further input of the graph, which `layer` prepares; null leaves it as it is.
  Value add_input(LayerPtr layer = nullptr);
  /// The first result of `layer` on earlier values.
  Value add(LayerPtr layer, std::vector<Value> inputs);
  void set_outputs(std::vector<Value> outputs) { outputs_ = std::move(outputs); }
  /// The layers in Keras' order, where it is not that of their first use.
  void set_layers(std::vector<LayerPtr> layers) { layers_ = std::move(layers); }

  std::size_t input_count() const { return inputs_.size(); }
  const std::vector<Value>& outputs() const { return outputs_; }
  const std::vector<LayerPtr>& layers() const { return layers_; }
  /// The layer that makes the first output.
  const LayerPtr& last_layer() const { return nodes_[outputs_[0].node].layer; }

  enum class Ending { whole, logits };  // logits: the first output without its softmax
  Tensors run(const Tensors& inputs, bool training, Ending ending = Ending::whole) const;

  /// The layers by the paths under which Keras' files keep them: "layers/dense_1".
  std::vector<std::pair<std::string, LayerPtr>> stored_layers() const;

 private:
  std::vector<Node> nodes_;
  std::vector<std::size_t> inputs_;  // nodes
  std::vector<Value> outputs_;
  std::vector<LayerPtr> layers_;
  std::set<const Layer*> known_;  // those in layers_
};

/// A model used as a layer of another.
class NestedModel final : public Layer {
 public:
  NestedModel(LayerConfig config, LayerGraph graph) : Layer(std::move(config)), graph_(std::move(graph)) {}
  std::vector<std::pair<std::string, LayerPtr>> children() const override { return graph_.stored_layers(); }

 private:
  Tensor call(const Tensor& x, bool training) override { return graph_.run({x}, training)[0]; }
  Tensors call_all(const Tensors& inputs, bool training) override { return graph_.run(inputs, training); }
  LayerGraph graph_;
};

}  // namespace tandem
