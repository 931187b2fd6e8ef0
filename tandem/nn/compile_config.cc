#include "tandem/nn/compile_config.h"

#include <array>

namespace tandem {
namespace {

struct NamedLoss {
  const char *name, *class_name;
};
constexpr std::array kLosses{NamedLoss{"mse", "MeanSquaredError"}, NamedLoss{"mean_squared_error", "MeanSquaredError"},
                             NamedLoss{"sparse_categorical_crossentropy", "SparseCategoricalCrossentropy"},
                             NamedLoss{"categorical_crossentropy", "CategoricalCrossentropy"}};

/// True for what switches nothing on: null, false, 0.
bool is_off(const Json& value) { return value.is_null() || value == false || value == 0; }

double number(const Json& object, const char* key, double fallback) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : fallback;
}

std::shared_ptr<Optimizer> read_optimizer(const Json& value) {
  if (value.is_string()) {
    const auto name = value.get<std::string>();
    return name == "adam" || name == "sgd" ? make_optimizer(name) : nullptr;
  }
  if (!value.is_object() || !value.contains("class_name") || !value.contains("config") || !value["config"].is_object()) return nullptr;
  const Json& config = value["config"];
  for (const char* key : {"weight_decay", "clipnorm", "global_clipnorm", "clipvalue", "use_ema", "loss_scale_factor", "gradient_accumulation_steps", "amsgrad", "nesterov"})
    if (config.contains(key) && !is_off(config[key])) return nullptr;
  if (config.contains("learning_rate") && !config["learning_rate"].is_number()) return nullptr;  // a schedule
  if (value["class_name"] == "SGD") return std::make_shared<Sgd>(SgdOptions{.learning_rate = number(config, "learning_rate", 0.01), .momentum = number(config, "momentum", 0)});
  if (value["class_name"] == "Adam")
    return std::make_shared<Adam>(AdamOptions{.learning_rate = number(config, "learning_rate", 1e-3), .beta_1 = number(config, "beta_1", 0.9), .beta_2 = number(config, "beta_2", 0.999), .epsilon = number(config, "epsilon", 1e-7)});
  return nullptr;
}

bool read_loss(const Json& value, CompileOptions& options) {
  for (const NamedLoss& loss : kLosses) {
    if (value == loss.name) return options.loss = loss.name, true;
    if (!value.is_object() || value.value("class_name", Json()) != loss.class_name) continue;
    const Json config = value.value("config", Json::object());
    if (!config.is_object() || config.value("reduction", Json("sum_over_batch_size")) != "sum_over_batch_size") return false;
    for (const char* key : {"label_smoothing", "ignore_class"})
      if (config.contains(key) && !is_off(config[key])) return false;
    options.loss = loss.name;
    options.from_logits = config.value("from_logits", Json(false)) == true;
    return true;
  }
  return false;
}

}  // namespace

std::optional<CompileOptions> read_compile_config(const Json& config) {
  CompileOptions options;
  if (!config.is_object() || !config.contains("optimizer") || !config.contains("loss")) return std::nullopt;
  options.optimizer_object = read_optimizer(config["optimizer"]);
  if (!options.optimizer_object || !read_loss(config["loss"], options)) return std::nullopt;
  for (const char* key : {"loss_weights", "weighted_metrics"})
    if (config.contains(key) && !is_off(config[key])) return std::nullopt;
  if (!config.contains("metrics") || config["metrics"].is_null()) return options;
  for (const Json& metric : config["metrics"]) {
    if (metric != "accuracy" && metric != "acc") return std::nullopt;
    options.metrics = {"accuracy"};
  }
  return options;
}

Json compile_config(const CompileOptions& options, const Optimizer& optimizer) {
  Json loss = options.loss;
  if (options.from_logits)
    for (const NamedLoss& known : kLosses)
      if (options.loss == known.name) loss = {{"module", "keras.losses"}, {"class_name", known.class_name}, {"config", {{"from_logits", true}}}, {"registered_name", nullptr}};
  Json metrics = Json::array();
  for (const std::string& metric : options.metrics) metrics.push_back(metric);
  Json config = optimizer.arguments();
  return {{"optimizer", {{"module", "keras.optimizers"}, {"class_name", optimizer.class_name()}, {"config", config}, {"registered_name", nullptr}}},
          {"loss", loss},
          {"metrics", metrics}};
}

}  // namespace tandem
