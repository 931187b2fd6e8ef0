#include "tandem/backend/opencl/gemm.h"

#include <algorithm>

#include "tandem/backend/opencl/source.h"

namespace tandem::opencl {
namespace {

/// Depth multiplied in one launch: a panel of b this deep stays in the first-level cache.
constexpr std::int64_t kDepthBlock = 1024;

constexpr std::string_view kPackA = R"(
KERNEL pack_a(__global const T_mem* a, const long offset, const long row_stride, const long column_stride,
              const long matrix_stride, __global P* panels, const long m, const long depth) {
  const long panel = get_global_id(0), matrix = get_global_id(1), count = (m + 5) / 6;
  if (panel >= count) return;
  const long from = offset + matrix * matrix_stride + panel * 6 * row_stride;
  __global P* to = panels + (matrix * count + panel) * depth * 6;
  const int rows = (int)min(6l, m - panel * 6);
  if (rows == 6) {
    for (long k = 0; k < depth; ++k)
      for (int r = 0; r < 6; ++r) to[k * 6 + r] = (P)T_load(a, from + r * row_stride + k * column_stride);
  } else {
    for (long k = 0; k < depth; ++k)
      for (int r = 0; r < 6; ++r) to[k * 6 + r] = r < rows ? (P)T_load(a, from + r * row_stride + k * column_stride) : (P)0;
  }
}
)";

constexpr std::string_view kMultiply = R"(
#define PACKED(r) pa[r]

// Rows run fastest over work-items: a panel of b stays in the cache while those of a pass by.
KERNEL multiply(__global const P* a, __global const P* b, __global T_mem* c, const long offset, const long m, const long n,
                const long depth, const long k_begin, const long k_end, const int add, const Batch batch EPILOGUE_PARAMETERS) {
  const long item = get_global_id(0), result = get_global_id(1), row_panels = (m + 5) / 6, column_panels = (n + 15) / 16;
  const long column = item / row_panels, row = item - column * row_panels;
  if (column >= column_panels) return;
  long a_matrix, b_matrix;
  find_matrices(&batch, result, &a_matrix, &b_matrix);
  __global const P* pa = a + ((a_matrix * row_panels + row) * depth + k_begin) * 6;
  __global const P* pb = b + ((b_matrix * column_panels + column) * depth + k_begin) * 16;
  TILE
  for (long k = k_begin; k < k_end; ++k, pa += 6, pb += 16) {
    const P8 b0 = GET8(P8, pb), b1 = GET8(P8, pb + 8);
    STEP_TILE(PACKED)
  }
  const int rows = (int)min(6l, m - row * 6), columns = (int)min(16l, n - column * 16);
  const long to = offset + (result * m + row * 6) * n + column * 16;
  PUT_TILE
}
)";

}  // namespace

const std::string_view kPackBText = R"(
KERNEL pack_b(__global const T_mem* b, const long offset, const long row_stride, const long column_stride,
              const long matrix_stride, __global P* panels, const long depth, const long n) {
  const long panel = get_global_id(0), matrix = get_global_id(1), count = (n + 15) / 16;
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
    for (long k = 0; k < depth; ++k)
      for (int c = 0; c < 16; ++c) to[k * 16 + c] = c < columns ? (P)T_load(b, from + k * row_stride + c * column_stride) : (P)0;
  }
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

const std::string_view kTileText = R"(
#ifndef WIDE
#define WIDE 1
#endif
#ifndef TILE_COLUMN
#define TILE_COLUMN (column * 16)
#endif
#ifndef TILE_VECTOR
#define TILE_VECTOR P8
#endif
#define TILE TILE_VECTOR l0 = (TILE_VECTOR)(0), l1 = l0, l2 = l0, l3 = l0, l4 = l0, l5 = l0, h0 = l0, h1 = l0, h2 = l0, h3 = l0, h4 = l0, h5 = l0;
#define STEP(value, low, high) { const TILE_VECTOR all = (TILE_VECTOR)(value); low = MAD(all, b0, low); if (WIDE) high = MAD(all, b1, high); }
#define STEP_TILE(A) STEP(A(0), l0, h0) STEP(A(1), l1, h1) STEP(A(2), l2, h2) STEP(A(3), l3, h3) STEP(A(4), l4, h4) STEP(A(5), l5, h5)
#define PUT(r, low, high) if (r < rows) put_row(c, to + r * n, TILE_COLUMN, columns, low, high, add EPILOGUE_ARGUMENTS);
#define PUT_TILE PUT(0, l0, h0) PUT(1, l1, h1) PUT(2, l2, h2) PUT(3, l3, h3) PUT(4, l4, h4) PUT(5, l5, h5)

static void put_row(__global T_mem* c, long to, long column, int columns, P8 low, P8 high, int add EPILOGUE_PARAMETERS) {
  if (columns == 16) {
    if (add) {
      low += AS_P8(T_load8(c, to));
      high += AS_P8(T_load8(c, to + 8));
    }
    T_store8(c, to, EPILOGUE(AS_T8(low), to, column, 8));
    T_store8(c, to + 8, EPILOGUE(AS_T8(high), to + 8, column + 8, 8));
    return;
  }
  const int first = min(columns, 8), second = columns - first;
  if (add) {
    low += AS_P8(T_part(c, to, 1, first, 0));
    high += AS_P8(T_part(c, to + 8, 1, second, 0));
  }
  const T_lane8 done = EPILOGUE(AS_T8(low), to, column, first);
  if (first == 8) T_store8(c, to, done);
  else T_store_part(c, to, done, 1, first);
  if (second > 0) T_store_part(c, to + 8, EPILOGUE(AS_T8(high), to + 8, column + 8, second), 1, second);
}
)";

std::size_t packed_bytes(DType dtype) { return dtype_size(lane_dtype(dtype)); }

std::string gemm_prelude(DType dtype) {
  const DType lane = lane_dtype(dtype);
  // Integers wrap, which only unsigned ones do by the language.
  const std::string p = lane == DType::i32 ? "uint" : lane == DType::i64 ? "ulong" : lane == DType::f64 ? "double" : "float";
  return text(prelude(lane == DType::f64), define_dtype("T", dtype), "typedef ", p, " P;\ntypedef ", p, "8 P8;\ntypedef ", p, "16 P16;\n#define P8_anywhere ", p, "8_anywhere\n#define AS_P8 as_", p,
              "8\n#define AS_T8 as_", lane_type(expr::lane_of(dtype)), "8\n",
              is_floating(lane) ? "#define MAD(a, b, c) fma(a, b, c)\n" : "#define MAD(a, b, c) ((a) * (b) + (c))\n");
}

Gemm::Gemm(Context& context, DType dtype, Epilogue epilogue)
    : context_(&context),
      dtype_(dtype),
      epilogue_(std::move(epilogue)),
      pack_a_(context.kernel(text(gemm_prelude(dtype), kPackA), "pack_a")),
      pack_b_(context.kernel(text(gemm_prelude(dtype), kPackBText), "pack_b")),
      multiply_(context.kernel(text(gemm_prelude(dtype), epilogue_.source(), kTileText, kBatchText, kMultiply), "multiply")) {}

void Gemm::pack_a(const Matrix& a, std::int64_t m, std::int64_t depth, void* panels, std::int64_t count,
                  std::int64_t matrix_stride) const {
  Launch(*context_, pack_a_).buffer(a.buffer).value(a.offset).value(a.row_stride).value(a.column_stride).value(matrix_stride)
      .buffer(panels).value(m).value(depth).run(blocks(m, kTileRows), count);
}

void launch_pack_b(Context& context, const KernelFunction& pack_b, const Matrix& b, std::int64_t depth, std::int64_t n, void* panels,
                   std::int64_t count, std::int64_t matrix_stride) {
  Launch(context, pack_b).buffer(b.buffer).value(b.offset).value(b.row_stride).value(b.column_stride).value(matrix_stride)
      .buffer(panels).value(depth).value(n).run(blocks(n, kTileColumns), count);
}

void Gemm::pack_b(const Matrix& b, std::int64_t depth, std::int64_t n, void* panels, std::int64_t count,
                  std::int64_t matrix_stride) const {
  launch_pack_b(*context_, pack_b_, b, depth, n, panels, count, matrix_stride);
}

void Gemm::multiply(const void* a, const void* b, void* c, std::int64_t offset, std::int64_t m, std::int64_t n,
                    std::int64_t depth, const Batch& batch, bool add, const KernelArgs& args) const {
  // Sums that would be rounded to 16 bits between blocks are made in one go.
  const std::int64_t block = packed_bytes(dtype_) == dtype_size(dtype_) ? kDepthBlock : std::max<std::int64_t>(depth, 1);
  for (std::int64_t k = 0; k == 0 || k < depth; k += block) {
    Launch launch(*context_, multiply_);
    launch.buffer(a).buffer(b).buffer(c).value(offset).value(m).value(n).value(depth).value(k)
        .value(std::min(depth, k + block)).value<cl_int>(add || k > 0).value(batch.words);
    epilogue_.add(launch, args, k + block >= depth);
    launch.run(blocks(m, kTileRows) * blocks(n, kTileColumns), batch.count);
  }
}

}  // namespace tandem::opencl
