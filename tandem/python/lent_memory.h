// Tensors over memory that somebody else owns: NumPy's arrays, DLPack's tensors.
#pragma once
#include <functional>

#include "tandem/core/tensor.h"

namespace tandem::python {

/// A tensor whose values lie at `data`, which stay as they are until `release` is called, on whatever thread lets the
/// last of it go. Nothing writes to them.
Tensor lent_tensor(const TensorSpec& spec, void* data, std::function<void()> release);

}  // namespace tandem::python
