// First values of variables, with Keras' names and formulas.
#pragma once
#include <functional>
#include <string_view>

#include "tandem/op/ops.h"

namespace tandem {

using Initializer = std::function<Tensor(const Shape&)>;

/// By name ("he_normal", "HeNormal") or as Keras' files have it ({"class_name": "HeNormal", "config": {…}}). Throws for
/// unknown ones, naming the known.
Initializer read_initializer(std::string_view json);

/// Variance `scale` over the inputs ("fan_in"), the outputs ("fan_out") or their mean ("fan_avg"); the last two axes of
/// a kernel are inputs and outputs, those before them the positions of a window.
struct VarianceScalingOptions {
  double scale = 1;
  std::string_view mode = "fan_in";
  std::string_view distribution = "truncated_normal";  // or "untruncated_normal", "uniform"
};
Tensor variance_scaling(const Shape& shape, const VarianceScalingOptions& options);
inline Tensor glorot_uniform(const Shape& shape) { return variance_scaling(shape, {1, "fan_avg", "uniform"}); }
/// A normal distribution without what lies beyond two deviations.
Tensor truncated_normal(const Shape& shape, double mean, double stddev);
/// Rows or columns of length `gain`, at right angles to each other.
Tensor orthogonal(const Shape& shape, double gain = 1);

}  // namespace tandem
