#include "tandem/nn/compile_config.h"

#include "tandem/nn/objective_json.h"
#include "tandem/nn/optimizers.h"

namespace tandem {
namespace {

/// What is given for each output: a list in their order, or an object by their names. Nothing for anything else.
std::optional<std::vector<Json>> by_output(const Json& value, const std::vector<std::string>& outputs) {
  std::vector<Json> all;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (value.is_array() && value.size() == outputs.size()) all.push_back(value[i]);
    else if (value.is_object() && value.contains(outputs[i])) all.push_back(value[outputs[i]]);
    else return std::nullopt;
  }
  return all;
}

std::shared_ptr<Optimizer> optimizer_of(const Json& value) {
  const auto given = named(value);
  if (!given) return nullptr;
  try {
    return given->has_config ? read_optimizer(given->name, given->config.dump()) : make_optimizer(given->name);
  } catch (const Error&) {
    return nullptr;
  }
}

bool read_losses(const Json& value, const std::vector<std::string>& outputs, CompileOptions& options) {
  if (const auto one = loss_from_json(value)) {
    options.loss = *one;
    return true;
  }
  const auto each = by_output(value, outputs);
  for (std::size_t i = 0; each && i < each->size(); ++i) {
    const auto one = loss_from_json((*each)[i]);
    if (!one) return false;
    options.losses.push_back(*one);
  }
  return each.has_value();
}

bool read_weights(const Json& value, const std::vector<std::string>& outputs, CompileOptions& options) {
  if (value.is_null()) return true;
  const auto each = by_output(value, outputs);
  for (std::size_t i = 0; each && i < each->size(); ++i) {
    if (!(*each)[i].is_number()) return false;
    options.loss_weights.push_back((*each)[i].get<double>());
  }
  return each.has_value();
}

/// One metric, or a list of them.
bool read_list(const Json& value, std::vector<MetricConfig>& out) {
  if (value.is_null()) return true;
  for (const Json& item : value.is_array() ? value : Json::array({value})) {
    auto metric = metric_from_json(item);
    if (!metric) return false;
    try {
      make_metric(*metric);  // with arguments that fit?
    } catch (const Error&) {
      return false;
    }
    out.push_back(std::move(*metric));
  }
  return true;
}

bool read_metrics(const Json& value, const std::vector<std::string>& outputs, CompileOptions& options) {
  if (outputs.size() == 1) {
    const auto each = by_output(value, outputs);
    return read_list(each && !metric_from_json((*each)[0]) ? (*each)[0] : value, options.metrics);
  }
  if (value.is_null() || (value.is_array() && value.empty())) return true;
  const auto each = by_output(value, outputs);
  for (std::size_t i = 0; each && i < each->size(); ++i)
    if (!read_list((*each)[i], options.output_metrics.emplace_back())) return false;
  return each.has_value();
}

}  // namespace

std::optional<CompileOptions> read_compile_config(const Json& config, const std::vector<std::string>& outputs) {
  CompileOptions options;
  if (!config.is_object() || !config.contains("optimizer") || !config.contains("loss")) return std::nullopt;
  const auto given = [&](const char* key) { return config.contains(key) ? config[key] : Json(); };
  options.optimizer_object = optimizer_of(config["optimizer"]);
  const bool known = options.optimizer_object && read_losses(config["loss"], outputs, options) &&
                     read_weights(given("loss_weights"), outputs, options) &&
                     read_metrics(given("metrics"), outputs, options) &&
                     read_list(given("weighted_metrics"), options.weighted_metrics);
  return known ? std::optional(std::move(options)) : std::nullopt;
}

Json compile_config(const CompileOptions& options, const Optimizer& optimizer) {
  const auto loss_of = [&](LossConfig loss) {
    if (options.loss_function || loss.function || loss.name.empty()) return Json();  // one's own, which no file holds
    loss.arguments.from_logits = loss.arguments.from_logits || options.from_logits;
    return loss_json(loss);
  };
  const auto list_of = [](const std::vector<MetricConfig>& metrics) {
    Json list = Json::array();
    for (const MetricConfig& metric : metrics)
      if (!metric.maker) list.push_back(metric_json(metric));
    return list;
  };
  Json losses = Json::array(), metrics = Json::array();
  for (const LossConfig& loss : options.losses) losses.push_back(loss_of(loss));
  for (const auto& list : options.output_metrics) metrics.push_back(list_of(list));
  Json config{{"optimizer",
               {{"module", "keras.optimizers"},
                {"class_name", optimizer.class_name()},
                {"config", Json::parse(optimizer.arguments())},
                {"registered_name", nullptr}}},
              {"loss", losses.empty() ? loss_of(options.loss) : losses},
              {"metrics", metrics.empty() ? list_of(options.metrics) : metrics}};
  if (!options.loss_weights.empty()) config["loss_weights"] = options.loss_weights;
  if (!options.weighted_metrics.empty()) config["weighted_metrics"] = list_of(options.weighted_metrics);
  return config;
}

}  // namespace tandem
