// How gather and its gradient see any shapes: the same for the kernels of every device.
#pragma once
#include "tandem/kernel/around_axis.h"
#include "tandem/kernel/kernel.h"

namespace tandem {

/// params (batch, outer, size, inner) and indices (batch, count) give (batch, outer, count, inner).
struct GatherSizes {
  int axis = 0;
  std::int64_t batch = 1, outer = 1, size = 0, inner = 1;
  std::int64_t count = 1;
  DType index;

  /// Blocks (size, inner) of params, one after the other; block b goes by the indices from first_index(b) on.
  std::int64_t blocks() const { return batch * outer; }
  std::int64_t first_index(std::int64_t block) const { return block / outer * count; }
};

/// Of a call of gather or gather_grad, whose second operand is the indices.
inline GatherSizes gather_sizes(const KernelCall& call, const Shape& params) {
  const int axis = normalize_axis(call.op.name, call.attr().integer("axis"), params.rank());
  const auto batch_dims = static_cast<int>(call.attr().integer("batch_dims"));
  const AroundAxis around = around_axis(params, axis);
  GatherSizes sizes{.axis = axis, .size = around.size, .inner = around.inner, .index = call.dtype(1)};
  for (int i = 0; i < axis; ++i) (i < batch_dims ? sizes.batch : sizes.outer) *= params[i];
  for (int i = batch_dims; i < call.shape(1).rank(); ++i) sizes.count *= call.shape(1)[i];
  return sizes;
}

}  // namespace tandem
