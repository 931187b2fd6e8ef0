// What Python's operators need and no op record gives yet: floor division, remainders, equal strings.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::python {

/// floor(x / y); integers stay integers.
Tensor floordiv(const Tensor& x, const Tensor& y);
/// x - floordiv(x, y) * y: has the sign of y, as in Python.
Tensor floormod(const Tensor& x, const Tensor& y);
/// Elementwise; `when_equal` is what equal strings give.
Tensor strings_equal(const Tensor& x, const Tensor& y, bool when_equal);

}  // namespace tandem::python
