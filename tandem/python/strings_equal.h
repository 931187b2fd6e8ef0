// Equality of strings: what Python's operators need and no op record gives yet.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::python {

/// Elementwise; `when_equal` is what equal strings give.
Tensor strings_equal(const Tensor& x, const Tensor& y, bool when_equal);

}  // namespace tandem::python
