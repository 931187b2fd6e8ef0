// Running sums and products, and rows joined by segment: a work-item a line or a piece of one, or columns side by side.
#include <algorithm>
#include <limits>

#include "tandem/backend/opencl/array_kernels.h"
#include "tandem/backend/opencl/gemm.h"
#include "tandem/backend/opencl/pieces.h"
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
      running = COMBINE(running, T_load(x, at));
      T_store(y, at, exclusive ? before : running);
    }
  }
}

#define COMBINE_NEXT(u) { \
    const T_lane8 before = running[u]; \
    running[u] = COMBINE(before, T_load8(x, at + u * 8)); \
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
        COMBINE_NEXT(0) COMBINE_NEXT(1) COMBINE_NEXT(2) COMBINE_NEXT(3) COMBINE_NEXT(4) COMBINE_NEXT(5) COMBINE_NEXT(6) COMBINE_NEXT(7)
        continue;
      }
#pragma unroll 1
      for (int u = 0; u * 8 < width; ++u) {
        const int m = min(8, width - u * 8);
        const T_lane8 before = running[u];
        running[u] = COMBINE(before, (m == 8 ? T_load8(x, at + u * 8) : T_part(x, at + u * 8, 1, m, 0)));
        if (m == 8) T_store8(y, at + u * 8, exclusive ? before : running[u]);
        else T_store_part(y, at + u * 8, exclusive ? before : running[u], 1, m);
      }
    }
  }
}
)";

// --- Long lines, in pieces as on the CPU (ADR 0201): x is [outer, size]. ---

/// Elements of a piece. No multiple of a page: pieces that are read side by side would lie in the same lines of the
/// cache.
constexpr std::int64_t kPiece = 2048 + 48;
/// The line from which the launches that add up its pieces are worth while.
constexpr std::int64_t kLongLine = 16 * kPiece;

constexpr std::string_view kPieces = R"(
// The first of `count` elements of piece p in memory.
static long piece_begin(long line, long p, long size, long count, int reverse) {
  return line * size + (reverse ? size - p * PIECE - count : p * PIECE);
}

KERNEL piece_totals(__global const T_mem* x, __global S* totals, const long outer, const long size, const long pieces, const int reverse,
                    const long per_item) {
  FOR_EACH(i, outer * pieces, per_item) {
    const long line = i / pieces, p = i - line * pieces, count = min((long)PIECE, size - p * PIECE);
    const long begin = piece_begin(line, p, size, count, reverse);
    S8 sums = (S8)(START);
    long k = 0;
    for (; k + 8 <= count; k += 8) sums = COMBINE(sums, AS_S8(T_load8(x, begin + k)));
    S total = COMBINE(COMBINE(COMBINE(sums.s0, sums.s1), COMBINE(sums.s2, sums.s3)), COMBINE(COMBINE(sums.s4, sums.s5), COMBINE(sums.s6, sums.s7)));
    for (; k < count; ++k) total = COMBINE(total, (S)T_load(x, begin + k));
    totals[i] = total;
  }
}

// Each total becomes that of the pieces before it.
KERNEL pieces_before(__global S* totals, const long outer, const long pieces) {
  FOR_EACH(line, outer, 1) {
    S before = START;
    for (long p = line * pieces; p < (line + 1) * pieces; ++p) {
      const S own = totals[p];
      totals[p] = before;
      before = COMBINE(before, own);
    }
  }
}

// Pieces side by side, each `length` long and from its own total on; the first begins at `from`. A running value waits for the one
// before, several do not. Written out: of a loop over them LLVM makes vectors that are gathered and scattered.
#define FIRST_PIECE(DO) DO(0)
#if TOGETHER == 8
#define EACH_PIECE(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#else
#define EACH_PIECE FIRST_PIECE
#endif
#define BEGIN_PIECE(u) running[u] = (T_lane)before[u];
#define SCAN_PIECE(u) { \
    const long at = from + step * (k + u * PIECE); \
    const T_lane sum = COMBINE(running[u], T_load(x, at)); \
    T_store(y, at, exclusive ? running[u] : sum); \
    running[u] = sum; \
  }
#define DEFINE_SCAN(name, EACH) \
  static void name(__global const T_mem* x, __global T_mem* y, __global const S* before, long from, long length, const int step, const int exclusive) { \
    T_lane running[TOGETHER]; \
    EACH(BEGIN_PIECE) \
    for (long k = 0; k < length; ++k) { EACH(SCAN_PIECE) } \
  }
DEFINE_SCAN(scan_together, EACH_PIECE)
DEFINE_SCAN(scan_one, FIRST_PIECE)
// With constants, so that a loop knows where it goes and what it keeps.
#define SCAN(name, length) \
  if (reverse && exclusive) name(x, y, before + line * pieces + p, from, length, -1, 1); \
  else if (reverse) name(x, y, before + line * pieces + p, from, length, -1, 0); \
  else if (exclusive) name(x, y, before + line * pieces + p, from, length, 1, 1); \
  else name(x, y, before + line * pieces + p, from, length, 1, 0);

KERNEL scan_pieces(__global const T_mem* x, __global T_mem* y, __global const S* before, const long outer, const long size, const long pieces,
                   const int exclusive, const int reverse, const long per_item) {
  const long groups = (pieces + TOGETHER - 1) / TOGETHER;
  FOR_EACH(i, outer * groups, per_item) {
    const long line = i / groups, end = min(pieces, (i - line * groups + 1) * TOGETHER);
    for (long p = (i - line * groups) * TOGETHER; p < end;) {
      const long from = line * size + (reverse ? size - 1 - p * PIECE : p * PIECE), length = min((long)PIECE, size - p * PIECE);
      if ((p + TOGETHER) * PIECE <= size) {
        SCAN(scan_together, PIECE)
        p += TOGETHER;
      } else {
        SCAN(scan_one, length)
        ++p;
      }
    }
  }
}
)";

std::string scan_prelude(const KernelCall& call, bool fp64) {
  const bool product = &call.op == &cumprod_op;
  return text(prelude(fp64), kForEach, define_dtype("T", call.dtype()), "#define START ", product ? 1 : 0,
              "\n#define COMBINE(a, b) ((a) ", product ? "*" : "+", " (b))\n");
}

/// Totals of floats are doubles where the device has them: nearer to the true sum, and products stay in range.
Prepared prepare_long_lines(const KernelCall& call, const AroundAxis& at) {
  Context& context = context_of(call);
  const DType lane = lane_dtype(call.dtype()), total = lane == DType::f32 && context.traits().fp64 ? DType::f64 : lane;
  const std::int64_t together = context.traits().cpu_type ? 8 : 1;  // pieces that a work-item scans in lockstep
  const std::string s(lane_type(expr::lane_of(total)));
  const std::string source = text(scan_prelude(call, total == DType::f64), "#define PIECE ", kPiece,
                                  "l\n#define TOGETHER ", together, "\ntypedef ", s, " S;\ntypedef ", s,
                                  "8 S8;\n#define AS_S8 ", total == lane ? "" : "convert_double8", "\n", kPieces);
  const KernelFunction totals = context.kernel(source, "piece_totals"),
                       before = context.kernel(source, "pieces_before"), scan = context.kernel(source, "scan_pieces");
  const bool exclusive = call.attr().boolean("exclusive"), reverse = call.attr().boolean("reverse");
  const std::int64_t pieces = blocks(at.size, kPiece), count = at.outer * pieces,
                     per_item = context.elements_per_item(count, kPiece);
  const std::int64_t groups = at.outer * blocks(pieces, together),
                     groups_per_item = context.elements_per_item(groups, static_cast<double>(together * kPiece));
  const std::size_t bytes = static_cast<std::size_t>(count) * dtype_size(total);
  return prepared([=, &context](const KernelArgs& args) {
    const Scratch scratch(context.pool(), bytes);
    Launch(context, totals)
        .buffer(args.inputs[0])
        .buffer(scratch.get())
        .value(at.outer)
        .value(at.size)
        .value(pieces)
        .value<cl_int>(reverse)
        .value(per_item)
        .run(blocks(count, per_item));
    Launch(context, before).buffer(scratch.get()).value(at.outer).value(pieces).run(at.outer);
    Launch(context, scan)
        .buffer(args.inputs[0])
        .buffer(args.outputs[0])
        .buffer(scratch.get())
        .value(at.outer)
        .value(at.size)
        .value(pieces)
        .value<cl_int>(exclusive)
        .value<cl_int>(reverse)
        .value(groups_per_item)
        .run(blocks(groups, groups_per_item));
  });
}

Prepared prepare_scan(const KernelCall& call) {
  Context& context = context_of(call);
  const Shape& shape = call.shape();
  const int axis = normalize_axis(call.op.name, call.attr().integer("axis"), shape.rank());
  const AroundAxis at = around_axis(shape, axis);
  if (at.inner == 1 && at.size >= kLongLine && at.outer > 0) return prepare_long_lines(call, at);
  // A GPU reads neighbouring columns together anyway: they are its work-items.
  const bool columns = context.traits().cpu_type && at.inner > 1;
  const std::int64_t lines = at.size ? at.outer * (columns ? blocks(at.inner, 64) : at.inner) : 0;
  const bool exclusive = call.attr().boolean("exclusive"), reverse = call.attr().boolean("reverse");
  const std::int64_t per_item = context.elements_per_item(lines, static_cast<double>(at.size * (columns ? 16 : 1)));
  const KernelFunction kernel =
      context.kernel(text(scan_prelude(call, call.dtype() == DType::f64), kScan), columns ? "scan_columns" : "scan");
  return prepared([=, &context](const KernelArgs& args) {
    Launch(context, kernel)
        .buffer(args.inputs[0])
        .buffer(args.outputs[0])
        .value(at.outer)
        .value(at.size)
        .value(at.inner)
        .value<cl_int>(exclusive)
        .value<cl_int>(reverse)
        .value(per_item)
        .run(blocks(lines, per_item));
  });
}

// One work-item joins `width` columns, in the order of the rows; if it `fills` them first, they are still in its cache
// then.
constexpr std::string_view kSegments = R"(
KERNEL segments(__global const T_mem* x, __global const void* ids, const int wide, __global L_mem* y, const long segments,
                const long rows, const long inner, __global int* error, const int site, const long width, const int fills, const L_mem empty) {
  const long begin = ITEM * width, end = min(inner, begin + width);
  if (begin >= end) return;
  for (long s = 0; fills && s < segments; ++s) {
    long k = begin;
    for (; k + LANES <= end; k += LANES) L_store_whole_piece(y, s * inner + k, (V)(empty));
    for (; k < end; ++k) L_store(y, s * inner + k, empty);
  }
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
    for (; k + LANES <= end; k += LANES) {
      const V a = L_whole_piece(y, to + k), b = T_whole_piece(x, from + k);
      L_store_whole_piece(y, to + k, JOINED);
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
      const float most = std::is_same_v<T, Half>       ? 65504.0f
                         : std::is_same_v<T, BFloat16> ? 0x1.FEp127f
                                                       : std::numeric_limits<float>::max();
      return std::bit_cast<std::int32_t>(extreme ? (lowest ? -most : most) : static_cast<float>(plain));
    }
  });
}

Prepared prepare_segments(const KernelCall& call) {
  Context& context = context_of(call);
  const Shape& out = call.outputs[0].shape();
  std::int64_t inner = 1;
  for (int i = 1; i < out.rank(); ++i) inner *= out[i];
  const std::int64_t segments = out[0], rows = call.shape(1).elements(), elements = out.elements(),
                     width = columns_per_item(context, inner);
  const DType lane = lane_dtype(call.dtype());
  const bool wide = call.dtype(1) == DType::i64;
  const std::int64_t empty = empty_bits(call.op, call.dtype());
  const int site = context.error_site(std::string(call.op.name));
  const int lanes = tile_lanes(context, call.dtype());
  const bool fills = context.traits().cpu_type && blocks(inner, width) >= context.traits().units;
  const KernelFunction kernel =
      context.kernel(text(prelude(lane == DType::f64), define_dtype("T", call.dtype()), define_dtype("L", lane),
                          pieces_text("T", call.dtype(), lanes), pieces_text("L", lane, lanes), "#define JOINED ",
                          join_text(call.op), "\n", kSegments),
                     "segments");
  return prepared([=, &context, filling = Filling(context, lane, elements),
                   narrowing = Narrowing(context, call.dtype(), elements)](const KernelArgs& args) {
    if (elements == 0) return;
    const std::size_t bytes = static_cast<std::size_t>(elements) * dtype_size(lane);
    const Scratch scratch(context.pool(), narrowing.needed() ? bytes : 0);
    Buffer* joined = narrowing.needed() ? scratch.get() : args.output<Buffer>();
    if (!fills) filling.run_bits(joined, &empty);
    Launch(context, kernel)
        .buffer(args.inputs[0])
        .buffer(args.inputs[1])
        .value<cl_int>(wide)
        .buffer(joined)
        .value(segments)
        .value(rows)
        .value(inner)
        .error(site)
        .value(width)
        .value<cl_int>(fills)
        .bytes(&empty, dtype_size(lane))
        .run(blocks(inner, width));
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
KernelList segment_kernels() {
  return {{.name = "opencl", .supports = ordered_dtypes_supported, .prepare = prepare_segments}};
}

void add_array_kernels(KernelTable& table) {
  for (const OpDef* op : {&reduce_min_op, &reduce_prod_op, &reduce_any_op, &reduce_all_op})
    table.set(*op, reduction_kernels());
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
