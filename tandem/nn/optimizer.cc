#include "tandem/nn/optimizer.h"

#include <algorithm>
#include <optional>

#include "tandem/autodiff/control_flow.h"
#include "tandem/nn/layer_json.h"
#include "tandem/op/arrays.h"
#include "tandem/op/dispatcher.h"
#include "tandem/op/elementwise.h"
#include "tandem/op/ops.h"
#include "tandem/op/records.h"
#include "tandem/op/training.h"

namespace tandem {
namespace {

const Attrs kNoAttrs{};

Tensor in_dtype(const Tensor& value, DType dtype) { return value.dtype() == dtype ? value : cast(value, dtype); }

/// f of the rows, each added where it belongs.
template <class F>
Tensor sum_of_rows(const std::vector<RowNotes::Rows>& all, const Shape& shape, const F& f) {
  Tensor sum;
  for (const RowNotes::Rows& rows : all) {
    const Tensor part = apply(gather_grad_op, {f(rows.values), rows.indices}, make_attrs(gather_grad_op, shape, 0, 0));
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

}  // namespace

Optimizer::Optimizer(const Arguments& arguments, Slots slots)
    : arguments_(arguments),
      learning_rate_(Tensor::scalar(arguments.learning_rate.number(), DType::f64), false, "learning_rate"),
      iterations_(Tensor::scalar(std::int64_t{0}, DType::i64), false, "iteration"),
      slot_groups_(std::move(slots)) {
  const GradientLimits& limits = arguments.limits;
  const int clips = (limits.clipnorm > 0) + (limits.global_clipnorm > 0) + (limits.clipvalue > 0);
  if (clips > 1)
    fail(ErrorCode::invalid_argument, "an optimizer takes one of clipnorm, global_clipnorm and clipvalue, got ",
         limits.clipnorm, ", ", limits.global_clipnorm, " and ", limits.clipvalue);
  const StepOptions& step = arguments.step;
  if (step.gradient_accumulation_steps != 0 && step.gradient_accumulation_steps < 2)
    fail(ErrorCode::invalid_argument, "gradient_accumulation_steps must be at least 2, or 0 for none, got ",
         step.gradient_accumulation_steps);
  if (step.use_ema && !(step.ema_momentum >= 0 && step.ema_momentum <= 1))
    fail(ErrorCode::invalid_argument, "ema_momentum must lie in [0, 1], got ", step.ema_momentum);
  if (step.ema_overwrite_frequency < 0)
    fail(ErrorCode::invalid_argument, "ema_overwrite_frequency must not be negative, got ",
         step.ema_overwrite_frequency);
}

double Optimizer::learning_rate() const {
  const RateSchedule& schedule = arguments_.learning_rate.schedule();
  if (!schedule) return learning_rate_.cell()->read().item<double>();
  return schedule->at(Tensor::scalar(static_cast<double>(iterations()), DType::f64)).item<double>();
}

void Optimizer::set_learning_rate(double rate) {
  if (const RateSchedule& schedule = arguments_.learning_rate.schedule())
    fail(ErrorCode::invalid_argument, "the learning rate comes from a schedule, ", schedule->class_name(),
         "; give the optimizer a number to set it");
  learning_rate_.assign(Tensor::scalar(rate, learning_rate_.dtype()));
}

const std::string* Optimizer::home_of(const Variable& variable) const {
  const auto found = homes_.find(variable.id());
  return found == homes_.end() ? nullptr : &found->second;
}

void Optimizer::apply_gradients(const std::vector<Variable>& variables, const Tensors& gradients,
                                const std::vector<std::string>& homes, const RowNotes::Lists& rows) {
  if (variables.size() != gradients.size())
    fail(ErrorCode::wrong_arity, "apply_gradients: ", variables.size(), " variables but ", gradients.size(),
         " gradients");
  if (!homes.empty() && homes.size() != variables.size())
    fail(ErrorCode::wrong_arity, "apply_gradients: ", variables.size(), " variables but ", homes.size(), " homes");
  homes_.clear();
  for (std::size_t i = 0; i < homes.size(); ++i) homes_.emplace(variables[i].id(), homes[i]);
  rows_.clear();
  for (std::size_t i = 0; gradients_a_step() == 1 && i < std::min(rows.size(), variables.size()); ++i)
    if (!rows[i].empty()) rows_.emplace(variables[i].id(), rows[i]);
  if (scaling_) apply_scaled(variables, gradients);
  else apply_now(variables, gradients);
  rows_.clear();
}

void Optimizer::scale_rows(const Variable& variable, const Tensor& factor) {
  if (const auto found = rows_.find(variable.id()); found != rows_.end())
    for (RowNotes::Rows& rows : found->second) rows.values = rows.values * in_dtype(factor, rows.values.dtype());
}

Tensor Optimizer::squares(const Variable& variable, const Tensor& gradient) const {
  return has_rows(variable)
             ? sum_of_rows(rows_.at(variable.id()), variable.shape(), [](const Tensor& rows) { return square(rows); })
             : square(gradient);
}

Tensor Optimizer::magnitudes(const Variable& variable, const Tensor& gradient) const {
  return has_rows(variable)
             ? sum_of_rows(rows_.at(variable.id()), variable.shape(), [](const Tensor& rows) { return abs(rows); })
             : abs(gradient);
}

void Optimizer::scale_losses(double initial_scale, std::int64_t growth_steps) {
  if (!(initial_scale > 0) || growth_steps < 1)
    fail(ErrorCode::invalid_argument, "scale_losses: the scale and its growth_steps must be positive, got ",
         initial_scale, " and ", growth_steps);
  arguments_.step.loss_scale_factor = 0;  // else gradients would be scaled twice
  scaling_ = Scaling{Variable(Tensor::scalar(initial_scale, DType::f32), false, "dynamic_scale"),
                     Variable(Tensor::scalar(std::int64_t{0}, DType::i64), false, "step_counter"), growth_steps};
}

double Optimizer::loss_scale() const {
  return scaling_ ? static_cast<double>(scaling_->scale.cell()->read().item<float>()) : 1;
}

void Optimizer::apply_scaled(const std::vector<Variable>& variables, const Tensors& gradients) {
  build(variables);  // before the trace of a branch asks for it
  const Tensor scale = scaling_->scale;
  Tensors unscaled = gradients;
  Tensor finite;
  for (std::size_t i = 0; i < unscaled.size(); ++i) {
    Tensor& gradient = unscaled[i];
    if (!gradient.defined()) continue;
    const Tensor all = reduce_all(is_finite(gradient));
    finite = finite.defined() ? logical_and(finite, all) : all;
    gradient = gradient / in_dtype(scale, gradient.dtype());
    scale_rows(variables[i], 1.0 / scale);
  }
  if (!finite.defined()) return;
  cond(
      finite,
      [&] {
        apply_now(variables, unscaled);
        return Tensors{};
      },
      [] { return Tensors{}; });
  const Tensor steps = scaling_->steps, grows = equal(steps, Tensor::scalar(scaling_->growth_steps - 1, DType::i64));
  scaling_->scale.assign(where(finite, where(grows, scale * 2.0, scale), scale * 0.5));
  scaling_->steps.assign(where(logical_and(finite, logical_not(grows)), steps + 1, zeros_like(steps)));
}

void Optimizer::apply_now(const std::vector<Variable>& variables, const Tensors& gradients) {
  static const Tensor one = Tensor::scalar(std::int64_t{1}, DType::i64);
  {
    DeviceScope host("/CPU:0");  // a counter: one value, needed on the host
    iterations_.assign_add(one);
  }
  begin_step();
  Tensors usable = gradients;
  for (std::size_t i = 0; arguments_.step.loss_scale_factor > 0 && i < usable.size(); ++i) {
    if (!usable[i].defined()) continue;
    usable[i] = usable[i] / arguments_.step.loss_scale_factor;
    scale_rows(variables[i], number(1 / arguments_.step.loss_scale_factor, usable[i].dtype()));
  }
  if (gradients_a_step() > 1) accumulate(variables, usable);
  else update_all(variables, usable);
  if (arguments_.step.use_ema) average(variables);
}

void Optimizer::update_all(const std::vector<Variable>& variables, const Tensors& gradients) {
  const Tensors usable = limited(variables, gradients);
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (!usable[i].defined()) continue;
    std::optional<DeviceScope> at_home;
    if (const std::string* home = home_of(variables[i])) at_home.emplace(*home);
    if (weight_decay() > 0 && !decays_by_itself())
      variables[i].assign_sub(variables[i].value() *
                              (rate(variables[i].dtype()) * number(weight_decay(), variables[i].dtype())));
    update(variables[i], usable[i]);
  }
}

Tensor Optimizer::is_due(std::int64_t every) const {
  DeviceScope host("/CPU:0");
  return equal(floormod(iterations_, Tensor::scalar(every, DType::i64)), Tensor::scalar(std::int64_t{0}, DType::i64));
}

void Optimizer::accumulate(const std::vector<Variable>& variables, const Tensors& gradients) {
  build(variables);  // before the trace of a branch asks for it
  Tensors totals = gradients;
  for (std::size_t i = 0; i < variables.size(); ++i)
    if (totals[i].defined()) totals[i] = totals[i] + beside(sums_, variables[i], "gradient_accumulator").value();
  const auto keep = [&](bool step_made) {
    for (std::size_t i = 0; i < variables.size(); ++i)
      if (totals[i].defined())
        beside(sums_, variables[i], "gradient_accumulator").assign(step_made ? zeros_like(totals[i]) : totals[i]);
    return Tensors{};
  };
  cond(
      is_due(gradients_a_step()),
      [&] {
        Tensors means = totals;
        for (Tensor& mean : means)
          if (mean.defined()) mean = mean / static_cast<double>(gradients_a_step());
        update_all(variables, means);
        return keep(true);
      },
      [&] { return keep(false); });
}

void Optimizer::average(const std::vector<Variable>& variables) {
  const StepOptions& step = arguments_.step;
  // What counts is the number of steps made before this gradient.
  const auto before = [&](DType dtype) {
    DeviceScope host("/CPU:0");
    const Tensor steps = floordiv(iterations_.value() - 1, Tensor::scalar(gradients_a_step(), DType::i64));
    return cast(minimum(steps, Tensor::scalar(std::int64_t{1}, DType::i64)), dtype) * number(step.ema_momentum, dtype);
  };
  const Tensor due =
      step.ema_overwrite_frequency ? is_due(step.ema_overwrite_frequency * gradients_a_step()) : Tensor();
  for (const Variable& variable : variables) {
    const Variable& average = beside(averages_, variable, "average");
    const Tensor kept = before(variable.dtype());
    average.assign(average.value() * kept + variable.value() * (1.0 - kept));
    if (due.defined()) variable.assign(where(due, average, variable));
  }
}

Tensor Optimizer::scaled_loss(const Tensor& loss) const {
  if (scaling_) return loss * in_dtype(scaling_->scale, loss.dtype());
  return arguments_.step.loss_scale_factor > 0 ? loss * arguments_.step.loss_scale_factor : loss;
}

void Optimizer::finalize(const std::vector<Variable>& variables) {
  if (!arguments_.step.use_ema || iterations_.cell()->read().item<std::int64_t>() == 0) return;
  for (const Variable& variable : variables) variable.assign(beside(averages_, variable, "average"));
}

Tensors Optimizer::limited(const std::vector<Variable>& variables, Tensors gradients) {
  const GradientLimits& limits = arguments_.limits;
  const auto clipped = [&](const Tensor& value) {
    return maximum(minimum(value, limits.clipvalue), -limits.clipvalue);
  };
  const auto factor = [](const Tensor& norm, double most) { return most / maximum(norm, most); };
  Tensor all;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    Tensor& gradient = gradients[i];
    if (!gradient.defined()) continue;
    if (limits.clipvalue > 0 && has_rows(variables[i])) {  // each row by itself
      for (RowNotes::Rows& rows : rows_.at(variables[i].id())) rows.values = clipped(rows.values);
      gradient = sum_of_rows(rows_.at(variables[i].id()), gradient.shape(), [](const Tensor& rows) { return rows; });
    } else if (limits.clipvalue > 0) {
      gradient = clipped(gradient);
    }
    if (limits.clipnorm <= 0 && limits.global_clipnorm <= 0) continue;
    const Tensor square = reduce_sum(squares(variables[i], gradient));
    if (limits.global_clipnorm > 0) {
      all = all.defined() ? all + square : square;
      continue;
    }
    const Tensor shorter = factor(sqrt(square), limits.clipnorm);
    gradient = gradient * shorter;
    scale_rows(variables[i], shorter);
  }
  if (!all.defined()) return gradients;
  rows_.clear();  // Keras adds rows up where it multiplies them by the factor of all
  const Tensor shorter = factor(sqrt(all), limits.global_clipnorm);
  for (Tensor& gradient : gradients)
    if (gradient.defined()) gradient = gradient * shorter;
  return gradients;
}

void Optimizer::build(const std::vector<Variable>& variables) {
  for (const Variable& variable : variables) {
    slots_of(variable);
    if (arguments_.step.use_ema) beside(averages_, variable, "average");
    if (gradients_a_step() > 1) beside(sums_, variable, "gradient_accumulator");
  }
}

const std::vector<Variable>& Optimizer::slots_of(const Variable& variable) {
  const auto [found, fresh] = slots_.try_emplace(variable.id());
  std::vector<Variable>& slots = found->second;
  if (!fresh) return slots;
  InitScope now;  // the state outlives the trace that asks for it first
  for (const std::vector<double>& group : slot_groups_.groups)
    for (const double initial : group)
      slots.emplace_back(fill(variable.shape(), initial, variable.dtype()), false,
                         text(variable.name(), "/slot", slots.size()));
  return slots;
}

const Variable& Optimizer::beside(States& states, const Variable& variable, const char* name) {
  std::vector<Variable>& state = states[variable.id()];
  if (!state.empty()) return state[0];
  InitScope now;
  return state.emplace_back(zeros(variable.shape(), variable.dtype()), false, text(variable.name(), "/", name));
}

std::vector<Variable> Optimizer::stored(const std::vector<Variable>& variables) {
  std::vector<Variable> all{iterations_};
  if (!arguments_.learning_rate.schedule()) all.push_back(learning_rate_);
  build(variables);
  for (const Variable& variable : variables)
    if (arguments_.step.use_ema) all.push_back(beside(averages_, variable, "average"));
  for (const Variable& variable : variables)
    if (gradients_a_step() > 1) all.push_back(beside(sums_, variable, "gradient_accumulator"));
  std::ptrdiff_t first = 0;
  for (std::size_t g = 0; g + slot_groups_.unstored < slot_groups_.groups.size(); ++g) {
    const auto size = static_cast<std::ptrdiff_t>(slot_groups_.groups[g].size());
    for (const Variable& variable : variables) {
      const std::vector<Variable>& slots = slots_of(variable);
      all.insert(all.end(), slots.begin() + first, slots.begin() + first + size);
    }
    first += size;
  }
  for (const Variable& variable : more_state()) all.push_back(variable);
  return all;
}

Tensors Optimizer::state(const std::vector<Variable>& variables) {
  Tensors out;
  if (scaling_)
    out = {Tensor::scalar(std::int64_t{0}, DType::i64), Tensor(0.0f), scaling_->steps.value(),
           scaling_->scale.value()};  // counter and rate of the optimizer around
  for (const Variable& variable : stored(variables))
    out.push_back(variable.dtype() == DType::f64 ? in_dtype(variable.value(), DType::f32) : variable.value());
  return out;
}

void Optimizer::set_state(const std::vector<Variable>& variables, const Tensors& all) {
  Tensors state = all;
  const std::size_t first =
      arguments_.learning_rate.schedule() ? 1 : 2;  // counters, which are there before the first step
  const bool fresh = all.size() == 2 + first;
  if (scaling_ && (fresh || all.size() > 4)) state.erase(state.begin(), state.begin() + (fresh ? 2 : 4));
  std::vector<Variable> targets = stored(variables);
  if (state.size() == first) targets.erase(targets.begin() + static_cast<std::ptrdiff_t>(first), targets.end());
  if (targets.size() != state.size())
    fail(ErrorCode::shape_mismatch, "optimizer: the state has ", targets.size(), " values, ", state.size(),
         " were given");
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (targets[i].shape() != state[i].shape())
      fail(ErrorCode::shape_mismatch, "optimizer: '", targets[i].name(), "' has shape ", targets[i].shape(),
           ", but a value of shape ", state[i].shape(), " was given");
  for (std::size_t i = 0; i < targets.size(); ++i) targets[i].assign(in_dtype(state[i], targets[i].dtype()));
  if (!scaling_ || fresh || all.size() <= 4) return;
  scaling_->steps.assign(in_dtype(all[2], DType::i64));
  scaling_->scale.assign(in_dtype(all[3], DType::f32));
}

std::string Optimizer::arguments() const {
  Json json = Json::object();
  if (const RateSchedule& schedule = arguments_.learning_rate.schedule())
    json["learning_rate"] = {{"module", "keras.optimizers.schedules"},
                             {"class_name", schedule->class_name()},
                             {"config", Json::parse(schedule->arguments())},
                             {"registered_name", nullptr}};
  else json["learning_rate"] = learning_rate();
  const auto or_null = [](auto value) { return value > 0 ? Json(value) : Json(); };
  const StepOptions& step = arguments_.step;
  json["weight_decay"] = decays_by_itself() ? Json(weight_decay()) : or_null(weight_decay());
  json["clipnorm"] = or_null(arguments_.limits.clipnorm);
  json["global_clipnorm"] = or_null(arguments_.limits.global_clipnorm);
  json["clipvalue"] = or_null(arguments_.limits.clipvalue);
  json["use_ema"] = step.use_ema;
  json["ema_momentum"] = step.ema_momentum;
  json["ema_overwrite_frequency"] = or_null(step.ema_overwrite_frequency);
  json["loss_scale_factor"] = or_null(step.loss_scale_factor);
  json["gradient_accumulation_steps"] = or_null(step.gradient_accumulation_steps);
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
  const RateSchedule& schedule = arguments_.learning_rate.schedule();
  if (!schedule) return in_dtype(learning_rate_, dtype);
  return in_dtype(schedule->at(step(DType::f64) - 1.0), dtype);  // schedules count from 0
}
Tensor Optimizer::step(DType dtype) const {
  // Asked for when a step is due: then the number of gradients divides without a rest.
  return gradients_a_step() == 1 ? cast(iterations_, dtype)
                                 : cast(floordiv(iterations_, Tensor::scalar(gradients_a_step(), DType::i64)), dtype);
}

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
