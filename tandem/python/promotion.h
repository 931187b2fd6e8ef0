// Operands of different dtypes: refused, unless tf.experimental.numpy asked for NumPy's rules.
#pragma once
#include "tandem/python/module.h"

namespace tandem::python {

/// From now on operators call `function(a, b)`, which gives both operands as tensors of one dtype, or None to leave
/// them. None: dtypes never mix, as it is from the start.
void set_promotion(nb::object function);

}  // namespace tandem::python
