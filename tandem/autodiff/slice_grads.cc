#include "tandem/autodiff/slice_grads.h"

#include <algorithm>
#include <utility>

#include "tandem/op/array_records.h"
#include "tandem/op/ops.h"
#include "tandem/op/records.h"

namespace tandem {

bool SliceGrads::take(std::int32_t slot, const OpDef& op, const Attrs& attrs, const Shape& whole, const Tensor& grad) {
  if (&op != &slice_op && &op != &strided_slice_op) return false;
  const AttrView view(op, attrs);
  if (&op == &strided_slice_op &&
      !std::ranges::all_of(view.ints("strides"), [](std::int64_t stride) { return stride == 1; }))
    return false;
  int axis = -1;
  for (int i = 0; i < whole.rank(); ++i) {
    if (grad.shape()[i] == whole[i]) continue;
    if (axis >= 0) return false;
    axis = i;
  }
  if (axis < 0) return false;
  const std::int64_t begin = view.ints("begin")[static_cast<std::size_t>(axis)];
  Parts& kept = kept_.try_emplace(slot, Parts{whole, {}}).first->second;
  kept.parts.push_back({axis, begin, begin + grad.shape()[axis], grad});
  return true;
}

void SliceGrads::add_to(std::int32_t slot, Tensor& grad) {
  if (kept_.empty()) return;
  const auto found = kept_.find(slot);
  if (found == kept_.end()) return;
  Tensor more = joined(std::move(found->second));
  kept_.erase(found);
  grad = grad.defined() ? add(grad, more) : std::move(more);
}

std::vector<std::int32_t> SliceGrads::slots() const {
  std::vector<std::int32_t> slots;
  for (const auto& [slot, kept] : kept_) slots.push_back(slot);
  std::ranges::sort(slots);  // the same order in every run
  return slots;
}

/// Each run of parts that follow one another along an axis, with zeros around it; the sum of these.
Tensor SliceGrads::joined(Parts kept) {
  std::ranges::stable_sort(kept.parts, {}, [](const Part& part) { return std::pair(part.axis, part.begin); });
  Tensor sum;
  for (std::size_t i = 0; i < kept.parts.size();) {
    const Part& first = kept.parts[i];
    Tensors run{first.grad};
    std::int64_t end = first.end;
    for (++i; i < kept.parts.size() && kept.parts[i].axis == first.axis && kept.parts[i].begin == end; ++i) {
      run.push_back(kept.parts[i].grad);
      end = kept.parts[i].end;
    }
    Tensor grad = run.size() == 1 ? run[0] : concat(run, first.axis);
    if (grad.shape() != kept.whole) {
      Ints margins(2 * static_cast<std::size_t>(kept.whole.rank()), 0);
      margins[2 * static_cast<std::size_t>(first.axis)] = first.begin;
      margins[2 * static_cast<std::size_t>(first.axis) + 1] = kept.whole[first.axis] - end;
      grad = pad(grad, margins);
    }
    sum = sum.defined() ? add(sum, grad) : std::move(grad);
  }
  return sum;
}

}  // namespace tandem
