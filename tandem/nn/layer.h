// Layers with Keras' names, arguments and defaults: what a model is made of.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tandem/autodiff/variable.h"
#include "tandem/op/ops.h"

namespace tandem {

/// Built at the first call, from the shape of what it is given; variables live on from then.
class Layer {
 public:
  explicit Layer(std::string name) : name_(std::move(name)) {}
  virtual ~Layer() = default;

  Tensor operator()(const Tensor& x, bool training = false);
  /// Makes the variables for inputs of this shape, batch axis included; once.
  void build(const Shape& input);
  /// Without the activation at the end, if that is `softmax`: what losses from logits read.
  virtual bool ends_with_softmax() const { return false; }
  virtual Tensor logits(const Tensor& x, bool training) { return call(x, training); }

  const std::string& name() const { return name_; }
  const std::vector<Variable>& variables() const { return variables_; }
  std::vector<Variable> trainable_variables() const;
  std::int64_t count_params() const;

 protected:
  virtual void make_variables(const Shape&) {}
  virtual Tensor call(const Tensor& x, bool training) = 0;
  Variable add_weight(std::string name, const Tensor& initial, bool trainable = true);

 private:
  std::string name_;
  std::vector<Variable> variables_;
  bool built_ = false;
};
using LayerPtr = std::shared_ptr<Layer>;

/// "relu", "sigmoid", "softmax", "tanh", "gelu", "linear" and "" for none. Throws for others, naming the nearest.
using Activation = Tensor (*)(const Tensor&);
Activation find_activation(std::string_view name);

/// Keras' glorot_uniform for a kernel whose last two axes are inputs and outputs.
Tensor glorot_uniform(const Shape& shape, DType dtype = DType::f32);

// --- Layers, by the names of Keras' classes. ---
struct DenseOptions {
  std::string activation = "";
  bool use_bias = true;
  std::string name = "dense";
};
LayerPtr Dense(std::int64_t units, DenseOptions options = {});
inline LayerPtr Dense(std::int64_t units, const char* activation) { return Dense(units, DenseOptions{.activation = activation}); }

struct Conv2DOptions {
  std::string activation = "";
  Ints strides = {1, 1};
  std::string padding = "valid";
  bool use_bias = true;
  std::string name = "conv2d";
};
LayerPtr Conv2D(std::int64_t filters, Ints kernel_size, Conv2DOptions options = {});
LayerPtr MaxPooling2D(Ints pool_size = {2, 2}, std::string name = "max_pooling2d");
LayerPtr Flatten(std::string name = "flatten");
LayerPtr Dropout(double rate, std::string name = "dropout");
LayerPtr ActivationLayer(std::string activation, std::string name = "activation");

}  // namespace tandem
