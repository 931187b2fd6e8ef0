// Where the largest and the smallest value along an axis is.
#include <limits>

#include "tandem/backend/opencl/kernels.h"
#include "tandem/backend/opencl/source.h"
#include "tandem/kernel/around_axis.h"
#include "tandem/op/array_records.h"
#include "tandem/op/rules.h"

namespace tandem::opencl {
namespace {

constexpr std::int64_t kShortRow = 32;

std::string argmax_source(DType dtype, bool least) {
  const bool wide = dtype_size(lane_dtype(dtype)) == 8;
  return text(prelude(dtype == DType::f64), kForEach, define_dtype("T", dtype), "#define NEARER(a, b) ((a) ",
              least ? "<" : ">", " (b))\n#define WORST ",
              is_floating(dtype) ? (least ? "INFINITY" : "(-INFINITY)") : "0", "\ntypedef ", wide ? "long8" : "int8",
              " Where8;\n", R"(
static void put(__global void* y, int wide, long i, long best) {
  if (wide) ((__global long*)y)[i] = best;
  else ((__global int*)y)[i] = (int)best;
}

// x is [outer, length, inner]; the first of equal values. A NaN never wins, and loses to all but the worst there is.
KERNEL argmax(__global const T_mem* x, __global void* y, const int wide, const long outer, const long length,
              const long inner, const long per_item) {
  FOR_EACH(i, outer * inner, per_item) {
    const long o = i / inner, from = o * length * inner + (i - o * inner);
    long best = 0;
    T_lane largest = T_load(x, from);
    if (largest != largest) largest = WORST;
    for (long k = 1; k < length; ++k) {
      const T_lane v = T_load(x, from + k * inner);
      if (NEARER(v, largest)) {
        best = k;
        largest = v;
      }
    }
    put(y, wide, i, best);
  }
}

// Rows of at least eight elements: a lane looks at every eighth. Of equal ones the first wins, and so does the first of lanes.
KERNEL argmax_rows(__global const T_mem* x, __global void* y, const int wide, const long outer, const long length, const long inner,
                   const long per_item) {
  const Where8 lanes = EIGHT(Where8, 0, 1, 2, 3, 4, 5, 6, 7);
  FOR_EACH(i, outer, per_item) {
    const long from = i * length;
    T_lane8 largest = T_load8(x, from);
    largest = PICK(largest != largest, (T_lane8)(WORST), largest);
    Where8 best = lanes;
    for (long k = 8; k < length; k += 8) {
      const long at = min(k, length - 8);  // looking twice changes nothing
      const T_lane8 v = T_load8(x, from + at);
      const Where8 larger = NEARER(v, largest);
      largest = PICK(larger, v, largest);
      best = PICK(larger, lanes + (Where8)(at), best);
    }
    T_lane values[8];
    long all[8];
    vstore8(largest, 0, values);
    vstore8(convert_long8(best), 0, all);
    int won = 0;
    for (int u = 1; u < 8; ++u)
      if (NEARER(values[u], values[won]) || (values[u] == values[won] && all[u] < all[won])) won = u;
    put(y, wide, i, all[won]);
  }
}

// Short rows, eight at a time: a lane a row.
KERNEL argmax_short(__global const T_mem* x, __global void* y, const int wide, const long outer, const long length, const long inner,
                    const long per_item) {
  FOR_EACH(i, (outer + 7) / 8, per_item) {
    const int m = (int)min(8l, outer - i * 8);
    T_lane8 largest = (T_lane8)(WORST);
    Where8 best = (Where8)(0);
    for (long k = 0; k < length; ++k) {
      const long at = i * 8 * length + k;
      const T_lane8 v = m < 8 ? T_part(x, at, length, m, 0)
                              : EIGHT(T_lane8, T_load(x, at), T_load(x, at + length), T_load(x, at + 2 * length), T_load(x, at + 3 * length),
                                      T_load(x, at + 4 * length), T_load(x, at + 5 * length), T_load(x, at + 6 * length), T_load(x, at + 7 * length));
      const Where8 larger = k == 0 ? v == v : NEARER(v, largest);
      largest = PICK(larger, v, largest);
      best = PICK(larger, (Where8)(k), best);
    }
    long all[8];
    vstore8(convert_long8(best), 0, all);
#pragma unroll 1
    for (int u = 0; u < m; ++u) put(y, wide, i * 8 + u, all[u]);
  }
}

// `vectors` (a constant) of eight columns from `from` on, through all rows; the first column is number `to` of the results.
static void best_columns(__global const T_mem* x, __global void* y, int wide, long from, long to, long length, long inner, const int vectors) {
  T_lane8 largest[4];
  Where8 best[4];
  for (int u = 0; u < vectors; ++u) {
    const T_lane8 v = T_load8(x, from + u * 8);
    largest[u] = PICK(v != v, (T_lane8)(WORST), v);
    best[u] = (Where8)(0);
  }
  for (long k = 1; k < length; ++k)
    for (int u = 0; u < vectors; ++u) {
      const T_lane8 v = T_load8(x, from + k * inner + u * 8);
      const Where8 larger = NEARER(v, largest[u]);
      largest[u] = PICK(larger, v, largest[u]);
      best[u] = PICK(larger, (Where8)(k), best[u]);
    }
  for (int u = 0; u < vectors; ++u) {
    long all[8];
    vstore8(convert_long8(best[u]), 0, all);
#pragma unroll 1
    for (int c = 0; c < 8; ++c) put(y, wide, to + u * 8 + c, all[c]);
  }
}

// 32 columns at a time, so that whole cache lines are read; inner is a multiple of eight.
KERNEL argmax_columns(__global const T_mem* x, __global void* y, const int wide, const long outer, const long length,
                      const long inner, const long per_item) {
  const long groups = (inner + 31) / 32;
  FOR_EACH(i, outer * groups, per_item) {
    const long o = i / groups, column = (i - o * groups) * 32, from = o * length * inner + column, to = o * inner + column;
    if (column + 32 <= inner) {
      best_columns(x, y, wide, from, to, length, inner, 4);
      continue;
    }
    for (long c = 0; column + c < inner; c += 8) best_columns(x, y, wide, from + c, to + c, length, inner, 1);
  }
}
)");
}

Prepared prepare_argmax(const KernelCall& call) {
  Context& context = context_of(call);
  const Shape& shape = call.shape();
  const int axis = normalize_axis(call.op.name, call.attr().integer("axis"), shape.rank());
  const AroundAxis at = around_axis(shape, axis);
  const bool numbered = at.size <= std::numeric_limits<std::int32_t>::max();
  // A GPU reads neighbouring columns together anyway: they are its work-items.
  const bool columns = context.traits().cpu_type && at.inner % 8 == 0 && at.inner > 0 && numbered,
             rows = at.inner == 1 && at.size > kShortRow && numbered;
  const bool short_rows = at.inner == 1 && at.size > 0 && at.size <= kShortRow;
  const std::int64_t searches = columns      ? at.outer * blocks(at.inner, 32)
                                : short_rows ? blocks(at.outer, 8)
                                             : at.outer * at.inner;
  const std::int64_t per_item = context.elements_per_item(searches, static_cast<double>(at.size) * (columns      ? 32
                                                                                                    : short_rows ? 8
                                                                                                                 : 1));
  const bool wide = call.outputs[0].dtype() == DType::i64;
  const KernelFunction kernel =
      context.kernel(argmax_source(call.dtype(), &call.op == &argmin_op), columns      ? "argmax_columns"
                                                                          : short_rows ? "argmax_short"
                                                                          : rows       ? "argmax_rows"
                                                                                       : "argmax");
  return prepared([=, &context](const KernelArgs& args) {
    Launch(context, kernel)
        .buffer(args.inputs[0])
        .buffer(args.outputs[0])
        .value<cl_int>(wide)
        .value(at.outer)
        .value(at.size)
        .value(at.inner)
        .value(per_item)
        .run(blocks(searches, per_item));
  });
}

}  // namespace

KernelList argmax_kernels() {
  return {{.name = "opencl", .supports = ordered_dtypes_supported, .prepare = prepare_argmax}};
}

}  // namespace tandem::opencl
