// Tensors of sizes while a function is traced with open ones: which numbers are in them, and where such a number has
// been taken for one that is known.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "tandem/op/dispatcher.h"

namespace tandem {

/// A few integers: perhaps a shape, or what was computed from one.
bool may_hold_sizes(const TensorSpec& spec);

/// Throws cannot_trace when a number in a constant was computed from an open size: it would be wrong for all others.
void check_constant(const Tensor& constant);

/// The numbers that an op on sizes gives, for its output 0; nothing when one of its inputs holds none or the op is none
/// that keeps track of them. `sizes_in` has the numbers of a symbolic tensor, or null.
std::optional<std::vector<std::int64_t>> followed(
    const OpCall& call, const std::function<const std::vector<std::int64_t>*(const Tensor&)>& sizes_in);

}  // namespace tandem
