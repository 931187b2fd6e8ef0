// The gradient of gather: rows added where they were taken from. Each thread has columns of its own and adds the rows
// in their order, so nothing depends on the number of threads and no two threads write one place.
#include <algorithm>

#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/library_kernels.h"
#include "tandem/backend/cpu/reference/access.h"
#include "tandem/kernel/around_axis.h"

namespace tandem::cpu {
namespace {

/// params (outer, size, inner); grad (outer, count, inner).
struct Plan : AroundAxis {
  std::int64_t count = 0;
  DType index;
};

Plan plan_of(const KernelCall& call) {
  const Shape& params = call.outputs[0].shape();
  const int axis = normalize_axis("gather_grad", call.attr().integer("axis"), params.rank());
  return {around_axis(params, axis), call.shape(1).elements(), call.dtype(1)};
}

std::int64_t checked_index(const Plan& plan, const void* indices, std::int64_t i) {
  const std::int64_t index = index_at(indices, plan.index, i);
  if (index < 0 || index >= plan.size)
    fail(ErrorCode::index_out_of_range, "gather_grad: index ", index, " at position ", i, " is outside an axis of size ",
         plan.size);
  return index;
}

template <class T>
void add_rows(const Plan& plan, const KernelArgs& args) {
  std::fill_n(args.output<T>(), plan.outer * plan.size * plan.inner, T{0});
  for (std::int64_t o = 0; o < plan.outer; ++o) {
    const T* from = args.input<T>() + o * plan.count * plan.inner;
    T* to = args.output<T>() + o * plan.size * plan.inner;
    const std::int64_t column_bytes = plan.count * static_cast<std::int64_t>(sizeof(T));
    parallel_ranges(plan.inner, column_bytes, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = 0; i < plan.count; ++i) {
        T* row = to + checked_index(plan, args.inputs[1], i) * plan.inner;
        for (std::int64_t k = first; k < last; ++k) row[k] += from[i * plan.inner + k];
      }
    });
  }
}

Support supports(const KernelCall& call) {
  if (!all_dense(call)) return no("needs dense operands");
  const DType dtype = call.dtype();
  if (dtype == DType::f32 || dtype == DType::f64 || dtype == DType::i32 || dtype == DType::i64) return yes();
  return no("adds in the tensor's own dtype, which ", dtype, " is too small for");
}

Prepared prepare(const KernelCall& call) {
  const Plan plan = plan_of(call);
  switch (call.dtype()) {
    case DType::f32: return prepared([plan](const KernelArgs& args) { add_rows<float>(plan, args); });
    case DType::f64: return prepared([plan](const KernelArgs& args) { add_rows<double>(plan, args); });
    case DType::i32: return prepared([plan](const KernelArgs& args) { add_rows<std::int32_t>(plan, args); });
    default: return prepared([plan](const KernelArgs& args) { add_rows<std::int64_t>(plan, args); });
  }
}

}  // namespace

KernelList gather_grad_kernels() { return {{.name = "rows", .supports = supports, .prepare = prepare}}; }

}  // namespace tandem::cpu
