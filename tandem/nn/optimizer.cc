#include "tandem/nn/optimizer.h"

#include "tandem/nn/layer_json.h"
#include "tandem/op/dispatcher.h"
#include "tandem/op/ops.h"
#include "tandem/op/training.h"

namespace tandem {
namespace {

const Attrs kNoAttrs{};

Tensor in_dtype(const Tensor& value, DType dtype) { return value.dtype() == dtype ? value : cast(value, dtype); }

}  // namespace

Optimizer::Optimizer(const LearningRate& learning_rate, Slots slots, const GradientLimits& limits, double weight_decay)
    : learning_rate_(Tensor::scalar(learning_rate.number(), DType::f64), false, "learning_rate"),
      iterations_(Tensor::scalar(std::int64_t{0}, DType::i64), false, "iteration"),
      schedule_(learning_rate.schedule()),
      slot_counts_(slots),
      limits_(limits),
      weight_decay_(weight_decay) {
  const int clips = (limits.clipnorm > 0) + (limits.global_clipnorm > 0) + (limits.clipvalue > 0);
  if (clips > 1)
    fail(ErrorCode::invalid_argument, "an optimizer takes one of clipnorm, global_clipnorm and clipvalue, got ", limits.clipnorm, ", ", limits.global_clipnorm, " and ", limits.clipvalue);
}

double Optimizer::learning_rate() const {
  if (!schedule_) return learning_rate_.cell()->read().item<double>();
  return schedule_->at(Tensor::scalar(static_cast<double>(iterations()), DType::f64)).item<double>();
}

void Optimizer::set_learning_rate(double rate) {
  if (schedule_) fail(ErrorCode::invalid_argument, "the learning rate comes from a schedule, ", schedule_->class_name(), "; give the optimizer a number to set it");
  learning_rate_.assign(Tensor::scalar(rate, learning_rate_.dtype()));
}

void Optimizer::apply_gradients(const std::vector<Variable>& variables, const Tensors& gradients) {
  if (variables.size() != gradients.size())
    fail(ErrorCode::wrong_arity, "apply_gradients: ", variables.size(), " variables but ", gradients.size(), " gradients");
  static const Tensor one = Tensor::scalar(std::int64_t{1}, DType::i64);
  {
    DeviceScope host("/CPU:0");  // a counter: one value, needed on the host
    iterations_.assign_add(one);
  }
  begin_step();
  const Tensors usable = limited(gradients);
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (!usable[i].defined()) continue;
    if (weight_decay_ > 0 && !decays_by_itself())
      variables[i].assign_sub(variables[i].value() * (rate(variables[i].dtype()) * number(weight_decay_, variables[i].dtype())));
    update(variables[i], usable[i]);
  }
}

Tensors Optimizer::limited(Tensors gradients) const {
  const auto shortened = [](const Tensor& gradient, const Tensor& norm, double most) { return gradient * (most / maximum(norm, most)); };
  Tensor squares;
  for (Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    if (limits_.clipvalue > 0) gradient = maximum(minimum(gradient, limits_.clipvalue), -limits_.clipvalue);
    if (limits_.clipnorm > 0) gradient = shortened(gradient, sqrt(reduce_sum(square(gradient))), limits_.clipnorm);
    if (limits_.global_clipnorm > 0) squares = squares.defined() ? squares + reduce_sum(square(gradient)) : reduce_sum(square(gradient));
  }
  if (!squares.defined()) return gradients;
  const Tensor norm = sqrt(squares);
  for (Tensor& gradient : gradients)
    if (gradient.defined()) gradient = shortened(gradient, norm, limits_.global_clipnorm);
  return gradients;
}

void Optimizer::build(const std::vector<Variable>& variables) {
  for (const Variable& variable : variables) slots_of(variable);
}

const std::vector<Variable>& Optimizer::slots_of(const Variable& variable) {
  std::vector<Variable>& slots = slots_[variable.id()];
  if (static_cast<int>(slots.size()) == slot_counts_.count) return slots;
  InitScope now;  // the state outlives the trace that asks for it first
  for (int i = 0; i < slot_counts_.count; ++i)
    slots.emplace_back(zeros(variable.shape(), variable.dtype()), false, text(variable.name(), "/slot", i));
  return slots;
}

std::vector<Variable> Optimizer::stored(const std::vector<Variable>& variables) {
  std::vector<Variable> all{iterations_};
  if (!schedule_) all.push_back(learning_rate_);
  for (const Variable& variable : variables) {
    const std::vector<Variable>& slots = slots_of(variable);
    all.insert(all.end(), slots.begin(), slots.begin() + slot_counts_.stored);
  }
  return all;
}

Tensors Optimizer::state(const std::vector<Variable>& variables) {
  Tensors out;
  for (const Variable& variable : stored(variables)) out.push_back(variable.dtype() == DType::f64 ? in_dtype(variable.value(), DType::f32) : variable.value());
  return out;
}

void Optimizer::set_state(const std::vector<Variable>& variables, const Tensors& state) {
  std::vector<Variable> targets = stored(variables);
  if (const std::size_t counters = schedule_ ? 1 : 2; state.size() == counters) targets.erase(targets.begin() + static_cast<std::ptrdiff_t>(counters), targets.end());  // saved before the first step
  if (targets.size() != state.size()) fail(ErrorCode::shape_mismatch, "optimizer: the state has ", targets.size(), " values, ", state.size(), " were given");
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (targets[i].shape() != state[i].shape())
      fail(ErrorCode::shape_mismatch, "optimizer: '", targets[i].name(), "' has shape ", targets[i].shape(), ", but a value of shape ", state[i].shape(), " was given");
  for (std::size_t i = 0; i < targets.size(); ++i) targets[i].assign(in_dtype(state[i], targets[i].dtype()));
}

std::string Optimizer::arguments() const {
  Json json = Json::object();
  if (schedule_)
    json["learning_rate"] = {{"module", "keras.optimizers.schedules"}, {"class_name", schedule_->class_name()},
                             {"config", Json::parse(schedule_->arguments())}, {"registered_name", nullptr}};
  else json["learning_rate"] = learning_rate();
  const auto or_null = [](double value) { return value > 0 ? Json(value) : Json(); };
  json["weight_decay"] = decays_by_itself() ? Json(weight_decay_) : or_null(weight_decay_);
  json["clipnorm"] = or_null(limits_.clipnorm);
  json["global_clipnorm"] = or_null(limits_.global_clipnorm);
  json["clipvalue"] = or_null(limits_.clipvalue);
  for (const auto& [name, value] : numbers()) json[name] = value;
  for (const auto& [name, value] : flags()) json[name] = value;
  return json.dump();
}

const Tensor& Optimizer::number(double value, DType dtype) {
  Tensor& tensor = numbers_[{value, dtype}];
  if (!tensor.defined()) tensor = Tensor::scalar(value, dtype);
  return tensor;
}

Tensor Optimizer::rate(DType dtype) const {
  DeviceScope host("/CPU:0");
  if (!schedule_) return in_dtype(learning_rate_, dtype);
  return in_dtype(schedule_->at(step(DType::f64) - 1.0), dtype);  // schedules count from 0
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

}  // namespace tandem
