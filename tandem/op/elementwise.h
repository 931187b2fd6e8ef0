// Elementwise ops beyond the everyday ones of ops.h; named as TensorFlow names them.
#pragma once
#include "tandem/op/ops.h"

namespace tandem {

// --- Trigonometry; angles in radians. ---
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tan(const Tensor& x);
Tensor asin(const Tensor& x);
Tensor acos(const Tensor& x);
Tensor atan(const Tensor& x);
Tensor sinh(const Tensor& x);
Tensor cosh(const Tensor& x);
Tensor asinh(const Tensor& x);
Tensor acosh(const Tensor& x);
Tensor atanh(const Tensor& x);
Tensor atan2(const Tensor& y, const Tensor& x);

// --- Exponentials, rounding, quotients. ---
Tensor expm1(const Tensor& x);
Tensor log1p(const Tensor& x);
Tensor erf(const Tensor& x);
Tensor erfc(const Tensor& x);
Tensor reciprocal(const Tensor& x);
Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);
Tensor round(const Tensor& x);
Tensor rint(const Tensor& x);
/// Rounded down; integers stay integers, and a zero among integers y is refused (also by the next two).
Tensor floordiv(const Tensor& x, const Tensor& y);
Tensor floormod(const Tensor& x, const Tensor& y);     // the sign of y
Tensor truncatediv(const Tensor& x, const Tensor& y);  // integers; towards zero
Tensor squared_difference(const Tensor& x, const Tensor& y);
Tensor divide_no_nan(const Tensor& x, const Tensor& y);    // 0 where y is 0
Tensor multiply_no_nan(const Tensor& x, const Tensor& y);  // 0 where y is 0
Tensor xlogy(const Tensor& x, const Tensor& y);            // 0 where x is 0
Tensor xdivy(const Tensor& x, const Tensor& y);            // 0 where x is 0
Tensor clip_by_value(const Tensor& t, const Tensor& clip_value_min, const Tensor& clip_value_max);

// --- Tests of numbers, logic, bits. ---
Tensor is_nan(const Tensor& x);
Tensor is_inf(const Tensor& x);
Tensor is_finite(const Tensor& x);
Tensor logical_xor(const Tensor& x, const Tensor& y);
Tensor bitwise_and(const Tensor& x, const Tensor& y);
Tensor bitwise_or(const Tensor& x, const Tensor& y);
Tensor bitwise_xor(const Tensor& x, const Tensor& y);
Tensor left_shift(const Tensor& x, const Tensor& y);
Tensor right_shift(const Tensor& x, const Tensor& y);
Tensor invert(const Tensor& x);

// --- Activations. ---
Tensor relu6(const Tensor& features);
Tensor leaky_relu(const Tensor& features, double alpha = 0.2);
Tensor elu(const Tensor& features);
Tensor selu(const Tensor& features);
Tensor silu(const Tensor& features);
Tensor softplus(const Tensor& features);
Tensor softsign(const Tensor& features);
Tensor hard_sigmoid(const Tensor& x);
Tensor hard_silu(const Tensor& x);
Tensor mish(const Tensor& x);
Tensor log_sigmoid(const Tensor& x);

}  // namespace tandem
