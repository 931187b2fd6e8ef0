#include "tandem/nn/optimizers.h"

#include "tandem/op/dispatcher.h"
#include "tandem/op/ops.h"
#include "tandem/op/training.h"

namespace tandem {
namespace {

/// A mean that moves towards `value`, of which it keeps so much of what it was.
void moved(const Variable& mean, const Tensor& value, double kept) {
  mean.assign(mean.value() + (value - mean.value()) * (1 - kept));
}

}  // namespace

Sgd::Sgd(const SgdOptions& options)
    : Optimizer(common(options), options.momentum == 0 ? Slots{} : Slots{.groups = {{0}}}),
      momentum_(options.momentum),
      nesterov_(options.nesterov) {}

void Sgd::update(const Variable& variable, const Tensor& gradient) {
  const DType dtype = variable.dtype();
  if (momentum_ == 0) return run(apply_sgd_op, variable, {gradient, rate(dtype)});
  run(nesterov_ ? apply_nesterov_op : apply_momentum_op, variable, {gradient, rate(dtype), number(momentum_, dtype)});
}

Adam::Adam(const AdamOptions& options)
    : Optimizer(common(options), options.amsgrad ? Slots{.groups = {{0, 0}, {0}}} : Slots{.groups = {{0, 0}}}),
      options_(options) {}

std::map<std::string, double> Adam::numbers() const {
  return {{"beta_1", options_.beta_1}, {"beta_2", options_.beta_2}, {"epsilon", options_.epsilon}};
}

const Tensor& Adam::corrected_rate(DType dtype) {
  Tensor& corrected = corrected_[dtype];
  if (corrected.defined()) return corrected;
  DeviceScope host("/CPU:0");
  // In f64: 1 - beta_2^t loses half its digits in f32 during the first steps.
  const Tensor t = step(DType::f64);
  const auto left = [&](double beta) { return number(1, DType::f64) - pow(number(beta, DType::f64), t); };
  const Tensor value = rate(DType::f64) * sqrt(left(options_.beta_2)) / left(options_.beta_1);
  return corrected = dtype == DType::f64 ? value : cast(value, dtype);
}

std::vector<Tensor> Adam::terms(const Tensor& gradient, DType dtype) {
  return {gradient, corrected_rate(dtype), number(options_.beta_1, dtype), number(options_.beta_2, dtype),
          number(options_.epsilon, dtype)};
}

void Adam::update(const Variable& variable, const Tensor& gradient) {
  if (amsgrad()) return update_amsgrad(variable, gradient);
  if (has_rows(variable)) return update_rows(variable, gradient, number(0, variable.dtype()));
  run(apply_adam_op, variable, terms(gradient, variable.dtype()));
}

void Adam::update_rows(const Variable& variable, const Tensor& gradient, const Tensor& decay) {
  std::vector<Tensor> all = terms(gradient, variable.dtype());
  all.insert(all.begin() + 1, squares(variable, gradient));
  all.push_back(decay);
  run(apply_adam_rows_op, variable, all);
}

void Adam::update_amsgrad(const Variable& variable, const Tensor& gradient) {
  const Variable &m = slot(variable, 0), &v = slot(variable, 1), &highest = slot(variable, 2);
  moved(m, gradient, options_.beta_1);
  moved(v, squares(variable, gradient), options_.beta_2);
  highest.assign(maximum(highest, v.value()));
  variable.assign_sub(m.value() * corrected_rate(variable.dtype()) / (sqrt(highest) + options_.epsilon));
}

void AdamW::update(const Variable& variable, const Tensor& gradient) {
  const DType dtype = variable.dtype();
  const Tensor decay = rate(dtype) * number(weight_decay(), dtype);
  if (amsgrad()) {
    variable.assign_sub(variable.value() * decay);
    return update_amsgrad(variable, gradient);
  }
  if (has_rows(variable)) return update_rows(variable, gradient, decay);
  std::vector<Tensor> all = terms(gradient, dtype);
  all.push_back(decay);
  run(apply_adamw_op, variable, all);
}

namespace {

/// Squares, velocity, mean: each of all variables. Without momentum Keras keeps no velocity, the op has one all the
/// same.
using Groups = std::vector<std::vector<double>>;
Groups rmsprop_groups(const RMSpropOptions& options) {
  return options.centered && options.momentum != 0 ? Groups{{0}, {0}, {0}} : Groups{{0}, {0}};
}

}  // namespace

RMSprop::RMSprop(const RMSpropOptions& options)
    : Optimizer(common(options),
                {.groups = rmsprop_groups(options), .unstored = options.centered || options.momentum != 0 ? 0U : 1U}),
      options_(options) {}

std::map<std::string, double> RMSprop::numbers() const {
  return {{"rho", options_.rho}, {"momentum", options_.momentum}, {"epsilon", options_.epsilon}};
}

void RMSprop::update(const Variable& variable, const Tensor& gradient) {
  const DType dtype = variable.dtype();
  if (!options_.centered && !has_rows(variable))
    return run(apply_rmsprop_op, variable,
               {gradient, rate(dtype), number(options_.rho, dtype), number(options_.momentum, dtype),
                number(options_.epsilon, dtype)});
  const bool has_momentum = options_.momentum != 0;
  const Variable& mean_square = slot(variable, 0);
  // Centered, the squares of rows may be less than that of their mean: there the square of their sum counts.
  moved(mean_square, options_.centered ? square(gradient) : squares(variable, gradient), options_.rho);
  Tensor variance = mean_square;
  if (options_.centered) {
    const Variable& mean = slot(variable, has_momentum ? 2 : 1);
    moved(mean, gradient, options_.rho);
    variance = variance - square(mean);
  }
  Tensor step = rate(dtype) * gradient / sqrt(variance + options_.epsilon);
  if (has_momentum) {
    const Variable& velocity = slot(variable, 1);
    velocity.assign(velocity.value() * options_.momentum + step);
    step = velocity;
  }
  variable.assign_sub(step);
}

Adagrad::Adagrad(const AdagradOptions& options)
    : Optimizer(common(options), {.groups = {{options.initial_accumulator_value}}}),
      options_(options) {}

std::map<std::string, double> Adagrad::numbers() const {
  return {{"initial_accumulator_value", options_.initial_accumulator_value}, {"epsilon", options_.epsilon}};
}

void Adagrad::update(const Variable& variable, const Tensor& gradient) {
  const Variable& total = slot(variable, 0);
  total.assign_add(squares(variable, gradient));
  variable.assign_sub(rate(variable.dtype()) * gradient / sqrt(total.value() + options_.epsilon));
}

Adadelta::Adadelta(const AdadeltaOptions& options)
    : Optimizer(common(options), {.groups = {{0, 0}}}),
      options_(options) {}

std::map<std::string, double> Adadelta::numbers() const {
  return {{"rho", options_.rho}, {"epsilon", options_.epsilon}};
}

void Adadelta::update(const Variable& variable, const Tensor& gradient) {
  const Variable &mean_square = slot(variable, 0), &steps = slot(variable, 1);
  const auto root = [this](const Tensor& x) { return sqrt(x + options_.epsilon); };
  const Tensor of_gradient = squares(variable, gradient);
  moved(mean_square, of_gradient, options_.rho);
  const Tensor step = root(steps) * gradient / root(mean_square);
  moved(steps, has_rows(variable) ? square(root(steps) / root(mean_square)) * of_gradient : square(step), options_.rho);
  variable.assign_sub(rate(variable.dtype()) * step);
}

std::map<std::string, double> AdamKin::numbers() const {
  return {{"beta_1", options_.beta_1}, {"beta_2", options_.beta_2}, {"epsilon", options_.epsilon}};
}

Tensor AdamKin::left(double beta, DType dtype) {
  DeviceScope host("/CPU:0");
  return cast(number(1, DType::f64) - pow(number(beta, DType::f64), step(DType::f64)), dtype);
}

void Adamax::update(const Variable& variable, const Tensor& gradient) {
  const Variable &m = slot(variable, 0), &most = slot(variable, 1);
  moved(m, gradient, options_.beta_1);
  most.assign(maximum(most.value() * options_.beta_2, magnitudes(variable, gradient)));
  variable.assign_sub(rate(variable.dtype()) / left(options_.beta_1, variable.dtype()) * m.value() /
                      (most.value() + options_.epsilon));
}

Tensor Nadam::momentum_at(const Tensor& step) {
  constexpr double kDecay = 0.96;
  return options_.beta_1 * (1.0 - 0.5 * pow(number(kDecay, DType::f64), step));
}

void Nadam::update(const Variable& variable, const Tensor& gradient) {
  const DType dtype = variable.dtype();
  Tensor mine, theirs;  // how much the momentum and the gradient count
  {
    DeviceScope host("/CPU:0");
    const Tensor t = step(DType::f64), now = momentum_at(t), next = momentum_at(t + 1.0);
    if (!moved_on_) product_.assign(product_.value() * now);
    moved_on_ = true;
    const Tensor product = product_;
    mine = cast(next / (1.0 - product * next), dtype);
    theirs = cast((1.0 - now) / (1.0 - product), dtype);
  }
  const Variable &m = slot(variable, 0), &v = slot(variable, 1);
  moved(m, gradient, options_.beta_1);
  moved(v, squares(variable, gradient), options_.beta_2);
  const Tensor ahead = m.value() * mine + gradient * theirs;
  variable.assign_sub(ahead * rate(dtype) / (sqrt(v.value() / left(options_.beta_2, dtype)) + options_.epsilon));
}

Lion::Lion(const LionOptions& options) : Optimizer(common(options), {.groups = {{0}}}), options_(options) {
  if (!(options.beta_1 > 0 && options.beta_1 <= 1))
    fail(ErrorCode::invalid_argument, "Lion: beta_1 must lie in (0, 1], got ", options.beta_1);
}

void Lion::update(const Variable& variable, const Tensor& gradient) {
  const Variable& m = slot(variable, 0);
  variable.assign_sub(rate(variable.dtype()) * sign(m.value() * options_.beta_1 + gradient * (1 - options_.beta_1)));
  moved(m, gradient, options_.beta_2);
}

Ftrl::Ftrl(const FtrlOptions& options)
    : Optimizer(common(options), {.groups = {{options.initial_accumulator_value, 0}}}),
      options_(options) {
  const auto check = [](bool fits, const char* argument, const char* needed, double got) {
    if (!fits) fail(ErrorCode::invalid_argument, "Ftrl: ", argument, " must be ", needed, ", got ", got);
  };
  check(options.initial_accumulator_value >= 0, "initial_accumulator_value", "zero or positive",
        options.initial_accumulator_value);
  check(options.learning_rate_power <= 0, "learning_rate_power", "zero or negative", options.learning_rate_power);
  check(options.l1_regularization_strength >= 0, "l1_regularization_strength", "zero or positive",
        options.l1_regularization_strength);
  check(options.l2_regularization_strength >= 0, "l2_regularization_strength", "zero or positive",
        options.l2_regularization_strength);
  check(options.l2_shrinkage_regularization_strength >= 0, "l2_shrinkage_regularization_strength", "zero or positive",
        options.l2_shrinkage_regularization_strength);
}

std::map<std::string, double> Ftrl::numbers() const {
  return {{"learning_rate_power", options_.learning_rate_power},
          {"initial_accumulator_value", options_.initial_accumulator_value},
          {"l1_regularization_strength", options_.l1_regularization_strength},
          {"l2_regularization_strength", options_.l2_regularization_strength},
          {"l2_shrinkage_regularization_strength", options_.l2_shrinkage_regularization_strength},
          {"beta", options_.beta}};
}

void Ftrl::update(const Variable& variable, const Tensor& gradient) {
  const DType dtype = variable.dtype();
  const Variable &total = slot(variable, 0), &linear = slot(variable, 1);
  const Tensor lr = rate(dtype), sum = total.value() + squares(variable, gradient);
  const auto powered = [&](const Tensor& x) {
    return options_.learning_rate_power == -0.5 ? sqrt(x) : pow(x, -options_.learning_rate_power);
  };
  const Tensor shrunk = gradient + variable.value() * (2 * options_.l2_shrinkage_regularization_strength);
  linear.assign_add(shrunk - (powered(sum) - powered(total)) / lr * variable.value());
  const Tensor quadratic = powered(sum) / lr + 2.0 * (options_.l2_regularization_strength + options_.beta / (2.0 * lr));
  const double l1 = options_.l1_regularization_strength;
  variable.assign((maximum(minimum(linear, l1), -l1) - linear.value()) / quadratic);
  total.assign(sum);
}

}  // namespace tandem
