#include "tandem/nn/compile_config.h"

#include "tandem/nn/losses.h"
#include "tandem/nn/metrics.h"
#include "tandem/nn/optimizers.h"

namespace tandem {
namespace {

/// True for what switches nothing on: null, false, 0.
bool is_off(const Json& value) { return value.is_null() || value == false || value == 0; }

std::shared_ptr<Optimizer> optimizer_of(const Json& value) {
  if (value.is_string()) {
    const auto name = value.get<std::string>();
    for (const char* known : {"sgd", "adam", "adamw", "rmsprop"})
      if (name == known) return make_optimizer(name);
    return nullptr;
  }
  if (!value.is_object() || !value.contains("class_name") || !value["class_name"].is_string() || !value.contains("config")) return nullptr;
  return read_optimizer(value["class_name"].get<std::string>(), value["config"].dump());
}

bool read_loss(const Json& value, CompileOptions& options) {
  if (value.is_string()) {
    options.loss = value.get<std::string>();
    return look_up_loss(options.loss) != nullptr;
  }
  if (!value.is_object() || !value.contains("class_name") || !value["class_name"].is_string()) return false;
  const LossRecord* loss = look_up_loss(value["class_name"].get<std::string>());
  const Json config = value.value("config", Json::object());
  if (!loss || !config.is_object() || config.value("reduction", Json("sum_over_batch_size")) != "sum_over_batch_size") return false;
  for (const char* key : {"label_smoothing", "ignore_class"})
    if (config.contains(key) && !is_off(config[key])) return false;
  if (config.contains("delta") && config["delta"] != 1) return false;
  options.loss = loss->name;
  options.from_logits = config.value("from_logits", Json(false)) == true;
  return true;
}

bool read_metric(const Json& value, CompileOptions& options) {
  if (!value.is_string()) return false;
  try {
    find_metric(value.get<std::string>());
  } catch (const Error&) {
    return false;
  }
  options.metrics.push_back(value.get<std::string>());
  return true;
}

}  // namespace

std::optional<CompileOptions> read_compile_config(const Json& config) {
  CompileOptions options;
  if (!config.is_object() || !config.contains("optimizer") || !config.contains("loss")) return std::nullopt;
  options.optimizer_object = optimizer_of(config["optimizer"]);
  if (!options.optimizer_object || !read_loss(config["loss"], options)) return std::nullopt;
  for (const char* key : {"loss_weights", "weighted_metrics"})
    if (config.contains(key) && !is_off(config[key])) return std::nullopt;
  if (!config.contains("metrics") || config["metrics"].is_null()) return options;
  for (const Json& metric : config["metrics"])
    if (!read_metric(metric, options)) return std::nullopt;
  return options;
}

Json compile_config(const CompileOptions& options, const Optimizer& optimizer) {
  Json loss = options.loss;
  if (options.from_logits)
    loss = {{"module", "keras.losses"}, {"class_name", find_loss(options.loss).class_name}, {"config", {{"from_logits", true}}}, {"registered_name", nullptr}};
  return {{"optimizer", {{"module", "keras.optimizers"}, {"class_name", optimizer.class_name()}, {"config", Json::parse(optimizer.arguments())}, {"registered_name", nullptr}}},
          {"loss", loss},
          {"metrics", options.metrics}};
}

}  // namespace tandem
