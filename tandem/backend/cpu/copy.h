// A copy from any strides into a dense tensor: transpose, slice and broadcast are this, prepared differently.
#pragma once
#include <array>
#include <cstdint>

#include "tandem/core/shape.h"

namespace tandem::cpu {

/// Axes of the result, outermost first, with the step of the source along each in elements. Axes that lie one in the
/// other on both sides are merged and axes of size one dropped, so that the last axis is as long as can be.
struct StridedCopy {
  int rank = 0;
  std::array<std::int64_t, kMaxRank> sizes{};
  std::array<std::int64_t, kMaxRank> steps{};
  std::int64_t elements = 0;
  int near = -1;  // the axis along which the source moves least, if that is not the last one
};

StridedCopy make_copy(const Shape& result, const Strides& source_steps);

/// Moves elements of `element_bytes` (1, 2, 4 or 8), on all cores when that pays.
void run_copy(const StridedCopy& copy, std::size_t element_bytes, const void* from, void* to);

}  // namespace tandem::cpu
