// What large weights cost, with Keras' names and formulas.
#pragma once
#include <string_view>

#include "tandem/core/tensor.h"

namespace tandem {

/// l1 * sum(|x|) + l2 * sum(x^2)
struct Regularizer {
  double l1 = 0, l2 = 0;
  Tensor operator()(const Tensor& x) const;
};

/// By name ("l2") or as Keras' files have it ({"class_name": "L2", "config": {"l2": 0.01}}). Throws for unknown ones.
Regularizer read_regularizer(std::string_view json);

}  // namespace tandem
