// What weights must be after every step, with Keras' names and formulas.
#pragma once
#include <functional>
#include <string_view>

#include "tandem/core/tensor.h"

namespace tandem {

/// Weights in, the nearest allowed ones out.
using Constraint = std::function<Tensor(const Tensor& weights)>;

/// By name ("max_norm") or as Keras' files have it ({"class_name": "MaxNorm", "config": {"max_value": 2, "axis": 0}}).
/// Throws for unknown ones, naming the known.
Constraint read_constraint(std::string_view json);

}  // namespace tandem
