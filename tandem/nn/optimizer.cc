#include "tandem/nn/optimizer.h"

#include "tandem/op/dispatcher.h"
#include "tandem/op/ops.h"
#include "tandem/op/training.h"

namespace tandem {
namespace {

const Attrs kNoAttrs{};

Tensor in_dtype(const Tensor& value, DType dtype) { return value.dtype() == dtype ? value : cast(value, dtype); }

}  // namespace

Optimizer::Optimizer(double learning_rate, int slots)
    : learning_rate_(Tensor::scalar(learning_rate, DType::f64), false, "learning_rate"),
      iterations_(Tensor::scalar(std::int64_t{0}, DType::i64), false, "iteration"),
      slot_count_(slots) {}

void Optimizer::apply_gradients(const std::vector<Variable>& variables, const Tensors& gradients) {
  if (variables.size() != gradients.size())
    fail(ErrorCode::wrong_arity, "apply_gradients: ", variables.size(), " variables but ", gradients.size(), " gradients");
  static const Tensor one = Tensor::scalar(std::int64_t{1}, DType::i64);
  {
    DeviceScope host("/CPU:0");  // a counter: one value, needed on the host
    iterations_.assign_add(one);
  }
  begin_step();
  for (std::size_t i = 0; i < variables.size(); ++i)
    if (gradients[i].defined()) update(variables[i], gradients[i]);
}

void Optimizer::build(const std::vector<Variable>& variables) {
  for (const Variable& variable : variables) slots_of(variable);
}

const std::vector<Variable>& Optimizer::slots_of(const Variable& variable) {
  std::vector<Variable>& slots = slots_[variable.id()];
  if (static_cast<int>(slots.size()) == slot_count_) return slots;
  InitScope now;  // the state outlives the trace that asks for it first
  for (int i = 0; i < slot_count_; ++i)
    slots.emplace_back(zeros(variable.shape(), variable.dtype()), false, text(variable.name(), "/slot", i));
  return slots;
}

Tensors Optimizer::state(const std::vector<Variable>& variables) {
  Tensors out{iterations_.value(), in_dtype(learning_rate_.value(), DType::f32)};
  for (const Variable& variable : variables)
    for (const Variable& slot : slots_of(variable)) out.push_back(slot.value());
  return out;
}

void Optimizer::set_state(const std::vector<Variable>& variables, const Tensors& state) {
  std::vector<Variable> targets{iterations_, learning_rate_};
  for (const Variable& variable : variables)
    for (const Variable& slot : slots_of(variable)) targets.push_back(slot);
  if (targets.size() != state.size()) fail(ErrorCode::shape_mismatch, "optimizer: the state has ", targets.size(), " values, ", state.size(), " were given");
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (targets[i].shape() != state[i].shape())
      fail(ErrorCode::shape_mismatch, "optimizer: '", targets[i].name(), "' has shape ", targets[i].shape(), ", but a value of shape ", state[i].shape(), " was given");
  for (std::size_t i = 0; i < targets.size(); ++i) targets[i].assign(in_dtype(state[i], targets[i].dtype()));
}

const Tensor& Optimizer::number(double value, DType dtype) {
  Tensor& tensor = numbers_[{value, dtype}];
  if (!tensor.defined()) tensor = Tensor::scalar(value, dtype);
  return tensor;
}

Tensor Optimizer::rate(DType dtype) const {
  DeviceScope host("/CPU:0");
  return in_dtype(learning_rate_, dtype);
}
Tensor Optimizer::step(DType dtype) const { return cast(iterations_, dtype); }

void Optimizer::run(const OpDef& op, const Variable& variable, const std::vector<Tensor>& rest) {
  const std::vector<Variable>& slots = slots_of(variable);
  // The slots' new values, once the op has run: each is taken out of its cell so that the op may work in place.
  variable.update([&](const Tensor& value) {
    Tensors results;
    const auto run_op = [&](auto& self, std::size_t k, std::vector<TensorRef> inputs) -> void {
      if (k == slots.size()) {
        for (const Tensor& tensor : rest) inputs.emplace_back(tensor);
        results = apply_all(op, inputs, kNoAttrs, (2u << slots.size()) - 1);
        return;
      }
      slots[k].update([&](const Tensor& slot) {
        auto more = inputs;
        more.emplace_back(slot);
        self(self, k + 1, std::move(more));
        return results[k + 1];
      });
    };
    run_op(run_op, 0, {value});
    return results[0];
  });
}

Sgd::Sgd(SgdOptions options) : Optimizer(options.learning_rate, options.momentum == 0 ? 0 : 1), momentum_(options.momentum) {}

void Sgd::update(const Variable& variable, const Tensor& gradient) {
  const DType dtype = variable.dtype();
  if (momentum_ == 0) run(apply_sgd_op, variable, {gradient, rate(dtype)});
  else run(apply_momentum_op, variable, {gradient, rate(dtype), number(momentum_, dtype)});
}

Adam::Adam(AdamOptions options) : Optimizer(options.learning_rate, 2), options_(options) {}

std::map<std::string, double> Adam::arguments() const {
  return {{"learning_rate", learning_rate()}, {"beta_1", options_.beta_1}, {"beta_2", options_.beta_2}, {"epsilon", options_.epsilon}};
}

const Tensor& Adam::corrected_rate(DType dtype) {
  Tensor& corrected = corrected_[dtype];
  if (corrected.defined()) return corrected;
  DeviceScope host("/CPU:0");
  // In f64: 1 - beta_2^t loses half its digits in f32 during the first steps.
  const Tensor t = step(DType::f64);
  const auto left = [&](double beta) { return number(1, DType::f64) - pow(number(beta, DType::f64), t); };
  return corrected = in_dtype(rate(DType::f64) * sqrt(left(options_.beta_2)) / left(options_.beta_1), dtype);
}

void Adam::update(const Variable& variable, const Tensor& gradient) {
  const DType dtype = variable.dtype();
  run(apply_adam_op, variable,
      {gradient, corrected_rate(dtype), number(options_.beta_1, dtype), number(options_.beta_2, dtype), number(options_.epsilon, dtype)});
}

std::shared_ptr<Optimizer> make_optimizer(std::string_view name) {
  if (name == "sgd") return std::make_shared<Sgd>();
  if (name == "adam") return std::make_shared<Adam>();
  fail(ErrorCode::invalid_argument, "unknown optimizer '", name, "'; the known ones are 'sgd' and 'adam'");
}

}  // namespace tandem
