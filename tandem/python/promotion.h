// NumPy's rules, which tf.experimental.numpy asks for: operands of different dtypes and lists as indices, both refused otherwise.
#pragma once
#include "tandem/python/module.h"

namespace tandem::python {

/// From now on operators call `function(a, b)`, which gives both operands as tensors of one dtype, or None to leave them.
/// None: dtypes never mix, as it is from the start.
void set_promotion(nb::object function);

/// From now on tensor[key] calls `function(tensor, key)` for keys that only NumPy knows: lists, arrays. None: they are refused.
void set_indexing(nb::object function);

}  // namespace tandem::python
