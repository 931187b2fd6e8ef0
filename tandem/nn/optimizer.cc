#include "tandem/nn/optimizer.h"

#include <cmath>

#include "tandem/op/dispatcher.h"
#include "tandem/op/ops.h"
#include "tandem/op/training.h"

namespace tandem {
namespace {

const Attrs kNoAttrs{};

}  // namespace

void Optimizer::apply_gradients(const std::vector<Variable>& variables, const Tensors& gradients) {
  if (variables.size() != gradients.size())
    fail(ErrorCode::wrong_arity, "apply_gradients: ", variables.size(), " variables but ", gradients.size(), " gradients");
  begin_step();
  ++iterations_;
  for (std::size_t i = 0; i < variables.size(); ++i)
    if (gradients[i].defined()) update(variables[i], gradients[i]);
}

Sgd::Sgd(SgdOptions options) : Optimizer(options.learning_rate), momentum_(options.momentum) {}

void Sgd::update(const Variable& variable, const Tensor& gradient) {
  const Tensor rate = Tensor::scalar(learning_rate_, variable.dtype());
  if (momentum_ == 0) {
    variable.update([&](const Tensor& value) {
      return apply_all(apply_sgd_op, std::array<TensorRef, 3>{value, gradient, rate}, kNoAttrs, 0b1)[0];
    });
    return;
  }
  Tensor& velocity = velocity_[variable.id()];
  if (!velocity.defined()) velocity = zeros(variable.shape(), variable.dtype());
  const Tensor momentum = Tensor::scalar(momentum_, variable.dtype());
  variable.update([&](const Tensor& value) {
    Tensors results = apply_all(apply_momentum_op, std::array<TensorRef, 5>{value, velocity, gradient, rate, momentum}, kNoAttrs, 0b11);
    velocity = results[1];
    return results[0];
  });
}

Adam::Adam(AdamOptions options) : Optimizer(options.learning_rate), options_(options) {}

const Adam::Scalars& Adam::scalars(DType dtype) {
  Scalars& s = scalars_[static_cast<int>(dtype)];
  if (s.step == iterations_) return s;
  if (s.step < 0) {
    s.beta_1 = Tensor::scalar(options_.beta_1, dtype);
    s.beta_2 = Tensor::scalar(options_.beta_2, dtype);
    s.epsilon = Tensor::scalar(options_.epsilon, dtype);
  }
  const auto t = static_cast<double>(iterations_);
  s.rate = Tensor::scalar(
      learning_rate_ * std::sqrt(1 - std::pow(options_.beta_2, t)) / (1 - std::pow(options_.beta_1, t)), dtype);
  s.step = iterations_;
  return s;
}

void Adam::update(const Variable& variable, const Tensor& gradient) {
  const Scalars& s = scalars(variable.dtype());
  Slots& slots = slots_[variable.id()];
  if (!slots.m.defined()) slots = {zeros(variable.shape(), variable.dtype()), zeros(variable.shape(), variable.dtype())};
  variable.update([&](const Tensor& value) {
    const std::array<TensorRef, 8> inputs{value, slots.m, slots.v, gradient, s.rate, s.beta_1, s.beta_2, s.epsilon};
    Tensors results = apply_all(apply_adam_op, inputs, kNoAttrs, 0b111);
    slots = {results[1], results[2]};
    return results[0];
  });
}

}  // namespace tandem
