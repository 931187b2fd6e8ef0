#include "tandem/nn/objective_json.h"

#include <algorithm>
#include <set>

namespace tandem {
namespace {

/// Calls `with` for every argument: its name in a file, and where it is kept.
template <class Arguments, class F>
void each_loss_argument(Arguments& a, F&& with) {
  with("reduction", a.reduction);
  with("from_logits", a.from_logits);
  with("label_smoothing", a.label_smoothing);
  with("ignore_class", a.ignore_class);
  with("axis", a.axis);
  with("delta", a.delta);
  with("alpha", a.alpha);
  with("beta", a.beta);
  with("gamma", a.gamma);
  with("margin", a.margin);
  with("q", a.q);
  with("apply_class_balancing", a.apply_class_balancing);
  with("remove_diagonal", a.remove_diagonal);
}

template <class Arguments, class F>
void each_metric_argument(Arguments& a, F&& with) {
  with("name", a.name);
  with("threshold", a.threshold);
  with("beta", a.beta);
  with("thresholds", a.thresholds);
  with("num_thresholds", a.num_thresholds);
  with("top_k", a.top_k);
  with("class_id", a.class_id);
  with("k", a.k);
  with("curve", a.curve);
  with("summation_method", a.summation_method);
  with("multi_label", a.multi_label);
  with("num_labels", a.num_labels);
  with("label_weights", a.label_weights);
  with("precision", a.precision);
  with("recall", a.recall);
  with("sensitivity", a.sensitivity);
  with("specificity", a.specificity);
  with("average", a.average);
  with("num_classes", a.num_classes);
  with("target_class_ids", a.target_class_ids);
  with("sparse_y_true", a.sparse_y_true);
  with("sparse_y_pred", a.sparse_y_pred);
  with("class_aggregation", a.class_aggregation);
  with("num_regressors", a.num_regressors);
  with("from_logits", a.loss.from_logits);
  with("label_smoothing", a.loss.label_smoothing);
  with("ignore_class", a.loss.ignore_class);
  with("axis", a.loss.axis);
}

bool read(const Json& json, double& out) { return json.is_number() && (out = json.get<double>(), true); }
bool read(const Json& json, std::int64_t& out) {
  return json.is_number_integer() && (out = json.get<std::int64_t>(), true);
}
bool read(const Json& json, bool& out) { return json.is_boolean() && (out = json.get<bool>(), true); }
bool read(const Json& json, std::string& out) { return json.is_string() && (out = json.get<std::string>(), true); }
template <class T>
bool read(const Json& json, std::vector<T>& out) {
  out.clear();
  T one{};
  if (json.is_object()) {  // {"class_name": "__tensor__", "config": {"value": […]}}
    const auto config = json.find("config");
    return config != json.end() && config->is_object() && config->contains("value") && (*config)["value"].is_array() &&
           read((*config)["value"], out);
  }
  if (!json.is_array()) return read(json, one) && (out.push_back(one), true);
  for (const Json& item : json) {
    if (!read(item, one)) return false;
    out.push_back(one);
  }
  return true;
}
template <class T>
bool read(const Json& json, std::optional<T>& out) {
  T value{};
  return read(json, value) && (out = value, true);
}

/// Fills in the arguments that a file gives; false for one that is not known or of the wrong kind.
template <class Arguments, class Each>
bool read_arguments(const Json& config, Arguments& arguments, Each each, std::set<std::string> known) {
  bool fits = config.is_object();
  each(arguments, [&](const char* key, auto& field) {
    known.insert(key);
    if (fits && config.contains(key) && !config[key].is_null()) fits = read(config[key], field);
  });
  if (!fits) return false;
  for (const auto& [key, value] : config.items())
    if (!known.contains(key) && !value.is_null()) return false;
  return true;
}

/// What differs from the defaults.
template <class Arguments, class Each>
Json written(const Arguments& arguments, Each each) {
  Json config = Json::object();
  std::map<std::string, Json> defaults;
  const auto as_json = []<class T>(const T& field) {
    if constexpr (requires { field.has_value(); }) return field ? Json(*field) : Json();
    else return Json(field);
  };
  const Arguments fresh;
  each(fresh, [&](const char* key, const auto& field) { defaults[key] = as_json(field); });
  each(arguments, [&](const char* key, const auto& field) {
    const Json value = as_json(field);
    if (value == defaults[key]) return;
    config[key] =
        std::string_view(key) == "axis" && value.size() == 1 ? value[0] : value;  // Keras' losses want a number
  });
  return config;
}

constexpr auto kLossArguments = [](auto& arguments, auto&& with) { each_loss_argument(arguments, with); };
constexpr auto kMetricArguments = [](auto& arguments, auto&& with) { each_metric_argument(arguments, with); };

Json object_of(const char* module, std::string_view class_name, Json config) {
  return {{"module", module}, {"class_name", class_name}, {"config", std::move(config)}, {"registered_name", nullptr}};
}

}  // namespace

std::optional<LossConfig> loss_from_json(const Json& json) {
  const auto given = named(json);
  if (!given || !look_up_loss(given->name)) return std::nullopt;
  LossConfig loss(given->name);
  if (!given->has_config) return loss;
  if (!read_arguments(given->config, loss.arguments, kLossArguments, {"name", "dtype", "fn"}) ||
      loss.arguments.reduction == "none")
    return std::nullopt;
  return loss;
}

Json loss_json(const LossConfig& loss) {
  Json config = written(loss.arguments, kLossArguments);
  if (config.empty()) return loss.name;
  return object_of("keras.losses", find_loss(loss.name).class_name, std::move(config));
}

std::optional<MetricConfig> metric_from_json(const Json& json) {
  const auto given = named(json);
  if (!given || metric_class(given->name).empty()) {
    if (given && given->name == "acc" && !given->has_config) return MetricConfig("acc");
    return std::nullopt;
  }
  if (!given->has_config) return MetricConfig(given->name);
  MetricArguments arguments;
  if (!read_arguments(given->config, arguments, kMetricArguments, {"dtype", "fn"})) return std::nullopt;
  // None is a value of its own here.
  if (given->config.contains("class_aggregation") && given->config["class_aggregation"].is_null())
    arguments.class_aggregation = "";
  return MetricConfig(given->name, std::move(arguments));
}

Json metric_json(const MetricConfig& metric) {
  if (!metric.arguments) return metric.name;
  Json config = written(*metric.arguments, kMetricArguments);
  if (metric.arguments->class_aggregation == "") config["class_aggregation"] = nullptr;
  return object_of("keras.metrics", metric_class(metric.name), std::move(config));
}

}  // namespace tandem
