// Running sums and products, and rows joined by segment: a work-item a line, or columns side by side.
#include <algorithm>
#include <limits>

#include "tandem/backend/opencl/array_kernels.h"
#include "tandem/backend/opencl/kernels.h"
#include "tandem/backend/opencl/source.h"
#include "tandem/kernel/around_axis.h"
#include "tandem/op/array_records.h"

namespace tandem::opencl {
namespace {

// x is [outer, size, inner].
constexpr std::string_view kScan = R"(
KERNEL scan(__global const T_mem* x, __global T_mem* y, const long outer, const long size, const long inner,
            const int exclusive, const int reverse, const long per_item) {
  FOR_EACH(i, outer * inner, per_item) {
    const long o = i / inner, base = o * size * inner + (i - o * inner);
    T_lane running = START;
    for (long k = 0; k < size; ++k) {
      const long at = base + (reverse ? size - 1 - k : k) * inner;
      const T_lane before = running;
      running = JOIN(running, T_load(x, at));
      T_store(y, at, exclusive ? before : running);
    }
  }
}

#define JOIN_NEXT(u) { \
    const T_lane8 before = running[u]; \
    running[u] = JOIN(before, T_load8(x, at + u * 8)); \
    T_store8(y, at + u * 8, exclusive ? before : running[u]); \
  }
// 64 columns at a time go through all rows, so that whole cache lines are read and written.
KERNEL scan_columns(__global const T_mem* x, __global T_mem* y, const long outer, const long size, const long inner,
                    const int exclusive, const int reverse, const long per_item) {
  const long tiles = (inner + 63) / 64;
  FOR_EACH(i, outer * tiles, per_item) {
    const long o = i / tiles, column = (i - o * tiles) * 64, base = o * size * inner + column;
    const int width = (int)min(64l, inner - column);
    T_lane8 running[8];
    for (int u = 0; u < 8; ++u) running[u] = (T_lane8)(START);
    for (long k = 0; k < size; ++k) {
      const long at = base + (reverse ? size - 1 - k : k) * inner;
      if (width == 64) {
        JOIN_NEXT(0) JOIN_NEXT(1) JOIN_NEXT(2) JOIN_NEXT(3) JOIN_NEXT(4) JOIN_NEXT(5) JOIN_NEXT(6) JOIN_NEXT(7)
        continue;
      }
#pragma unroll 1
      for (int u = 0; u * 8 < width; ++u) {
        const int m = min(8, width - u * 8);
        const T_lane8 before = running[u];
        running[u] = JOIN(before, (m == 8 ? T_load8(x, at + u * 8) : T_part(x, at + u * 8, 1, m, 0)));
        if (m == 8) T_store8(y, at + u * 8, exclusive ? before : running[u]);
        else T_store_part(y, at + u * 8, exclusive ? before : running[u], 1, m);
      }
    }
  }
}
)";

Prepared prepare_scan(const KernelCall& call) {
  Context& context = context_of(call);
  const Shape& shape = call.shape();
  const int axis = normalize_axis(call.op.name, call.attr().integer("axis"), shape.rank());
  const AroundAxis at = around_axis(shape, axis);
  // A GPU reads neighbouring columns together anyway: they are its work-items.
  const bool columns = context.traits().cpu_type && at.inner > 1;
  const std::int64_t lines = at.size ? at.outer * (columns ? blocks(at.inner, 64) : at.inner) : 0;
  const bool product = &call.op == &cumprod_op, exclusive = call.attr().boolean("exclusive"), reverse = call.attr().boolean("reverse");
  const std::int64_t per_item = context.elements_per_item(lines, static_cast<double>(at.size * (columns ? 16 : 1)));
  const KernelFunction kernel = context.kernel(
      text(prelude(call.dtype() == DType::f64), kForEach, define_dtype("T", call.dtype()), "#define START ", product ? 1 : 0,
           "\n#define JOIN(a, b) ((a) ", product ? "*" : "+", " (b))\n", kScan), columns ? "scan_columns" : "scan");
  return prepared([=, &context](const KernelArgs& args) {
    Launch(context, kernel).buffer(args.inputs[0]).buffer(args.outputs[0]).value(at.outer).value(at.size).value(at.inner)
        .value<cl_int>(exclusive).value<cl_int>(reverse).value(per_item).run(blocks(lines, per_item));
  });
}

// One work-item joins `width` columns, in the order of the rows.
constexpr std::string_view kSegments = R"(
KERNEL segments(__global const T_mem* x, __global const void* ids, const int wide, __global L_mem* y, const long segments,
                const long rows, const long inner, __global int* error, const int site, const long width) {
  const long begin = (long)get_global_id(0) * width, end = min(inner, begin + width);
  if (begin >= end) return;
  for (long i = 0; i < rows; ++i) {
    const long segment = wide ? ((__global const long*)ids)[i] : (long)((__global const int*)ids)[i];
    if (segment < 0) continue;
    if (segment >= segments) {
      if (atomic_cmpxchg(error, 0, site) == 0) {
        error[1] = (int)segment;
        error[2] = (int)i;
        error[3] = (int)segments;
      }
      continue;
    }
    const long from = i * inner, to = segment * inner;
    long k = begin;
    for (; k + 8 <= end; k += 8) {
      const L_lane8 a = L_load8(y, to + k), b = T_load8(x, from + k);
      L_store8(y, to + k, JOINED);
    }
    for (; k < end; ++k) {
      const L_lane a = L_load(y, to + k), b = T_load(x, from + k);
      L_store(y, to + k, JOINED);
    }
  }
}
)";

std::string_view join_text(const OpDef& op) {
  if (&op == &unsorted_segment_sum_op) return "a + b";
  if (&op == &unsorted_segment_prod_op) return "a * b";
  return &op == &unsorted_segment_max_op ? "PICK((a != a) | (a > b), a, b)" : "PICK((a != a) | (a < b), a, b)";
}

/// The bits of what an empty segment is, as lanes of `dtype`.
std::int64_t empty_bits(const OpDef& op, DType dtype) {
  return visit_dtype(dtype, [&]<class T>(TypeTag<T>) -> std::int64_t {
    const bool lowest = &op == &unsorted_segment_max_op, extreme = lowest || &op == &unsorted_segment_min_op;
    const int plain = &op == &unsorted_segment_prod_op ? 1 : 0;
    if constexpr (std::is_same_v<T, double>) {
      using Limits = std::numeric_limits<double>;
      return std::bit_cast<std::int64_t>(extreme ? (lowest ? Limits::lowest() : Limits::max()) : plain);
    } else if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      return extreme ? static_cast<std::int64_t>(lowest ? Limits::min() : Limits::max()) : plain;
    } else {
      const float most = std::is_same_v<T, Half> ? 65504.0f : std::is_same_v<T, BFloat16> ? 0x1.FEp127f : std::numeric_limits<float>::max();
      return std::bit_cast<std::int32_t>(extreme ? (lowest ? -most : most) : static_cast<float>(plain));
    }
  });
}

Prepared prepare_segments(const KernelCall& call) {
  Context& context = context_of(call);
  const Shape& out = call.outputs[0].shape();
  std::int64_t inner = 1;
  for (int i = 1; i < out.rank(); ++i) inner *= out[i];
  const std::int64_t segments = out[0], rows = call.shape(1).elements(), elements = out.elements(), width = columns_per_item(context, inner);
  const DType lane = lane_dtype(call.dtype());
  const bool wide = call.dtype(1) == DType::i64;
  const std::int64_t empty = empty_bits(call.op, call.dtype());
  const int site = context.error_site(std::string(call.op.name));
  const KernelFunction kernel = context.kernel(
      text(prelude(lane == DType::f64), define_dtype("T", call.dtype()), define_dtype("L", lane), "#define JOINED ", join_text(call.op), "\n", kSegments),
      "segments");
  return prepared([=, &context, filling = Filling(context, lane, elements),
                   narrowing = Narrowing(context, call.dtype(), elements)](const KernelArgs& args) {
    if (elements == 0) return;
    const std::size_t bytes = static_cast<std::size_t>(elements) * dtype_size(lane);
    const Scratch scratch(context.pool(), narrowing.needed() ? bytes : 0);
    Buffer* joined = narrowing.needed() ? scratch.get() : args.output<Buffer>();
    filling.run_bits(joined, &empty);
    Launch(context, kernel).buffer(args.inputs[0]).buffer(args.inputs[1]).value<cl_int>(wide).buffer(joined).value(segments)
        .value(rows).value(inner).error(site).value(width).run(blocks(inner, width));
    if (narrowing.needed()) narrowing.run(joined, args.outputs[0]);
  });
}

}  // namespace

std::int64_t columns_per_item(const Context& context, std::int64_t inner) {
  constexpr std::int64_t kLeast = 16, kMost = 512;
  if (!context.traits().cpu_type) return 1;
  return std::clamp(blocks(inner, context.traits().units * 4 * kLeast) * kLeast, kLeast, kMost);
}

KernelList scan_kernels() { return {{.name = "opencl", .supports = dtypes_supported, .prepare = prepare_scan}}; }
KernelList segment_kernels() { return {{.name = "opencl", .supports = ordered_dtypes_supported, .prepare = prepare_segments}}; }

void add_array_kernels(KernelTable& table) {
  for (const OpDef* op : {&reduce_min_op, &reduce_prod_op, &reduce_any_op, &reduce_all_op}) table.set(*op, reduction_kernels());
  table.set(argmin_op, argmax_kernels());
  for (const OpDef* op : kScanFamily) table.set(*op, scan_kernels());
  for (const OpDef* op : kSegmentFamily) table.set(*op, segment_kernels());
  table.set(strided_slice_op, strided_slice_kernels());
  table.set(strided_slice_grad_op, strided_slice_grad_kernels());
  table.set(gather_nd_op, gather_nd_kernels());
  for (const OpDef* op : kScatterFamily) table.set(*op, scatter_kernels());
  table.set(where_indices_op, where_indices_kernels());
  for (const OpDef* op : kSortingFamily) table.set(*op, sorting_kernels());
  table.set(searchsorted_op, searchsorted_kernels());
}

}  // namespace tandem::opencl
