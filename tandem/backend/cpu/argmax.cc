// argmax and argmin: the first of the largest or smallest; a NaN counts as the lowest or highest there is, as in
// TensorFlow.
#include <algorithm>
#include <limits>

#include "tandem/backend/cpu/compare.h"
#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/library_kernels.h"
#include "tandem/backend/cpu/simd.h"
#include "tandem/kernel/around_axis.h"

namespace tandem::cpu {
namespace {

/// Never by a NaN.
template <bool kLeast, class C>
bool wins(C challenger, C best) {
  return kLeast ? challenger < best : challenger > best;
}

/// What a challenger has to beat first.
template <bool kLeast, class C>
C first_best(C value) {
  if constexpr (std::is_floating_point_v<C>) {
    constexpr C kWorst = kLeast ? std::numeric_limits<C>::infinity() : -std::numeric_limits<C>::infinity();
    return value != value ? kWorst : value;
  }
  return value;
}

/// input (outer, size, inner), result (outer, inner).
using ArgmaxPlan = AroundAxis;

ArgmaxPlan argmax_plan(const KernelCall& call) {
  const Shape& input = call.shape();
  const int axis = normalize_axis(call.op.name, call.attr().integer("axis"), input.rank());
  return around_axis(input, axis);
}

/// The largest of a long row by lanes, then where it stands first: two passes, both of them vectors.
template <bool kLeast, class T>
__attribute__((always_inline)) inline std::int64_t row_argmax(const T* row, std::int64_t size) {
  using C = Comparable<T>;
  constexpr int kLanes = 32;
  std::int64_t at = 0;
  C best = first_best<kLeast>(comparable(row[0]));
  if (size >= 4 * kLanes) {
    C lanes[kLanes];
    for (int j = 0; j < kLanes; ++j) lanes[j] = first_best<kLeast>(comparable(row[j]));
    for (at = kLanes; at + kLanes <= size; at += kLanes)
      for (int j = 0; j < kLanes; ++j) {
        const C value = comparable(row[at + j]);
        lanes[j] = wins<kLeast>(value, lanes[j]) ? value : lanes[j];
      }
    best = lanes[0];
    for (int j = 1; j < kLanes; ++j) best = wins<kLeast>(lanes[j], best) ? lanes[j] : best;
    for (; at < size; ++at) best = wins<kLeast>(comparable(row[at]), best) ? comparable(row[at]) : best;
    for (std::int64_t i = 0; i < size; ++i)
      if (comparable(row[i]) == best) return i;
    return 0;  // nothing but NaN
  }
  for (std::int64_t i = 1; i < size; ++i)
    if (wins<kLeast>(comparable(row[i]), best)) {
      best = comparable(row[i]);
      at = i;
    }
  return at;
}

constexpr std::int64_t kColumns = 256;

/// Columns [first, first + count) of one (size, inner) matrix, row by row.
template <bool kLeast, class T, class Index>
__attribute__((always_inline)) inline void column_argmax(const ArgmaxPlan& plan, const T* from, std::int64_t count,
                                                         Index* to) {
  using C = Comparable<T>;
  C best[kColumns];
  for (std::int64_t i = 0; i < count; ++i) {
    best[i] = first_best<kLeast>(comparable(from[i]));
    to[i] = 0;
  }
  for (std::int64_t r = 1; r < plan.size; ++r) {
    const T* row = from + r * plan.inner;
    for (std::int64_t i = 0; i < count; ++i) {
      const C value = comparable(row[i]);
      const bool better = wins<kLeast>(value, best[i]);
      best[i] = better ? value : best[i];
      to[i] = better ? static_cast<Index>(r) : to[i];
    }
  }
}

template <bool kLeast, class T, class Index>
void argmax(const ArgmaxPlan& plan, const T* from, Index* to) {
  const std::int64_t blocks = (plan.inner + kColumns - 1) / kColumns;
  const std::int64_t block_bytes = plan.size * std::min(plan.inner, kColumns) * sizeof(T);
  parallel_ranges(plan.outer * blocks, block_bytes, [&](std::int64_t first, std::int64_t last) {
    wide([&]() __attribute__((always_inline)) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t o = i / blocks, column = i % blocks * kColumns;
        const T* block = from + o * plan.size * plan.inner + column;
        Index* result = to + o * plan.inner + column;
        if (plan.inner == 1) *result = static_cast<Index>(row_argmax<kLeast>(block, plan.size));
        else column_argmax<kLeast>(plan, block, std::min(kColumns, plan.inner - column), result);
      }
    });
  });
}

Support lanes_argmax(const KernelCall& call) {
  if (dtype_size(call.dtype()) == 0) return no("strings are not numbers");
  if (!all_dense(call)) return no("needs dense operands");
  if (call.outputs[0].dtype() != DType::i32 && call.outputs[0].dtype() != DType::i64)
    return no("gives int32 or int64, not ", call.outputs[0].dtype());
  if (argmax_plan(call).size == 0) return no("the axis is empty");
  return yes();
}

template <bool kLeast>
Prepared prepare_arg(const KernelCall& call) {
  const ArgmaxPlan plan = argmax_plan(call);
  const bool narrow = call.outputs[0].dtype() == DType::i32;
  return visit_dtype(call.dtype(), [&]<class T>(TypeTag<T>) -> Prepared {
    if (narrow)
      return prepared(
          [plan](const KernelArgs& args) { argmax<kLeast>(plan, args.input<T>(), args.output<std::int32_t>()); });
    return prepared(
        [plan](const KernelArgs& args) { argmax<kLeast>(plan, args.input<T>(), args.output<std::int64_t>()); });
  });
}

}  // namespace

KernelList argmax_kernels() { return {{"lanes", lanes_argmax, prepare_arg<false>}}; }
KernelList argmin_kernels() { return {{"lanes", lanes_argmax, prepare_arg<true>}}; }

}  // namespace tandem::cpu
