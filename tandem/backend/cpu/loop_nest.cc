#include "tandem/backend/cpu/loop_nest.h"

#include <algorithm>

#include "tandem/base/cores.h"

namespace tandem::cpu {
namespace {

/// Below this much work (simple operations) a slice does not pay for waking another thread.
constexpr double kSliceWork = 64 * 1024;

}  // namespace

LoopNest::LoopNest(const Shape& shape, std::span<const Operand> inputs, std::span<const Operand> outputs, double work)
    : inputs_(static_cast<int>(inputs.size())),
      outputs_(static_cast<int>(outputs.size())) {
  if (inputs_ + outputs_ > kMaxLoopOperands) {
    refusal_ = "too many operands for one loop";
    return;
  }
  for (const Operand& input : inputs) input_sizes_.push_back(static_cast<std::int64_t>(dtype_size(input.dtype())));
  for (const Operand& output : outputs) output_sizes_.push_back(static_cast<std::int64_t>(dtype_size(output.dtype())));
  empty_ = shape.elements() == 0;
  std::vector<Axis> axes;
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 1) continue;
    Axis axis{.size = shape[d]};
    for (int i = 0; i < inputs_; ++i) {
      const Operand& input = inputs[static_cast<std::size_t>(i)];
      const int own = d - (shape.rank() - input.shape().rank());
      axis.in[i] =
          own < 0 || input.shape()[own] == 1 ? 0 : input.strides[own] * input_sizes_[static_cast<std::size_t>(i)];
    }
    for (int k = 0; k < outputs_; ++k)
      axis.out[k] = outputs[static_cast<std::size_t>(k)].strides[d] * output_sizes_[static_cast<std::size_t>(k)];
    axes.push_back(axis);
  }
  if (shape.rank() > 0 && shape[0] > 1) {
    first_axis_ = shape[0];
    for (int i = 0; i < inputs_; ++i)
      if (axes[0].in[i] != 0) follows_first_ |= 1u << i;
  }
  join_axes(std::move(axes));
  cut(std::max(work, 1.0));
}

bool LoopNest::joins(const Axis& outer, const Axis& inner) const {
  for (int i = 0; i < inputs_; ++i)
    if (outer.in[i] != inner.in[i] * inner.size) return false;
  for (int k = 0; k < outputs_; ++k)
    if (outer.out[k] != inner.out[k] * inner.size) return false;
  return true;
}

void LoopNest::join_axes(std::vector<Axis> axes) {
  std::vector<Axis> joined;
  for (const Axis& axis : axes) {
    if (!joined.empty() && joins(joined.back(), axis)) {
      const std::int64_t size = joined.back().size * axis.size;
      joined.back() = axis;
      joined.back().size = size;
    } else {
      joined.push_back(axis);
    }
  }
  if (!joined.empty()) {
    inner_ = joined.back();
    joined.pop_back();
  } else {  // a single element: its neighbours would lie side by side
    for (int i = 0; i < inputs_; ++i) inner_.in[i] = input_sizes_[static_cast<std::size_t>(i)];
    for (int k = 0; k < outputs_; ++k) inner_.out[k] = output_sizes_[static_cast<std::size_t>(k)];
  }
  if (!joined.empty()) {
    rows_ = joined.back();
    joined.pop_back();
  }
  outer_ = std::move(joined);
  for (int i = 0; i < inputs_; ++i) {
    if (inner_.in[i] == 0) scalars_ |= 1u << i;
    else if (inner_.in[i] != input_sizes_[static_cast<std::size_t>(i)])
      refusal_ = "an operand's elements do not lie side by side";
  }
  for (int k = 0; k < outputs_; ++k)
    if (inner_.out[k] != output_sizes_[static_cast<std::size_t>(k)])
      refusal_ = "an output's elements do not lie side by side";
}

void LoopNest::cut(double work) {
  row_count_ = rows_.size;
  for (const Axis& axis : outer_) row_count_ *= axis.size;
  const double total = static_cast<double>(row_count_) * static_cast<double>(inner_.size) * work;
  const auto wanted = std::max<std::int64_t>(1, static_cast<std::int64_t>(total / kSliceWork));
  if (row_count_ == 1) {
    // Whole cache lines and whole vectors: no slice ends inside one.
    per_slice_ = (inner_.size + wanted - 1) / wanted;
    per_slice_ = std::max<std::int64_t>((per_slice_ + 1023) / 1024 * 1024, 1024);
    slices_ = (inner_.size + per_slice_ - 1) / per_slice_;
  } else {
    per_slice_ = std::max<std::int64_t>(1, (row_count_ + wanted - 1) / wanted);
    slices_ = (row_count_ + per_slice_ - 1) / per_slice_;
  }
}

void LoopNest::run(const Loop& loop, const KernelArgs& args) const {
  if (empty_) return;
  if (row_count_ == 1) {
    if (slices_ == 1) return run_elements(loop, args, 0, inner_.size);
    return parallel(slices_, [&](std::int64_t slice) {
      run_elements(loop, args, slice * per_slice_, std::min(inner_.size, (slice + 1) * per_slice_));
    });
  }
  parallel(slices_, [&](std::int64_t slice) {
    run_rows(loop, args, slice * per_slice_, std::min(row_count_, (slice + 1) * per_slice_));
  });
}

/// The first axis is part of the inner one where all axes are joined, else of the rows.
void LoopNest::run_part(const Loop& loop, const KernelArgs& args, RowRange part) const {
  if (empty_ || part.begin == part.end) return;
  if (row_count_ == 1) {
    const std::int64_t each = inner_.size / first_axis_;
    return run_elements(loop, args, part.begin * each, part.end * each);
  }
  const std::int64_t each = row_count_ / first_axis_;
  run_rows(loop, args, part.begin * each, part.end * each);
}

void LoopNest::run_elements(const Loop& loop, const KernelArgs& args, std::int64_t begin, std::int64_t end) const {
  LoopArgs a;
  for (int i = 0; i < inputs_; ++i) {
    a.inputs[i] = static_cast<const char*>(args.inputs[i]) + begin * inner_.in[i];
    a.input_row_strides[i] = 0;
  }
  for (int k = 0; k < outputs_; ++k) {
    a.outputs[k] = static_cast<char*>(args.outputs[k]) + begin * inner_.out[k];
    a.output_row_strides[k] = 0;
  }
  a.length = end - begin;
  a.index = static_cast<std::uint64_t>(begin);
  loop.run(a);
}

void LoopNest::run_rows(const Loop& loop, const KernelArgs& args, std::int64_t begin, std::int64_t end) const {
  LoopArgs a;
  a.length = inner_.size;
  a.index_stride = static_cast<std::uint64_t>(inner_.size);
  for (int i = 0; i < inputs_; ++i) a.input_row_strides[i] = rows_.in[i];
  for (int k = 0; k < outputs_; ++k) a.output_row_strides[k] = rows_.out[k];
  while (begin < end) {
    // As many rows as remain under the same outer position.
    const std::int64_t first = begin % rows_.size;
    a.rows = std::min(end - begin, rows_.size - first);
    std::int64_t in[kMaxLoopOperands] = {}, out[kMaxLoopOperands] = {};
    std::int64_t rest = begin / rows_.size;
    for (auto axis = outer_.rbegin(); axis != outer_.rend(); rest /= axis->size, ++axis) {
      const std::int64_t at = rest % axis->size;
      for (int i = 0; i < inputs_; ++i) in[i] += at * axis->in[i];
      for (int k = 0; k < outputs_; ++k) out[k] += at * axis->out[k];
    }
    for (int i = 0; i < inputs_; ++i)
      a.inputs[i] = static_cast<const char*>(args.inputs[i]) + in[i] + first * rows_.in[i];
    for (int k = 0; k < outputs_; ++k)
      a.outputs[k] = static_cast<char*>(args.outputs[k]) + out[k] + first * rows_.out[k];
    a.index = static_cast<std::uint64_t>(begin) * static_cast<std::uint64_t>(inner_.size);
    loop.run(a);
    begin += a.rows;
  }
}

}  // namespace tandem::cpu
