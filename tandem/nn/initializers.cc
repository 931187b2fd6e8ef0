#include "tandem/nn/initializers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "tandem/base/nearest.h"
#include "tandem/nn/layer_json.h"
#include "tandem/op/arrays.h"
#include "tandem/op/elementwise.h"
#include "tandem/op/linalg.h"
#include "tandem/op/special.h"

namespace tandem {

Tensor truncated_normal(const Shape& shape, double mean, double stddev) {
  // The quantiles of probabilities between those of -2 and 2.
  const double outside = std::erfc(2 / std::sqrt(2.0)) / 2;
  const Tensor probability = random_uniform(shape, outside, 1 - outside);
  return erfinv(probability * 2.0 - 1.0) * (std::sqrt(2.0) * stddev) + mean;
}

Tensor variance_scaling(const Shape& shape, const VarianceScalingOptions& options) {
  double field = 1;  // positions of a convolution's window
  for (int i = 0; i < shape.rank() - 2; ++i) field *= static_cast<double>(shape[i]);
  const double last = shape.rank() ? static_cast<double>(shape[-1]) : 1;
  const double in = shape.rank() < 2 ? last : field * static_cast<double>(shape[-2]),
               out = shape.rank() < 2 ? last : field * last;
  const double fan = options.mode == "fan_in" ? in : options.mode == "fan_out" ? out : (in + out) / 2;
  const double scale = options.scale / std::max(1.0, fan);
  if (options.distribution == "uniform") {
    const double limit = std::sqrt(3 * scale);
    return random_uniform(shape, -limit, limit);
  }
  constexpr double kDeviationWithinTwo = 0.87962566103423978;  // of a normal distribution cut at two deviations
  if (options.distribution == "truncated_normal")
    return truncated_normal(shape, 0, std::sqrt(scale) / kDeviationWithinTwo);
  return random_normal(shape, 0, std::sqrt(scale));
}

Tensor orthogonal(const Shape& shape, double gain) {
  if (shape.rank() < 2)
    fail(ErrorCode::shape_mismatch, "the orthogonal initializer needs at least two axes, got ", shape);
  const std::int64_t columns = shape[-1], rows = shape.elements() / std::max<std::int64_t>(columns, 1);
  const auto [q, r] = qr(random_normal({std::max(rows, columns), std::min(rows, columns)}));
  const std::int64_t n = std::min(rows, columns);
  // The signs of R's diagonal make the result evenly distributed.
  const Tensor diagonal = reduce_sum(slice(r, {0, 0}, {n, n}) * one_hot(range(0, static_cast<double>(n)), n), {1});
  const Tensor signed_q = q * where(less(diagonal, 0.0), fill({n}, -1), ones({n}));
  return reshape(rows < columns ? transpose(signed_q) : signed_q, shape) * gain;
}

namespace {

struct InitializerRecord {
  std::string_view name;
  Initializer (*make)(const Json& config);
};

template <double kScale, bool kBoth, bool kUniform>
Initializer scaled(const Json&) {
  return [](const Shape& shape) {
    return variance_scaling(shape, {kScale, kBoth ? "fan_avg" : "fan_in", kUniform ? "uniform" : "truncated_normal"});
  };
}

Initializer make_variance_scaling(const Json& config) {
  return [=](const Shape& shape) {
    const std::string mode = text_or(config, "mode", "fan_in"),
                      distribution = text_or(config, "distribution", "truncated_normal");
    return variance_scaling(shape, {real_or(config, "scale", 1), mode, distribution});
  };
}

Tensor identity_matrix(const Shape& shape, double gain) {
  if (shape.rank() != 2) fail(ErrorCode::shape_mismatch, "the identity initializer needs two axes, got ", shape);
  return one_hot(range(0, static_cast<double>(shape[0])), shape[1]) * gain;
}

constexpr InitializerRecord kInitializers[] = {
    {"zeros", [](const Json&) -> Initializer { return [](const Shape& shape) { return zeros(shape); }; }},
    {"ones", [](const Json&) -> Initializer { return [](const Shape& shape) { return ones(shape); }; }},
    {"constant",
     [](const Json& c) -> Initializer {
       return [v = real_or(c, "value", 0)](const Shape& shape) { return fill(shape, v); };
     }},
    {"random_normal",
     [](const Json& c) -> Initializer {
       return [m = real_or(c, "mean", 0), d = real_or(c, "stddev", 0.05)](const Shape& shape) {
         return random_normal(shape, m, d);
       };
     }},
    {"truncated_normal",
     [](const Json& c) -> Initializer {
       return [m = real_or(c, "mean", 0), d = real_or(c, "stddev", 0.05)](const Shape& shape) {
         return truncated_normal(shape, m, d);
       };
     }},
    {"random_uniform",
     [](const Json& c) -> Initializer {
       return [a = real_or(c, "minval", -0.05), b = real_or(c, "maxval", 0.05)](const Shape& shape) {
         return random_uniform(shape, a, b);
       };
     }},
    {"glorot_uniform", scaled<1.0, true, true>},
    {"glorot_normal", scaled<1.0, true, false>},
    {"he_uniform", scaled<2.0, false, true>},
    {"he_normal", scaled<2.0, false, false>},
    {"lecun_uniform", scaled<1.0, false, true>},
    {"lecun_normal", scaled<1.0, false, false>},
    {"variance_scaling", make_variance_scaling},
    {"orthogonal",
     [](const Json& c) -> Initializer {
       return [g = real_or(c, "gain", 1)](const Shape& shape) { return orthogonal(shape, g); };
     }},
    {"identity",
     [](const Json& c) -> Initializer {
       return [g = real_or(c, "gain", 1)](const Shape& shape) { return identity_matrix(shape, g); };
     }},
};

}  // namespace

Initializer read_initializer(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  const auto given = named(json);
  if (!given)
    fail(ErrorCode::invalid_argument, "an initializer must be a name or an object with class_name, got ", shown(json));
  const std::string name = snake_case(given->name);
  std::vector<std::string_view> known;
  for (const InitializerRecord& record : kInitializers) {
    if (record.name == name || (name == "orthogonal_initializer" && record.name == "orthogonal"))
      return record.make(given->config);
    known.push_back(record.name);
  }
  fail(ErrorCode::invalid_argument, "unknown initializer '", name, "'", nearest_hint(name, known),
       "; the known ones are ", join(known));
}

}  // namespace tandem
