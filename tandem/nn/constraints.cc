#include "tandem/nn/constraints.h"

#include "tandem/base/nearest.h"
#include "tandem/op/keras_epsilon.h"
#include "tandem/nn/layer_json.h"
#include "tandem/op/ops.h"

namespace tandem {
namespace {

Ints axes_in(const Json& config) {
  if (!config.contains("axis")) return {0};
  const Json& axis = config["axis"];
  if (axis.is_number_integer()) return {axis.get<std::int64_t>()};
  Ints axes;
  if (axis.is_array())
    for (const Json& one : axis)
      if (one.is_number_integer()) axes.push_back(one.get<std::int64_t>());
  if (axes.empty() || axes.size() != axis.size())
    fail(ErrorCode::invalid_argument, "a constraint's axis must be an integer or a list of them, got ", shown(axis));
  return axes;
}

Tensor norms(const Tensor& w, const Ints& axes) { return sqrt(reduce_sum(square(w), axes, true)); }

Constraint max_norm(const Json& config) {
  return [most = real_or(config, "max_value", 2), axes = axes_in(config)](const Tensor& w) {
    const Tensor norm = norms(w, axes);
    return w * (minimum(norm, most) / (norm + kKerasEpsilon));
  };
}

Constraint min_max_norm(const Json& config) {
  const double least = real_or(config, "min_value", 0), most = real_or(config, "max_value", 1),
               rate = real_or(config, "rate", 1);
  return [=, axes = axes_in(config)](const Tensor& w) {
    const Tensor norm = norms(w, axes), wanted = rate * maximum(minimum(norm, most), least) + (1 - rate) * norm;
    return w * (wanted / (norm + kKerasEpsilon));
  };
}

Constraint unit_norm(const Json& config) {
  return [axes = axes_in(config)](const Tensor& w) { return w / (norms(w, axes) + kKerasEpsilon); };
}

Constraint non_neg(const Json&) {
  return [](const Tensor& w) { return maximum(w, 0.0); };
}

struct ConstraintRecord {
  std::string_view name;
  Constraint (*make)(const Json& config);
};
constexpr ConstraintRecord kConstraints[] = {
    {"max_norm", max_norm}, {"min_max_norm", min_max_norm}, {"unit_norm", unit_norm}, {"non_neg", non_neg}};

}  // namespace

Constraint read_constraint(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  const auto given = named(json);
  if (!given)
    fail(ErrorCode::invalid_argument, "a constraint must be a name or an object with class_name, got ", shown(json));
  std::vector<std::string_view> known;
  for (const ConstraintRecord& record : kConstraints) {
    if (record.name == snake_case(given->name)) return record.make(given->config);
    known.push_back(record.name);
  }
  fail(ErrorCode::invalid_argument, "unknown constraint '", given->name, "'", nearest_hint(given->name, known),
       "; the known ones are ", join(known));
}

}  // namespace tandem
