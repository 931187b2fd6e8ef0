#include "tandem/nn/optimizers.h"

#include "tandem/nn/layer_json.h"
#include "tandem/op/ops.h"
#include "tandem/op/training.h"

namespace tandem {

Sgd::Sgd(const SgdOptions& options)
    : Optimizer(options.learning_rate, {.count = options.momentum == 0 ? 0 : 1}, options.limits, options.weight_decay),
      momentum_(options.momentum), nesterov_(options.nesterov) {}

void Sgd::update(const Variable& variable, const Tensor& gradient) {
  const DType dtype = variable.dtype();
  if (momentum_ == 0) return run(apply_sgd_op, variable, {gradient, rate(dtype)});
  run(nesterov_ ? apply_nesterov_op : apply_momentum_op, variable, {gradient, rate(dtype), number(momentum_, dtype)});
}

Adam::Adam(const AdamOptions& options) : Optimizer(options.learning_rate, {.count = 2}, options.limits, options.weight_decay), options_(options) {}

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
  return {gradient, corrected_rate(dtype), number(options_.beta_1, dtype), number(options_.beta_2, dtype), number(options_.epsilon, dtype)};
}

void Adam::update(const Variable& variable, const Tensor& gradient) { run(apply_adam_op, variable, terms(gradient, variable.dtype())); }

void AdamW::update(const Variable& variable, const Tensor& gradient) {
  const DType dtype = variable.dtype();
  std::vector<Tensor> all = terms(gradient, dtype);
  all.push_back(rate(dtype) * number(weight_decay(), dtype));
  run(apply_adamw_op, variable, all);
}

// Without momentum Keras keeps no velocity.
RMSprop::RMSprop(const RMSpropOptions& options)
    : Optimizer(options.learning_rate, {.count = 2, .stored = options.momentum == 0 ? 1 : 2}, options.limits, options.weight_decay), options_(options) {}

std::map<std::string, double> RMSprop::numbers() const {
  return {{"rho", options_.rho}, {"momentum", options_.momentum}, {"epsilon", options_.epsilon}};
}

void RMSprop::update(const Variable& variable, const Tensor& gradient) {
  const DType dtype = variable.dtype();
  run(apply_rmsprop_op, variable, {gradient, rate(dtype), number(options_.rho, dtype), number(options_.momentum, dtype), number(options_.epsilon, dtype)});
}

std::shared_ptr<Optimizer> make_optimizer(std::string_view name) {
  if (name == "sgd") return std::make_shared<Sgd>();
  if (name == "adam") return std::make_shared<Adam>();
  if (name == "adamw") return std::make_shared<AdamW>();
  if (name == "rmsprop") return std::make_shared<RMSprop>();
  fail(ErrorCode::invalid_argument, "unknown optimizer '", name, "'; the known ones are 'sgd', 'adam', 'adamw' and 'rmsprop'");
}

namespace {

/// The arguments of an optimizer as a file has them.
class Arguments {
 public:
  explicit Arguments(std::string_view json) : json_(Json::parse(json, nullptr, false)) {}

  /// False when something is switched on that is not known here.
  bool known() const {
    if (!json_.is_object()) return false;
    for (const char* key : {"use_ema", "loss_scale_factor", "gradient_accumulation_steps", "amsgrad", "centered"})
      if (json_.contains(key) && !json_[key].is_null() && json_[key] != false) return false;
    return true;
  }
  double real(const char* key, double fallback) const { return real_or(json_, key, fallback); }
  bool flag(const char* key) const { return json_.contains(key) && json_[key] == true; }
  GradientLimits limits() const { return {.clipnorm = real("clipnorm", 0), .global_clipnorm = real("global_clipnorm", 0), .clipvalue = real("clipvalue", 0)}; }
  /// None for a schedule that is not known.
  std::optional<LearningRate> rate(double fallback) const {
    if (!json_.contains("learning_rate") || json_["learning_rate"].is_number()) return LearningRate(real("learning_rate", fallback));
    const auto given = named(json_["learning_rate"]);
    if (!given || !given->has_config) return std::nullopt;
    RateSchedule schedule = read_schedule(given->name, given->config.dump());
    return schedule ? std::optional(LearningRate(std::move(schedule))) : std::nullopt;
  }

 private:
  Json json_;
};

}  // namespace

std::shared_ptr<Optimizer> read_optimizer(std::string_view class_name, std::string_view json) {
  const Arguments arguments(json);
  const auto rate = arguments.known() ? arguments.rate(class_name == "SGD" ? 0.01 : 0.001) : std::nullopt;
  if (!rate) return nullptr;
  if (class_name == "SGD")
    return std::make_shared<Sgd>(SgdOptions{.learning_rate = *rate, .momentum = arguments.real("momentum", 0), .nesterov = arguments.flag("nesterov"),
                                            .weight_decay = arguments.real("weight_decay", 0), .limits = arguments.limits()});
  if (class_name == "Adam")
    return std::make_shared<Adam>(AdamOptions{.learning_rate = *rate, .beta_1 = arguments.real("beta_1", 0.9), .beta_2 = arguments.real("beta_2", 0.999),
                                              .epsilon = arguments.real("epsilon", 1e-7), .weight_decay = arguments.real("weight_decay", 0), .limits = arguments.limits()});
  if (class_name == "AdamW")
    return std::make_shared<AdamW>(AdamWOptions{.learning_rate = *rate, .weight_decay = arguments.real("weight_decay", 0.004), .beta_1 = arguments.real("beta_1", 0.9),
                                                .beta_2 = arguments.real("beta_2", 0.999), .epsilon = arguments.real("epsilon", 1e-7), .limits = arguments.limits()});
  if (class_name == "RMSprop")
    return std::make_shared<RMSprop>(RMSpropOptions{.learning_rate = *rate, .rho = arguments.real("rho", 0.9), .momentum = arguments.real("momentum", 0),
                                                    .epsilon = arguments.real("epsilon", 1e-7), .weight_decay = arguments.real("weight_decay", 0), .limits = arguments.limits()});
  return nullptr;
}

}  // namespace tandem
