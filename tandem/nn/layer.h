// A layer: what a model is made of. Those of Keras are in layers.h.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/autodiff/variable.h"
#include "tandem/nn/layer_config.h"
#include "tandem/op/ops.h"

namespace tandem {

class Layer;
using LayerPtr = std::shared_ptr<Layer>;

/// Built at the first call, from the shape of what it is given; variables live on from then. A layer of one's own defines
/// `call` and, if it has variables, `make_variables`; to be loaded from files it takes its arguments from a LayerConfig.
class Layer {
 public:
  explicit Layer(std::string name) : Layer(LayerConfig("", std::move(name))) {}
  explicit Layer(LayerConfig config) : config_(std::move(config)), name_(config_.name()) {}
  virtual ~Layer() = default;

  Tensor operator()(const Tensor& x, bool training = false);
  /// For layers of several inputs or outputs.
  Tensors operator()(const Tensors& inputs, bool training = false);
  /// Makes the variables for inputs of this shape, batch axis included; once.
  void build(const Shape& input);
  bool built() const { return built_; }
  /// True while values were given whose variables are not made yet.
  bool waits_for_input() const { return !built_ && !given_.empty(); }
  /// The input's shape that the variables were made for.
  const Shape& built_for() const { return built_for_; }
  /// Without the activation at the end, if that is `softmax`: what losses from logits read.
  virtual bool ends_with_softmax() const { return false; }
  virtual Tensor logits(const Tensor& x, bool training) { return call(x, training); }

  const std::string& name() const { return name_; }
  const LayerConfig& config() const { return config_; }
  /// Its own, then those of the layers inside it.
  std::vector<Variable> variables() const;
  std::vector<Variable> trainable_variables() const;
  std::int64_t count_params() const;

  /// The layers inside it and where Keras' files keep them: "forward_layer".
  virtual std::vector<std::pair<std::string, LayerPtr>> children() const { return {}; }
  const std::vector<Variable>& own_variables() const { return variables_; }
  /// Where Keras' files keep its own variables.
  virtual std::string variables_path() const { return "vars"; }
  /// Gives its own variables these values, now or when they are made. Throws when number or shapes differ; then
  /// nothing has changed.
  void set_weights(Tensors values);

 protected:
  virtual void make_variables(const Shape&) {}
  virtual Tensor call(const Tensor& x, bool training) = 0;
  virtual Tensors call_all(const Tensors& inputs, bool training);
  /// Makes a variable. The initial value is asked for only when set_weights has given none.
  Variable add_weight(std::string name, const Shape& shape, const std::function<Tensor(const Shape&)>& initial, bool trainable = true);

 private:
  LayerConfig config_;
  std::string name_;
  std::vector<Variable> variables_;
  Tensors given_;  // by set_weights before the variables were made
  bool has_given_ = false;
  bool built_ = false;
  Shape built_for_;
};

/// "relu", "sigmoid", "softmax" and Keras' others; "linear" and "" for none. Throws for unknown ones, naming the known.
using Activation = Tensor (*)(const Tensor&);
Activation find_activation(std::string_view name);

/// Keras' initializers for a kernel whose last two axes are inputs and outputs, and for recurrent ones.
Tensor glorot_uniform(const Shape& shape, DType dtype = DType::f32);

}  // namespace tandem
