#include "tandem/nn/regularizers.h"

#include "tandem/nn/layer_json.h"
#include "tandem/op/ops.h"

namespace tandem {
namespace {

/// How far the rows, or the columns, of a matrix are from standing at right angles to each other.
Regularizer orthogonality(double factor, const std::string& mode) {
  if (mode != "rows" && mode != "columns")
    fail(ErrorCode::invalid_argument, "the orthogonal regularizer's mode must be 'rows' or 'columns', got '", mode,
         "'");
  return [factor, by_rows = mode == "rows"](const Tensor& x) {
    if (x.rank() != 2) fail(ErrorCode::shape_mismatch, "the orthogonal regularizer needs two axes, got ", x.shape());
    const Tensor unit = x * rsqrt(maximum(reduce_sum(square(x), {by_rows ? 1 : 0}, true), 1e-12));
    const std::int64_t size = x.shape()[by_rows ? 0 : 1];
    const Tensor others = matmul(unit, unit, !by_rows, by_rows) *
                          (1.0 - cast(one_hot(range(0, static_cast<double>(size)), size), x.dtype()));
    const double pairs = static_cast<double>(size) * static_cast<double>(size - 1) / 2;
    return reduce_sum(abs(others)) * (factor * 0.5 / pairs);
  };
}

}  // namespace

Regularizer l1_l2(double l1, double l2) {
  return [l1, l2](const Tensor& x) {
    if (l1 == 0) return reduce_sum(square(x)) * l2;
    if (l2 == 0) return reduce_sum(abs(x)) * l1;
    return reduce_sum(abs(x)) * l1 + reduce_sum(square(x)) * l2;
  };
}

Regularizer read_regularizer(std::string_view text) {
  constexpr double kDefault = 0.01;
  const Json json = Json::parse(text, nullptr, false);
  const NamedJson given = named(json).value_or(NamedJson{});
  const std::string name = snake_case(given.name);
  const auto real = [&](const char* key, double fallback) { return real_or(given.config, key, fallback); };
  if (name == "l1") return l1_l2(real("l1", kDefault), 0);
  if (name == "l2") return l1_l2(0, real("l2", kDefault));
  if (name == "l1l2" || name == "l1_l2")
    return json.is_object() ? l1_l2(real("l1", 0), real("l2", 0)) : l1_l2(kDefault, kDefault);
  if (name == "orthogonal_regularizer")
    return orthogonality(real("factor", kDefault), text_or(given.config, "mode", "rows"));
  fail(ErrorCode::invalid_argument, "unknown regularizer ", shown(json),
       "; the known ones are l1, l2, l1_l2 and orthogonal_regularizer");
}

}  // namespace tandem
