// Functions of probability; named as TensorFlow names them.
#pragma once
#include "tandem/op/op_def.h"

namespace tandem {

Tensor lgamma(const Tensor& x);   // log |gamma(x)|
Tensor digamma(const Tensor& x);  // its derivative
Tensor erfinv(const Tensor& x);
Tensor ndtri(const Tensor& x);    // the inverse of the normal distribution

OpGroup special_ops();

}  // namespace tandem
