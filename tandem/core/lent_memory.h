// Tensors over memory that somebody else owns: arrays of NumPy, tensors of DLPack, rows of a larger tensor.
#pragma once
#include <functional>

#include "tandem/core/tensor.h"

namespace tandem {

/// A tensor whose values lie at `data`, which stay as they are until `release` is called, on whatever thread lets the
/// last of it go. Nothing writes to them.
Tensor lent_tensor(const TensorSpec& spec, void* data, const Decision* decision, std::function<void()> release);
/// Part of a tensor where the host has it, `offset` bytes from its first: `whole` lives as long as the part does.
Tensor lent_part(const Tensor& whole, const TensorSpec& spec, std::size_t offset);
/// Bytes at `data`, to be written by a copy from a device; `release` as above.
Allocation lent_bytes(void* data, std::size_t bytes, std::function<void()> release);

}  // namespace tandem
