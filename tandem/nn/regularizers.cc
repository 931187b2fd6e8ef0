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
  const NamedJson given = named(json).value_or(NamedJson{});
  const std::string name = snake_case(given.name);
  const auto real = [&](const char* key, double fallback) { return real_or(given.config, key, fallback); };
  if (name == "l1") return {.l1 = real("l1", kDefault)};
  if (name == "l2") return {.l2 = real("l2", kDefault)};
  if (name == "l1l2" || name == "l1_l2") return json.is_object() ? Regularizer{real("l1", 0), real("l2", 0)} : Regularizer{kDefault, kDefault};
  fail(ErrorCode::invalid_argument, "unknown regularizer ", shown(json), "; the known ones are l1, l2 and l1_l2");
}

}  // namespace tandem
