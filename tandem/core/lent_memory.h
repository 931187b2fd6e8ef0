// Tensors over memory that somebody else owns: arrays of NumPy, tensors of DLPack, rows of a larger tensor.
#pragma once
#include <functional>

#include "tandem/core/tensor.h"

namespace tandem {

/// A tensor whose values lie at `data`, which stay as they are until `release` is called, on whatever thread lets the
/// last of it go. Nothing writes to them.
Tensor lent_tensor(const TensorSpec& spec, void* data, const Decision* decision, std::function<void()> release);

}  // namespace tandem
