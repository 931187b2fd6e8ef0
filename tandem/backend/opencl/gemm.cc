#include "tandem/backend/opencl/gemm.h"

#include <algorithm>

#include "tandem/backend/opencl/source.h"

namespace tandem::opencl {
namespace {

/// Depth multiplied in one launch: a panel of b this deep stays in the first-level cache.
constexpr std::int64_t kDepthBlock = 1024;
/// The same where b has one panel: so much of it stays in a core's own cache while the rows of a pass by.
constexpr std::int64_t kNarrowDepthBlock = 4096;

constexpr std::string_view kPackA = R"(
KERNEL pack_a(__global const T_mem* a, const long offset, const long row_stride, const long column_stride,
              const long matrix_stride, __global P* panels, const long m, const long depth) {
  const long panel = ITEM, matrix = get_global_id(1), count = (m + 5) / 6;
  if (panel >= count) return;
  const long from = offset + matrix * matrix_stride + panel * 6 * row_stride;
  __global P* to = panels + (matrix * count + panel) * depth * 6;
  const int rows = (int)min(6l, m - panel * 6);
  if (rows == 6) {
    long k = 0;
    if (panel * 6 + 8 <= m) {  // eight rows are taken; what the last two leave is written over
      if (column_stride == 1)
        for (; k + 9 <= depth; k += 8) take_turned(a, from + k, row_stride, to + k * 6, 6);
      else if (row_stride == 1)
        for (; k + 2 <= depth; ++k) PUT8(P8, to + k * 6, AS_P8(T_load8(a, from + k * column_stride)));
    }
    for (; k < depth; ++k)
      for (int r = 0; r < 6; ++r) to[k * 6 + r] = (P)T_load(a, from + r * row_stride + k * column_stride);
  } else {
    for (long k = 0; k < depth; ++k)
      for (int r = 0; r < 6; ++r) to[k * 6 + r] = r < rows ? (P)T_load(a, from + r * row_stride + k * column_stride) : (P)0;
  }
}
)";

constexpr std::string_view kPackB = R"(
KERNEL pack_b(__global const T_mem* b, const long offset, const long row_stride, const long column_stride,
              const long matrix_stride, __global P* panels, const long depth, const long n) {
  const long panel = ITEM, matrix = get_global_id(1), count = (n + 15) / 16;
  if (panel >= count) return;
  const long from = offset + matrix * matrix_stride + panel * 16 * column_stride;
  __global P* to = panels + (matrix * count + panel) * depth * 16;
  const int columns = (int)min(16l, n - panel * 16);
  if (columns == 16 && column_stride == 1) {
    for (long k = 0; k < depth; ++k) {
      PUT8(P8, to + k * 16, AS_P8(T_load8(b, from + k * row_stride)));
      PUT8(P8, to + k * 16 + 8, AS_P8(T_load8(b, from + k * row_stride + 8)));
    }
  } else {
    long k = 0;
    if (columns == 16 && row_stride == 1)
      for (; k + 8 <= depth; k += 8) {
        take_turned(b, from + k, column_stride, to + k * 16, 16);
        take_turned(b, from + k + 8 * column_stride, column_stride, to + k * 16 + 8, 16);
      }
    for (; k < depth; ++k)
      for (int c = 0; c < 16; ++c) to[k * 16 + c] = c < columns ? (P)T_load(b, from + k * row_stride + c * column_stride) : (P)0;
  }
}
)";

constexpr std::string_view kMultiply = R"(
#define PACKED(r) pa[r]
#define LINE(r) (P)T_load(a, from[r] + k * p.a_step)
#define NEXT_PACKED ++k, pa += 6, pb += 16
#define NEXT_PANEL ++k, pb += 16
#define NEXT_LINE ++k, at += p.b_line
// Whole vectors are taken unless that is beyond the end: what a column that is not kept adds up does not matter.
#define IN_PLACE(j) (at + ((j) + 1) * TILE_LANES <= b_end ? TAKE(b, at + (j) * TILE_LANES) : TAKE_PART(b, at + (j) * TILE_LANES, columns - (j) * TILE_LANES))

// `reading`: 0 both sides are packed, 1 the left one is read where it lies, 2 both are.
typedef struct { long reading, a_line, a_step, b_line, offset, m, n, depth, k_begin, k_end, add; Batch batch; } Product;

// One kernel for all ways to read, so that none has to be compiled when a size asks for another. Rows run fastest over work-items:
// what is read of b stays in the cache while a passes by.
KERNEL multiply(__global const void* left, __global const void* right, __global T_mem* c, const Product p EPILOGUE_PARAMETERS) {
  const long item = ITEM, result = get_global_id(1), m = p.m, n = p.n, row_panels = (m + 5) / 6, column_panels = (n + 15) / 16;
  const long column = item / row_panels, row = item - column * row_panels, first = column * TILE_COLUMNS;
  if (first >= n) return;
  long a_matrix, b_matrix;
  find_matrices(&p.batch, result, &a_matrix, &b_matrix);
  const int rows = (int)min(6l, m - row * 6), columns = (int)min((long)TILE_COLUMNS, n - first), add = (int)p.add;
  const long panel = p.depth * 16;
  __global const P* pb = (__global const P*)right + ((b_matrix * column_panels + first / 16) * p.depth + p.k_begin) * 16;
  TILE
  if (p.reading == 0) {
    __global const P* pa = (__global const P*)left + ((a_matrix * row_panels + row) * p.depth + p.k_begin) * 6;
    TILE_LOOP(long k = p.k_begin, k < p.k_end, NEXT_PACKED, PANEL_COLUMNS, PACKED)
  } else {
    __global const T_mem* a = (__global const T_mem*)left;
    long from[6];
    for (int r = 0; r < 6; ++r) from[r] = a_matrix * m * p.depth + min(row * 6 + r, m - 1) * p.a_line;  // rows beyond repeat the last one
    if (p.reading == 1) {
      TILE_LOOP(long k = p.k_begin, k < p.k_end, NEXT_PANEL, PANEL_COLUMNS, LINE)
    } else {
      __global const T_mem* b = (__global const T_mem*)right;
      const long b_end = b_matrix * p.depth * n + (p.depth - 1) * p.b_line + n;
      long at = b_matrix * p.depth * n + first;
      TILE_LOOP(long k = 0, k < p.depth, NEXT_LINE, IN_PLACE, LINE)
    }
  }
  const long to = p.offset + (result * m + row * 6) * n + first;
  PUT_TILE
}
)";

}  // namespace

const std::string_view kTurnText = R"(
// Each is one instruction on eight lanes.
#define LOW_MIXED(a, b) EIGHT(P8, a.s0, b.s0, a.s1, b.s1, a.s4, b.s4, a.s5, b.s5)
#define HIGH_MIXED(a, b) EIGHT(P8, a.s2, b.s2, a.s3, b.s3, a.s6, b.s6, a.s7, b.s7)
#define LOW_PAIRS(a, b) EIGHT(P8, a.s0, a.s1, b.s0, b.s1, a.s4, a.s5, b.s4, b.s5)
#define HIGH_PAIRS(a, b) EIGHT(P8, a.s2, a.s3, b.s2, b.s3, a.s6, a.s7, b.s6, b.s7)
#define TURNED(r) AS_P8(T_load8(x, at + (r) * apart))
static void take_turned(__global const T_mem* x, long at, long apart, __global P* to, long step) {
  const P8 r0 = TURNED(0), r1 = TURNED(1), r2 = TURNED(2), r3 = TURNED(3), r4 = TURNED(4), r5 = TURNED(5), r6 = TURNED(6), r7 = TURNED(7);
  const P8 m0 = LOW_MIXED(r0, r1), m1 = HIGH_MIXED(r0, r1), m2 = LOW_MIXED(r2, r3), m3 = HIGH_MIXED(r2, r3);
  const P8 m4 = LOW_MIXED(r4, r5), m5 = HIGH_MIXED(r4, r5), m6 = LOW_MIXED(r6, r7), m7 = HIGH_MIXED(r6, r7);
  const P8 p0 = LOW_PAIRS(m0, m2), p1 = HIGH_PAIRS(m0, m2), p2 = LOW_PAIRS(m1, m3), p3 = HIGH_PAIRS(m1, m3);
  const P8 p4 = LOW_PAIRS(m4, m6), p5 = HIGH_PAIRS(m4, m6), p6 = LOW_PAIRS(m5, m7), p7 = HIGH_PAIRS(m5, m7);
  PUT8(P8, to, JOIN(P8, p0.lo, p4.lo));
  PUT8(P8, to + step, JOIN(P8, p1.lo, p5.lo));
  PUT8(P8, to + 2 * step, JOIN(P8, p2.lo, p6.lo));
  PUT8(P8, to + 3 * step, JOIN(P8, p3.lo, p7.lo));
  PUT8(P8, to + 4 * step, JOIN(P8, p0.hi, p4.hi));
  PUT8(P8, to + 5 * step, JOIN(P8, p1.hi, p5.hi));
  PUT8(P8, to + 6 * step, JOIN(P8, p2.hi, p6.hi));
  PUT8(P8, to + 7 * step, JOIN(P8, p3.hi, p7.hi));
}
)";

const std::string_view kBatchText = R"(
typedef struct { long rank; long size[8]; long a[8]; long b[8]; } Batch;

static void find_matrices(const Batch* batch, long result, long* a_matrix, long* b_matrix) {
  long a = 0, b = 0;
  for (int d = (int)batch->rank - 1; d >= 0; --d) {
    const long q = result / batch->size[d], at = result - q * batch->size[d];
    result = q;
    a += at * batch->a[d];
    b += at * batch->b[d];
  }
  *a_matrix = a;
  *b_matrix = b;
}
)";

namespace {

constexpr std::string_view kTileText = R"(
#ifndef WIDE
#define WIDE 1
#endif
#define TILE_COLUMNS (2 * TILE_LANES)
#define SIX_ROWS(DO, A) DO(0, l0, h0, A) DO(1, l1, h1, A) DO(2, l2, h2, A) DO(3, l3, h3, A) DO(4, l4, h4, A) DO(5, l5, h5, A)
#if TILE_ROWS == 9
#define EACH_ROW(DO, A) SIX_ROWS(DO, A) DO(6, l6, h6, A) DO(7, l7, h7, A) DO(8, l8, h8, A)
#else
#define EACH_ROW SIX_ROWS
#endif
#define MAKE_ROW(r, low, high, A) TILE_VECTOR low = (TILE_VECTOR)(0), high = low;
#define TILE EACH_ROW(MAKE_ROW, )
#define STEP_ONE(r, low, high, A) { const TILE_VECTOR all = (TILE_VECTOR)(A(r)); low = MAD(all, b0, low); }
#define STEP_TWO(r, low, high, A) { const TILE_VECTOR all = (TILE_VECTOR)(A(r)); low = MAD(all, b0, low); high = MAD(all, b1, high); }
#define STEP_FIRST(A) EACH_ROW(STEP_ONE, A)
#define STEP_BOTH(A) EACH_ROW(STEP_TWO, A)
#if WIDE
#define STEP_TILE STEP_BOTH
#else
#define STEP_TILE STEP_FIRST
#endif
#if TILE_LANES == 16
#define TAKE(x, at) JOIN(P16, AS_P8(T_load8(x, at)), AS_P8(T_load8(x, (at) + 8)))
#define TAKE_PART(x, at, m) JOIN(P16, AS_P8(T_part(x, at, 1, m, 0)), AS_P8(T_part(x, (at) + 8, 1, (m) - 8, 0)))
#define PANEL_COLUMNS(j) GET16(P16, pb + (j) * panel)
// A vector is a panel, and the last tile may have one only.
#define TILE_LOOP(start, more, next, COLUMNS, A) \
  if (columns > 16) { \
    for (start; more; next) { const P16 b0 = COLUMNS(0), b1 = COLUMNS(1); STEP_BOTH(A) } \
  } else { \
    for (start; more; next) { const P16 b0 = COLUMNS(0); STEP_FIRST(A) } \
  }
#define SPREAD(sums, to) vstore8((sums).lo, 0, to), vstore8((sums).hi, 0, (to) + 8)
#else
#define TAKE(x, at) AS_P8(T_load8(x, at))
#define TAKE_PART(x, at, m) AS_P8(T_part(x, at, 1, m, 0))
#define PANEL_COLUMNS(j) GET8(P8, pb + (j) * 8)
// Two vectors are a panel.
#define TILE_LOOP(start, more, next, COLUMNS, A) for (start; more; next) { const P8 b0 = COLUMNS(0), b1 = WIDE ? COLUMNS(1) : b0; STEP_TILE(A) }
#define SPREAD(sums, to) vstore8(sums, 0, to)
#endif

static void put_whole(__global C_mem* c, long to, long column, P8 sums EPILOGUE_PARAMETERS) {
  C_store8(c, to, EPILOGUE(AS_T8(sums), to, column, 8));
}
#if TILE_LANES == 16 && C_IS_LANES
static void put_wide(__global C_mem* c, long to, long column, P16 sums EPILOGUE_PARAMETERS) {
  PUT16(P16, (__global P*)c + to, JOIN(P16, AS_P8(EPILOGUE(AS_T8(sums.lo), to, column, 8)), AS_P8(EPILOGUE(AS_T8(sums.hi), to + 8, column + 8, 8))));
}
#elif TILE_LANES == 16
static void put_wide(__global C_mem* c, long to, long column, P16 sums EPILOGUE_PARAMETERS) {
  put_whole(c, to, column, sums.lo EPILOGUE_ARGUMENTS);
  put_whole(c, to + 8, column + 8, sums.hi EPILOGUE_ARGUMENTS);
}
#else
#define put_wide put_whole
#endif

// Rows of which some columns are stored, or added to what is there: one text for all of them, which is seldom run and always compiled.
static void put_part(__global C_mem* c, long to, long n, long column, int rows, int columns, const P* all, int add EPILOGUE_PARAMETERS) {
#pragma unroll 1
  for (int r = 0; r < rows; ++r)
#pragma unroll 1
    for (int j = 0; j < columns; j += 8) {
      const int m = min(8, columns - j);
      const long at = to + r * n + j;
      P8 sums = vload8(0, all + r * TILE_COLUMNS + j);
      if (add) sums += AS_P8((m == 8 ? C_load8(c, at) : C_part(c, at, 1, m, 0)));
      if (m == 8) put_whole(c, at, column + j, sums EPILOGUE_ARGUMENTS);
      else C_store_part(c, at, EPILOGUE(AS_T8(sums), at, column + j, m), 1, m);
    }
}

#define PUT(r, low, high, A) \
  if (r < rows) { \
    put_wide(c, to + r * n, first, low EPILOGUE_ARGUMENTS); \
    put_wide(c, to + r * n + TILE_LANES, first + TILE_LANES, high EPILOGUE_ARGUMENTS); \
  }
#define SPREAD_ROW(r, low, high, A) SPREAD(low, all + r * TILE_COLUMNS), SPREAD(high, all + r * TILE_COLUMNS + TILE_LANES);
#define PUT_TILE \
  if (columns == TILE_COLUMNS && !add) { \
    EACH_ROW(PUT, ) \
  } else { \
    P all[TILE_ROWS * TILE_COLUMNS]; \
    EACH_ROW(SPREAD_ROW, ) \
    put_part(c, to, n, first, rows, columns, all, add EPILOGUE_ARGUMENTS); \
  }
)";

}  // namespace

int tile_lanes(const Context& context, DType dtype) {
  return dtype_size(lane_dtype(dtype)) == 4 ? context.traits().lanes() : kWidth;
}

std::string tile_text(int lanes, int rows) {
  return text("#define TILE_ROWS ", rows, "\n#define TILE_LANES ", lanes, "\n#define TILE_VECTOR P", lanes, "\n",
              kTileText);
}

std::size_t packed_bytes(DType dtype) { return dtype_size(lane_dtype(dtype)); }

std::string gemm_prelude(DType dtype, DType result) {
  const DType lane = lane_dtype(dtype);
  // Integers wrap, which only unsigned ones do by the language.
  const std::string p = lane == DType::i32   ? "uint"
                        : lane == DType::i64 ? "ulong"
                        : lane == DType::f64 ? "double"
                                             : "float";
  std::string of_results;
  if (result != dtype) of_results = define_dtype("C", result);
  else
    for (const char* name : {"mem", "load8", "part", "store8", "store_part"})
      of_results += text("#define C_", name, " T_", name, "\n");
  of_results += text("#define C_IS_LANES ", result == lane ? 1 : 0, "\n");
  return text(prelude(lane == DType::f64), define_dtype("T", dtype), of_results, "typedef ", p, " P;\ntypedef ", p,
              "8 P8;\ntypedef ", p, "16 P16;\n#define P8_anywhere ", p, "8_anywhere\n#define P16_anywhere ", p,
              "16_anywhere\n#define AS_P8 as_", p, "8\n#define AS_T8 as_", lane_type(expr::lane_of(dtype)), "8\n",
              is_floating(lane) ? "#define MAD(a, b, c) fma(a, b, c)\n" : "#define MAD(a, b, c) ((a) * (b) + (c))\n");
}

std::string packing_source(DType dtype) { return text(gemm_prelude(dtype), kTurnText, kPackA, kPackB); }

Gemm::Gemm(Context& context, DType dtype, Epilogue epilogue)
    : context_(&context),
      dtype_(dtype),
      lanes_(tile_lanes(context, dtype)),
      epilogue_(std::move(epilogue)),
      pack_a_(context.kernel(packing_source(dtype), "pack_a")),
      pack_b_(context.kernel(packing_source(dtype), "pack_b")),
      multiply_(context.kernel(text(gemm_prelude(dtype), epilogue_.source(), tile_text(lanes_), kBatchText, kMultiply),
                               "multiply")) {
  constexpr std::int64_t kNothing = 0;
  for (const KernelFunction& pack : {pack_a_, pack_b_})
    context.warm(pack, [&](Launch& launch) {
      launch.buffer(&context.error_words())
          .value(kNothing)
          .value(kNothing)
          .value(kNothing)
          .value(kNothing)
          .buffer(&context.error_words())
          .value(kNothing)
          .value(kNothing);
    });
}

void Gemm::pack_a(const Matrix& a, std::int64_t m, std::int64_t depth, void* panels, std::int64_t count,
                  std::int64_t matrix_stride) const {
  Launch(*context_, pack_a_)
      .buffer(a.buffer)
      .value(a.offset)
      .value(a.row_stride)
      .value(a.column_stride)
      .value(matrix_stride)
      .buffer(panels)
      .value(m)
      .value(depth)
      .run(blocks(m, kTileRows), count);
}

void launch_pack_b(Context& context, const KernelFunction& pack_b, const Matrix& b, std::int64_t depth, std::int64_t n,
                   void* panels, std::int64_t count, std::int64_t matrix_stride) {
  Launch(context, pack_b)
      .buffer(b.buffer)
      .value(b.offset)
      .value(b.row_stride)
      .value(b.column_stride)
      .value(matrix_stride)
      .buffer(panels)
      .value(depth)
      .value(n)
      .run(blocks(n, kPanelColumns), count);
}

void Gemm::pack_b(const Matrix& b, std::int64_t depth, std::int64_t n, void* panels, std::int64_t count,
                  std::int64_t matrix_stride) const {
  launch_pack_b(*context_, pack_b_, b, depth, n, panels, count, matrix_stride);
}

/// The words of the struct Product.
struct Gemm::Product {
  std::int64_t reading, a_line, a_step, b_line, offset, m, n, depth, k_begin, k_end, add;
  std::array<std::int64_t, 3 * kMaxRank + 1> batch;
};

void Gemm::launch(const void* a, const void* b, void* c, const Product& product, std::int64_t results, bool last,
                  const KernelArgs& args) const {
  Launch launch(*context_, multiply_);
  launch.buffer(a).buffer(b).buffer(c).value(product);
  epilogue_.add(launch, args, last);
  launch.run(blocks(product.m, kTileRows) * blocks(product.n, 2 * lanes_), results);
}

void Gemm::multiply(const void* a, const void* b, void* c, std::int64_t offset, std::int64_t m, std::int64_t n,
                    std::int64_t depth, const Batch& batch, bool add, const KernelArgs& args) const {
  // Sums that would be rounded to 16 bits between blocks are made in one go.
  const std::int64_t block =
      packed_bytes(dtype_) == dtype_size(dtype_) ? kDepthBlock : std::max<std::int64_t>(depth, 1);
  for (std::int64_t k = 0; k == 0 || k < depth; k += block)
    launch(a, b, c,
           {.reading = 0,
            .offset = offset,
            .m = m,
            .n = n,
            .depth = depth,
            .k_begin = k,
            .k_end = std::min(depth, k + block),
            .add = add || k > 0,
            .batch = batch.words},
           batch.count, k + block >= depth, args);
}

void Gemm::multiply_narrow(const Matrix& a, const Matrix& b, std::int64_t b_count, void* c,
                           const std::array<std::int64_t, 3>& mnk, const Batch& batch, const KernelArgs& args) const {
  const auto [m, n, depth] = mnk;
  const Scratch packed(context_->pool(), static_cast<std::size_t>(b_count * packed_elements(n, depth, kPanelColumns)) *
                                             packed_bytes(dtype_));
  pack_b(b, depth, n, packed.get(), b_count, depth * n);
  for (std::int64_t k = 0; k < depth; k += kNarrowDepthBlock)
    launch(a.buffer, packed.get(), c,
           {.reading = 1,
            .a_line = a.row_stride,
            .a_step = a.column_stride,
            .m = m,
            .n = n,
            .depth = depth,
            .k_begin = k,
            .k_end = std::min(depth, k + kNarrowDepthBlock),
            .add = k > 0,
            .batch = batch.words},
           batch.count, k + kNarrowDepthBlock >= depth, args);
}

void Gemm::multiply_in_place(const Matrix& a, const Matrix& b, void* c, const std::array<std::int64_t, 3>& mnk,
                             const Batch& batch, const KernelArgs& args) const {
  const auto [m, n, depth] = mnk;
  launch(a.buffer, b.buffer, c,
         {.reading = 2,
          .a_line = a.row_stride,
          .a_step = a.column_stride,
          .b_line = b.row_stride,
          .m = m,
          .n = n,
          .depth = depth,
          .k_end = depth,
          .batch = batch.words},
         batch.count, true, args);
}

}  // namespace tandem::opencl
