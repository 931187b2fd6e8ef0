// What large weights cost, with Keras' names and formulas.
#pragma once
#include <functional>
#include <string_view>

#include "tandem/core/tensor.h"

namespace tandem {

using Regularizer = std::function<Tensor(const Tensor& x)>;

/// l1 * sum(|x|) + l2 * sum(x^2)
Regularizer l1_l2(double l1, double l2);
/// By name ("l2") or as Keras' files have it ({"class_name": "L2", "config": {"l2": 0.01}}); the known ones are L1, L2,
/// L1L2 and OrthogonalRegularizer. Throws for unknown ones.
Regularizer read_regularizer(std::string_view json);

}  // namespace tandem
