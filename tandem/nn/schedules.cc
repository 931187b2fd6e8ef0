#include "tandem/nn/schedules.h"

#include <cmath>
#include <functional>
#include <numbers>

#include "tandem/nn/layer_json.h"
#include "tandem/op/elementwise.h"

namespace tandem {
namespace {

/// A schedule by its formula.
class FormulaSchedule final : public LearningRateSchedule {
 public:
  FormulaSchedule(std::string_view class_name, Json arguments, std::function<Tensor(const Tensor&)> formula)
      : class_name_(class_name),
        arguments_(arguments.dump()),
        formula_(std::move(formula)) {}
  Tensor at(const Tensor& step) const override { return formula_(step); }
  std::string_view class_name() const override { return class_name_; }
  std::string arguments() const override { return arguments_; }

 private:
  std::string_view class_name_;
  std::string arguments_;
  std::function<Tensor(const Tensor&)> formula_;
};

RateSchedule by_formula(std::string_view class_name, Json arguments, std::function<Tensor(const Tensor&)> formula) {
  return std::make_shared<FormulaSchedule>(class_name, std::move(arguments), std::move(formula));
}

void check_steps(std::string_view who, double steps) {
  if (!(steps > 0)) fail(ErrorCode::invalid_argument, who, ": decay_steps must be positive, got ", steps);
}

Tensor number(double value) { return Tensor::scalar(value, DType::f64); }

/// How many times decay_steps have passed.
Tensor periods(const Tensor& step, double decay_steps, bool staircase) {
  return staircase ? floor(step / decay_steps) : step / decay_steps;
}

}  // namespace

RateSchedule ExponentialDecay(const ExponentialDecayOptions& o) {
  check_steps("ExponentialDecay", o.decay_steps);
  return by_formula("ExponentialDecay",
                    {{"initial_learning_rate", o.initial_learning_rate},
                     {"decay_steps", o.decay_steps},
                     {"decay_rate", o.decay_rate},
                     {"staircase", o.staircase}},
                    [o](const Tensor& step) {
                      return o.initial_learning_rate *
                             pow(number(o.decay_rate), periods(step, o.decay_steps, o.staircase));
                    });
}

RateSchedule PolynomialDecay(const PolynomialDecayOptions& o) {
  check_steps("PolynomialDecay", o.decay_steps);
  return by_formula(
      "PolynomialDecay",
      {{"initial_learning_rate", o.initial_learning_rate},
       {"decay_steps", o.decay_steps},
       {"end_learning_rate", o.end_learning_rate},
       {"power", o.power},
       {"cycle", o.cycle}},
      [o](const Tensor& step) {
        const Tensor whole = o.cycle ? maximum(ceil(step / o.decay_steps), 1.0) * o.decay_steps : number(o.decay_steps);
        const Tensor left = 1.0 - minimum(step, whole) / whole;
        return (o.initial_learning_rate - o.end_learning_rate) * pow(left, number(o.power)) + o.end_learning_rate;
      });
}

RateSchedule InverseTimeDecay(const InverseTimeDecayOptions& o) {
  check_steps("InverseTimeDecay", o.decay_steps);
  return by_formula("InverseTimeDecay",
                    {{"initial_learning_rate", o.initial_learning_rate},
                     {"decay_steps", o.decay_steps},
                     {"decay_rate", o.decay_rate},
                     {"staircase", o.staircase}},
                    [o](const Tensor& step) {
                      return o.initial_learning_rate / (1.0 + o.decay_rate * periods(step, o.decay_steps, o.staircase));
                    });
}

RateSchedule CosineDecay(const CosineDecayOptions& o) {
  check_steps("CosineDecay", o.decay_steps);
  const bool warm = o.warmup_steps > 0;
  const auto decayed = [o](const Tensor& step, double from) {
    const Tensor half_turn = std::numbers::pi * minimum(step, o.decay_steps) / o.decay_steps;
    return from * ((1 - o.alpha) * (0.5 * (1.0 + cos(half_turn))) + o.alpha);
  };
  return by_formula(
      "CosineDecay",
      {{"initial_learning_rate", o.initial_learning_rate},
       {"decay_steps", o.decay_steps},
       {"alpha", o.alpha},
       {"warmup_target", warm ? Json(o.warmup_target) : Json()},
       {"warmup_steps", o.warmup_steps}},
      [o, warm, decayed](const Tensor& step) {
        if (!warm) return decayed(step, o.initial_learning_rate);
        const Tensor rising =
            o.initial_learning_rate + (o.warmup_target - o.initial_learning_rate) * (step / o.warmup_steps);
        return where(less(step, o.warmup_steps), rising, decayed(maximum(step - o.warmup_steps, 0.0), o.warmup_target));
      });
}

RateSchedule CosineDecayRestarts(const CosineDecayRestartsOptions& o) {
  if (!(o.first_decay_steps > 0))
    fail(ErrorCode::invalid_argument, "CosineDecayRestarts: first_decay_steps must be positive, got ",
         o.first_decay_steps);
  return by_formula("CosineDecayRestarts",
                    {{"initial_learning_rate", o.initial_learning_rate},
                     {"first_decay_steps", o.first_decay_steps},
                     {"t_mul", o.t_mul},
                     {"m_mul", o.m_mul},
                     {"alpha", o.alpha}},
                    [o](const Tensor& step) {
                      Tensor done = step / o.first_decay_steps, restarts;
                      if (o.t_mul == 1) {
                        restarts = floor(done);
                        done = done - restarts;
                      } else {
                        restarts = floor(log(1.0 - done * (1 - o.t_mul)) / std::log(o.t_mul));
                        const Tensor longer = pow(number(o.t_mul), restarts);
                        done = (done - (1.0 - longer) / (1 - o.t_mul)) / longer;
                      }
                      const Tensor wave = 0.5 * pow(number(o.m_mul), restarts) * (1.0 + cos(std::numbers::pi * done));
                      return o.initial_learning_rate * ((1 - o.alpha) * wave + o.alpha);
                    });
}

RateSchedule PiecewiseConstantDecay(std::vector<double> boundaries, std::vector<double> values) {
  if (values.size() != boundaries.size() + 1)
    fail(ErrorCode::invalid_argument, "PiecewiseConstantDecay: needs one value more than boundaries, got ",
         boundaries.size(), " boundaries and ", values.size(), " values");
  const Json arguments{{"boundaries", boundaries}, {"values", values}};
  return by_formula("PiecewiseConstantDecay", arguments, [boundaries, values](const Tensor& step) {
    Tensor rate = number(values.back());
    for (std::size_t i = boundaries.size(); i-- > 0;)
      rate = where(less_equal(step, number(boundaries[i])), number(values[i]), rate);
    return rate;
  });
}

namespace {

std::optional<std::vector<double>> numbers_of(const Json& object, const char* key) {
  if (!object.contains(key) || !object[key].is_array()) return std::nullopt;
  std::vector<double> numbers;
  for (const Json& item : object[key]) {
    if (!item.is_number()) return std::nullopt;
    numbers.push_back(item.get<double>());
  }
  return numbers;
}

}  // namespace

RateSchedule read_schedule(std::string_view class_name, std::string_view arguments) {
  const Json json = Json::parse(arguments, nullptr, false);
  if (!json.is_object()) return nullptr;
  const auto real = [&](const char* key, double fallback) { return real_or(json, key, fallback); };
  const bool staircase = json.value("staircase", Json(false)) == true;
  const double initial = real("initial_learning_rate", 0), steps = real("decay_steps", 0);
  if (class_name == "PiecewiseConstantDecay") {
    const auto boundaries = numbers_of(json, "boundaries"), values = numbers_of(json, "values");
    if (!boundaries || !values) return nullptr;
    return PiecewiseConstantDecay(*boundaries, *values);
  }
  if (class_name == "ExponentialDecay") return ExponentialDecay({initial, steps, real("decay_rate", 1), staircase});
  if (class_name == "InverseTimeDecay") return InverseTimeDecay({initial, steps, real("decay_rate", 1), staircase});
  if (class_name == "PolynomialDecay")
    return PolynomialDecay(
        {initial, steps, real("end_learning_rate", 1e-4), real("power", 1), json.value("cycle", Json(false)) == true});
  if (class_name == "CosineDecayRestarts")
    return CosineDecayRestarts(
        {initial, real("first_decay_steps", 0), real("t_mul", 2), real("m_mul", 1), real("alpha", 0)});
  if (class_name == "CosineDecay")
    return CosineDecay({initial, steps, real("alpha", 0), real("warmup_target", 0), real("warmup_steps", 0)});
  return nullptr;
}

}  // namespace tandem
