#include "tandem/nn/regularizers.h"

#include "tandem/nn/layer_json.h"
#include "tandem/op/ops.h"

namespace tandem {

Tensor Regularizer::operator()(const Tensor& x) const {
  if (l1 == 0) return reduce_sum(square(x)) * l2;
  if (l2 == 0) return reduce_sum(abs(x)) * l1;
  return reduce_sum(abs(x)) * l1 + reduce_sum(square(x)) * l2;
}

Regularizer read_regularizer(std::string_view text) {
  constexpr double kDefault = 0.01;
  const Json json = Json::parse(text, nullptr, false);
  const bool object = json.is_object() && json.contains("class_name") && json["class_name"].is_string();
  const std::string name = snake_case(object ? json["class_name"].get<std::string>() : json.is_string() ? json.get<std::string>() : "");
  const Json config = object ? json.value("config", Json::object()) : Json::object();
  const auto real = [&](const char* key, double fallback) { return config.contains(key) && config[key].is_number() ? config[key].get<double>() : fallback; };
  if (name == "l1") return {.l1 = real("l1", kDefault)};
  if (name == "l2") return {.l2 = real("l2", kDefault)};
  if (name == "l1l2" || name == "l1_l2") return object ? Regularizer{real("l1", 0), real("l2", 0)} : Regularizer{kDefault, kDefault};
  fail(ErrorCode::invalid_argument, "unknown regularizer ", shown(json), "; the known ones are l1, l2 and l1_l2");
}

}  // namespace tandem
