// Optimizers by name, and from what Keras' files say about them.
#include "tandem/base/nearest.h"
#include "tandem/nn/layer_json.h"
#include "tandem/nn/optimizers.h"

namespace tandem {
namespace {

/// The arguments of an optimizer as a file has them.
class Given {
 public:
  explicit Given(Json json) : json_(std::move(json)) {}

  double real(const char* key, double fallback) const { return real_or(json_, key, fallback); }
  bool flag(const char* key) const { return json_.contains(key) && json_[key] == true; }
  /// Fills in what all optimizers have; false for a schedule that is not known.
  template <class Options>
  bool read_common(Options& o) const {
    const auto rate = learning_rate(o.learning_rate.number());
    if (!rate) return false;
    o.learning_rate = *rate;
    o.weight_decay = real("weight_decay", o.weight_decay);
    o.limits = {.clipnorm = real("clipnorm", 0),
                .global_clipnorm = real("global_clipnorm", 0),
                .clipvalue = real("clipvalue", 0)};
    o.step = {.use_ema = flag("use_ema"),
              .ema_momentum = real("ema_momentum", o.step.ema_momentum),
              .ema_overwrite_frequency = count("ema_overwrite_frequency"),
              .gradient_accumulation_steps = count("gradient_accumulation_steps"),
              .loss_scale_factor = real("loss_scale_factor", 0)};
    return true;
  }

 private:
  std::int64_t count(const char* key) const {
    const double value = real(key, 0);
    return value >= 0 && value <= 1e9 ? static_cast<std::int64_t>(value) : -1;  // which the optimizer refuses
  }
  std::optional<LearningRate> learning_rate(double fallback) const {
    if (!json_.contains("learning_rate") || json_["learning_rate"].is_number())
      return LearningRate(real("learning_rate", fallback));
    const auto given = named(json_["learning_rate"]);
    if (!given || !given->has_config) return std::nullopt;
    RateSchedule schedule = read_schedule(given->name, given->config.dump());
    return schedule ? std::optional(LearningRate(std::move(schedule))) : std::nullopt;
  }

  Json json_;
};

using OptimizerRef = std::shared_ptr<Optimizer>;

/// An optimizer whose own arguments `read` fills in.
template <class O, class Options>
OptimizerRef made(const Given& given, void (*read)(const Given&, Options&)) {
  Options options;
  if (!given.read_common(options)) return nullptr;
  read(given, options);
  return std::make_shared<O>(options);
}

template <class Options>
void read_betas(const Given& given, Options& o) {
  o.beta_1 = given.real("beta_1", o.beta_1);
  o.beta_2 = given.real("beta_2", o.beta_2);
}
template <class Options>
void read_adam(const Given& given, Options& o) {
  read_betas(given, o);
  o.epsilon = given.real("epsilon", o.epsilon);
  if constexpr (requires { o.amsgrad; }) o.amsgrad = given.flag("amsgrad");
}
void read_sgd(const Given& given, SgdOptions& o) {
  o.momentum = given.real("momentum", o.momentum);
  o.nesterov = given.flag("nesterov");
}
void read_rmsprop(const Given& given, RMSpropOptions& o) {
  o.rho = given.real("rho", o.rho);
  o.momentum = given.real("momentum", o.momentum);
  o.epsilon = given.real("epsilon", o.epsilon);
  o.centered = given.flag("centered");
}
void read_adagrad(const Given& given, AdagradOptions& o) {
  o.initial_accumulator_value = given.real("initial_accumulator_value", o.initial_accumulator_value);
  o.epsilon = given.real("epsilon", o.epsilon);
}
void read_adadelta(const Given& given, AdadeltaOptions& o) {
  o.rho = given.real("rho", o.rho);
  o.epsilon = given.real("epsilon", o.epsilon);
}
void read_ftrl(const Given& given, FtrlOptions& o) {
  o.learning_rate_power = given.real("learning_rate_power", o.learning_rate_power);
  o.initial_accumulator_value = given.real("initial_accumulator_value", o.initial_accumulator_value);
  o.l1_regularization_strength = given.real("l1_regularization_strength", o.l1_regularization_strength);
  o.l2_regularization_strength = given.real("l2_regularization_strength", o.l2_regularization_strength);
  o.l2_shrinkage_regularization_strength =
      given.real("l2_shrinkage_regularization_strength", o.l2_shrinkage_regularization_strength);
  o.beta = given.real("beta", o.beta);
}

struct OptimizerRecord {
  std::string_view name, class_name;
  OptimizerRef (*make)(const Given& given);
};
constexpr OptimizerRecord kOptimizers[] = {
    {"sgd", "SGD", [](const Given& given) { return made<Sgd>(given, read_sgd); }},
    {"adam", "Adam", [](const Given& given) { return made<Adam>(given, read_adam<AdamOptions>); }},
    {"adamw", "AdamW", [](const Given& given) { return made<AdamW>(given, read_adam<AdamWOptions>); }},
    {"rmsprop", "RMSprop", [](const Given& given) { return made<RMSprop>(given, read_rmsprop); }},
    {"adagrad", "Adagrad", [](const Given& given) { return made<Adagrad>(given, read_adagrad); }},
    {"adadelta", "Adadelta", [](const Given& given) { return made<Adadelta>(given, read_adadelta); }},
    {"adamax", "Adamax", [](const Given& given) { return made<Adamax>(given, read_adam<AdamKinOptions>); }},
    {"nadam", "Nadam", [](const Given& given) { return made<Nadam>(given, read_adam<AdamKinOptions>); }},
    {"lion", "Lion", [](const Given& given) { return made<Lion>(given, read_betas<LionOptions>); }},
    {"ftrl", "Ftrl", [](const Given& given) { return made<Ftrl>(given, read_ftrl); }},
};

}  // namespace

std::shared_ptr<Optimizer> make_optimizer(std::string_view name) {
  std::vector<std::string_view> known;
  for (const OptimizerRecord& record : kOptimizers) {
    if (record.name == name || record.class_name == name) return record.make(Given(Json::object()));
    known.push_back(record.name);
  }
  fail(ErrorCode::invalid_argument, "unknown optimizer '", name, "'", nearest_hint(name, known),
       "; the known ones are ", join(known));
}

std::shared_ptr<Optimizer> read_optimizer(std::string_view class_name, std::string_view arguments) {
  const Json json = Json::parse(arguments, nullptr, false);
  if (!json.is_object()) return nullptr;
  if (class_name == "LossScaleOptimizer") {
    const auto inner = json.contains("inner_optimizer") ? named(json["inner_optimizer"]) : std::nullopt;
    auto optimizer = inner ? read_optimizer(inner->name, inner->config.dump()) : nullptr;
    if (optimizer)
      optimizer->scale_losses(real_or(json, "initial_scale", 32768),
                              static_cast<std::int64_t>(real_or(json, "dynamic_growth_steps", 2000)));
    return optimizer;
  }
  for (const OptimizerRecord& record : kOptimizers)
    if (record.class_name == class_name) return record.make(Given(json));
  return nullptr;
}

}  // namespace tandem
