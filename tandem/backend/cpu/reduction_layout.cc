#include "tandem/backend/cpu/reduction_layout.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tandem::cpu {
namespace {

/// Axis `d` of the domain, as each operand sees it.
ReductionAxis axis_of(const Shape& domain, int d, std::span<const Operand> operands) {
  ReductionAxis axis{.size = domain[d]};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    const int own = d - (domain.rank() - operand.shape().rank());
    if (own >= 0 && operand.shape()[own] != 1)
      axis.strides[i] =
          operand.strides[static_cast<std::size_t>(own)] * static_cast<std::int64_t>(dtype_size(operand.dtype()));
  }
  return axis;
}

bool joins(const ReductionAxis& outer, const ReductionAxis& inner, std::size_t operands) {
  for (std::size_t i = 0; i < operands; ++i)
    if (outer.strides[i] != inner.strides[i] * inner.size) return false;
  return true;
}

std::int64_t product(const std::vector<ReductionAxis>& axes) {
  std::int64_t size = 1;
  for (const ReductionAxis& axis : axes) size *= axis.size;
  return size;
}

}  // namespace

ReductionLayout::ReductionLayout(const Shape& domain, AxisSet axes, std::span<const Operand> operands)
    : operands_(operands.size()) {
  std::vector<std::pair<ReductionAxis, bool>> joined;
  for (int d = 0; d < domain.rank(); ++d) {
    if (domain[d] == 1) continue;
    ReductionAxis axis = axis_of(domain, d, operands);
    if (!joined.empty() && joined.back().second == axes.contains(d) &&
        joins(joined.back().first, axis, operands.size())) {
      axis.size *= joined.back().first.size;
      joined.back().first = axis;
    } else {
      joined.push_back({axis, axes.contains(d)});
    }
  }
  if (joined.empty()) {  // a single element: its neighbours would lie side by side
    for (std::size_t i = 0; i < operands.size(); ++i)
      last.strides[i] = static_cast<std::int64_t>(dtype_size(operands[i].dtype()));
    return;
  }
  std::tie(last, last_reduced) = joined.back();
  joined.pop_back();
  const bool reduced_before = !joined.empty() && joined.back().second;
  for (const auto& [axis, is_reduced] : joined) (is_reduced ? reduced : kept).push_back(axis);
  // Where nothing else is kept, results are shared out by columns, which wide rows would mix up.
  if (!last_reduced && reduced_before && !kept.empty()) widen_narrow_rows();
  groups = product(kept);
  combos = product(reduced);
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (last.strides[i] == 0) scalars |= 1u << i;
}

void ReductionLayout::widen_narrow_rows() {
  constexpr std::int64_t kNarrow = 64, kWide = 512;  // a loop over fewer elements than kNarrow is mostly overhead
  ReductionAxis& rows = reduced.back();
  if (last.size >= kNarrow || last.size == 0 || !joins(rows, last, operands_)) return;
  std::int64_t count = std::min(rows.size, kWide / last.size);
  while (count > 1 && rows.size % count != 0) --count;
  if (count <= 1) return;
  rows_at_once = count;
  last.size *= count;
  rows.size /= count;
  for (std::size_t i = 0; i < operands_; ++i) rows.strides[i] *= count;
}

void ReductionLayout::add_offsets(const std::vector<ReductionAxis>& axes, std::int64_t index,
                                  ByteOffsets& offsets) const {
  for (auto axis = axes.rbegin(); axis != axes.rend(); index /= axis->size, ++axis)
    for (std::size_t i = 0; i < operands_; ++i) offsets[i] += index % axis->size * axis->strides[i];
}

}  // namespace tandem::cpu
