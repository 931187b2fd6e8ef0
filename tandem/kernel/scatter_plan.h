// What the kernels of slices with steps and of scatters derive from a call: the same for every device.
#pragma once
#include <array>

#include "tandem/op/array_records.h"
#include "tandem/kernel/kernel.h"

namespace tandem {

enum class ScatterKind { update, add, sub, min, max };

inline ScatterKind scatter_kind(const OpDef& op) {
  if (&op == &tensor_scatter_nd_update_op) return ScatterKind::update;
  if (&op == &tensor_scatter_nd_sub_op) return ScatterKind::sub;
  if (&op == &tensor_scatter_nd_min_op) return ScatterKind::min;
  return &op == &tensor_scatter_nd_max_op ? ScatterKind::max : ScatterKind::add;
}

/// A tensor [d1..., dk, inner...] and positions [rows, k] in its first k axes.
struct PositionPlan {
  std::int64_t rows = 1, inner = 1;
  int depth = 0;
  std::array<std::int64_t, kMaxRank> sizes{};  // d1..dk
  DType index;

  PositionPlan(const Shape& tensor, const Operand& indices)
      : depth(static_cast<int>(indices.shape()[-1])),
        index(indices.dtype()) {
    for (int i = 0; i + 1 < indices.shape().rank(); ++i) rows *= indices.shape()[i];
    for (int i = 0; i < tensor.rank(); ++i)
      (i < depth ? sizes[static_cast<std::size_t>(i)] : inner) = i < depth ? tensor[i] : inner * tensor[i];
  }
};

/// The offset of a slice's first element; throws when it leaves the tensor.
inline std::int64_t slice_offset(std::string_view op, const Shape& whole, const Shape& part,
                                 std::span<const std::int64_t> begin, std::span<const std::int64_t> strides) {
  if (part.elements() == 0) return 0;
  const Strides steps = dense_strides(whole);
  std::int64_t offset = 0;
  for (int i = 0; i < whole.rank(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t first = begin[at], last = first + (part[i] - 1) * strides[at];
    if (first < 0 || first >= whole[i] || last < 0 || last >= whole[i])
      fail(ErrorCode::index_out_of_range, op, ": ", part[i], " elements from ", first, " on, ", strides[at],
           " apart, leave axis ", i, " of ", whole);
    offset += first * steps[at];
  }
  return offset;
}

/// Element steps of a slice in the tensor it is taken from.
inline Strides slice_steps(const Shape& whole, std::span<const std::int64_t> strides) {
  Strides steps = dense_strides(whole);
  for (std::size_t i = 0; i < strides.size(); ++i) steps[i] *= strides[i];
  return steps;
}

}  // namespace tandem
