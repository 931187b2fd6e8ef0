// How a kernel walks several operands of one shape: axes joined where memory allows, cut into work-items.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "tandem/backend/opencl/context.h"
#include "tandem/core/shape.h"

namespace tandem::opencl {

/// Axes outermost first; strides[i][d] is operand i's element stride along axis d. Size-1 axes are gone, and axes that
/// lie behind one another in all operands are one.
struct Axes {
  std::vector<std::int64_t> sizes;
  std::vector<std::vector<std::int64_t>> strides;
  std::int64_t elements() const;
};
Axes join_axes(const Shape& shape, std::span<const Strides> strides);

/// Strides of `operand` seen under the broader shape `target`: 0 where it is broadcast.
Strides broadcast_strides(const Operand& operand, const Shape& target);

/// The words of the struct Nest below, and how many work-items run it. Rows are the positions of all axes but the last.
struct Nest {
  std::vector<std::int64_t> words;
  std::int64_t items = 0;
  std::int64_t length = 1;
};
Nest make_nest(const Axes& axes, int operands, const Context& context, double work);

/// `typedef struct {…} Nest;` and the macros ITEM_ROWS and ROW_OFFSETS for a nest of `operands` operands.
std::string nest_source(int operands);

}  // namespace tandem::opencl
