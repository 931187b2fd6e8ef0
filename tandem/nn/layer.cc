#include "tandem/nn/layer.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tandem {

Tensor Layer::operator()(const Tensor& x, bool training) {
  build(x.shape());
  return call(x, training);
}

void Layer::build(const Shape& input) {
  if (built_) return;
  InitScope now;  // variables outlive the trace in which the layer may be met first
  make_variables(input);
  built_ = true;
}

Variable Layer::add_weight(std::string name, const Tensor& initial, bool trainable) {
  variables_.emplace_back(initial, trainable, name_ + "/" + name);
  return variables_.back();
}

std::vector<Variable> Layer::trainable_variables() const {
  std::vector<Variable> trainable;
  for (const Variable& variable : variables_)
    if (variable.trainable()) trainable.push_back(variable);
  return trainable;
}

std::int64_t Layer::count_params() const {
  std::int64_t count = 0;
  for (const Variable& variable : variables_) count += variable.shape().elements();
  return count;
}

namespace {

struct NamedActivation {
  std::string_view name;
  Activation function;
};
constexpr std::array kActivations{
    NamedActivation{"linear", [](const Tensor& x) { return x; }},
    NamedActivation{"relu", [](const Tensor& x) { return relu(x); }},
    NamedActivation{"sigmoid", [](const Tensor& x) { return sigmoid(x); }},
    NamedActivation{"softmax", [](const Tensor& x) { return softmax(x); }},
    NamedActivation{"tanh", [](const Tensor& x) { return tanh(x); }},
    NamedActivation{"gelu", [](const Tensor& x) { return gelu(x); }},
};

}  // namespace

Activation find_activation(std::string_view name) {
  std::vector<std::string_view> known;
  for (const NamedActivation& activation : kActivations) {
    if (activation.name == (name.empty() ? "linear" : name)) return activation.function;
    known.push_back(activation.name);
  }
  fail(ErrorCode::invalid_argument, "unknown activation '", name, "'; the known ones are ", join(known));
}

Tensor glorot_uniform(const Shape& shape, DType dtype) {
  double field = 1;  // positions of a convolution's window
  for (int i = 0; i < shape.rank() - 2; ++i) field *= static_cast<double>(shape[i]);
  const double limit = std::sqrt(6 / (field * static_cast<double>(shape[-2] + shape[-1])));
  return random_uniform(shape, -limit, limit, dtype);
}

}  // namespace tandem
