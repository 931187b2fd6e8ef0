// The matrix product behind matmul and convolution: both sides packed into panels, a work-item a tile of 6 rows by two
// vectors.
#pragma once
#include <array>

#include "tandem/backend/opencl/epilogue.h"
#include "tandem/backend/opencl/kernels.h"

namespace tandem::opencl {

inline constexpr int kTileRows = 6, kPanelColumns = 16;

/// Bytes of a lane in packed panels: f16 and bf16 are packed as f32.
std::size_t packed_bytes(DType dtype);
/// Elements of `rows` (or columns) by `depth` when packed.
inline std::int64_t packed_elements(std::int64_t rows, std::int64_t depth, std::int64_t tile) {
  return blocks(rows, tile) * tile * depth;
}

/// A matrix inside a buffer: element (i, k) at offset + i * row_stride + k * column_stride, and further matrices of the
/// same kind `matrix_stride` apart.
struct Matrix {
  const void* buffer;
  std::int64_t offset = 0;
  std::int64_t row_stride = 0, column_stride = 1;
};

/// Which packed matrices make which result: result b takes matrix sum(position of b * stride) of each side.
struct Batch {
  std::int64_t count = 1;
  std::array<std::int64_t, 3 * kMaxRank + 1> words{};  // rank, sizes, strides of a, strides of b
};

class Gemm {
 public:
  Gemm(Context& context, DType dtype, Epilogue epilogue = {});

  /// panels[m/6][k][6] from a (m x depth); panels[n/16][k][16] from b (depth x n), `count` matrices `matrix_stride`
  /// apart.
  void pack_a(const Matrix& a, std::int64_t m, std::int64_t depth, void* panels, std::int64_t count = 1,
              std::int64_t matrix_stride = 0) const;
  void pack_b(const Matrix& b, std::int64_t depth, std::int64_t n, void* panels, std::int64_t count = 1,
              std::int64_t matrix_stride = 0) const;
  /// c[m, n] at `offset`, dense, for each of the batch; `add`: to what is there. `args` are those of the fused region
  /// when there is an epilogue.
  void multiply(const void* a, const void* b, void* c, std::int64_t offset, std::int64_t m, std::int64_t n,
                std::int64_t depth, const Batch& batch, bool add, const KernelArgs& args = {}) const;

  /// With at most sixteen columns every element of a is needed once: it is read where it lies, and `b_count` matrices
  /// b, which lie side by side, are packed.
  void multiply_narrow(const Matrix& a, const Matrix& b, std::int64_t b_count, void* c,
                       const std::array<std::int64_t, 3>& mnk, const Batch& batch, const KernelArgs& args) const;
  /// Both sides are read where they lie, for products so small that packing would take the longer part; the columns of
  /// b are neighbours.
  void multiply_in_place(const Matrix& a, const Matrix& b, void* c, const std::array<std::int64_t, 3>& mnk,
                         const Batch& batch, const KernelArgs& args) const;

  Context& context() const { return *context_; }
  DType dtype() const { return dtype_; }

 private:
  struct Product;
  void launch(const void* a, const void* b, void* c, const Product& product, std::int64_t results, bool last,
              const KernelArgs& args) const;

  Context* context_;
  DType dtype_;
  int lanes_;  // of a vector of the tiles
  Epilogue epilogue_;
  KernelFunction pack_a_, pack_b_, multiply_;
};

/// How many lanes the vectors of a tile have: 16 where a register of the device holds as many elements of the dtype,
/// or 8.
int tile_lanes(const Context& context, DType dtype);

/// A tile of sums in registers, `rows` (6 or 9) of two vectors, after gemm_prelude and the source of an epilogue: TILE
/// makes it; TILE_LOOP(start, more, next, COLUMNS, A) is a loop that adds the products of A(0), A(1), … with the
/// vectors COLUMNS(0) and, where the tile has so many `columns`, COLUMNS(1), which are PANEL_COLUMNS for packed ones:
/// panels of 16 columns from `pb`, `panel` elements apart. STEP_TILE(A) is one step with the vectors b0 and b1. TAKE(x,
/// at) is a vector of a tensor, TAKE_PART(x, at, m) the first m lanes of one. PUT_TILE stores `rows` and `columns` of
/// the tile at `to` in c, which has n columns, adding to what is there where `add` says so; `first` is its first
/// column. EACH_ROW(DO, A) is DO(number, first vector, second vector, A) for each row. After "#define WIDE 0" only the
/// first vector is computed.
std::string tile_text(int lanes, int rows = kTileRows);

/// After gemm_prelude: take_turned(x, at, apart, to, step) takes eight rows of eight elements of x, `apart` elements
/// from one another, and makes columns of them: element (r, k) goes to to[k * step + r].
extern const std::string_view kTurnText;

/// The program of the kernels pack_a and pack_b, and a launch of the latter: as Gemm::pack_b.
std::string packing_source(DType dtype);
void launch_pack_b(Context& context, const KernelFunction& pack_b, const Matrix& b, std::int64_t depth, std::int64_t n,
                   void* panels, std::int64_t count, std::int64_t matrix_stride);

/// The struct Batch, as its words have it, and find_matrices: which of a and b make a result.
extern const std::string_view kBatchText;

/// What packed matrices are made of: the types and macros of a program for `dtype`, whose results are kept as `result`.
std::string gemm_prelude(DType dtype, DType result);
inline std::string gemm_prelude(DType dtype) { return gemm_prelude(dtype, dtype); }

}  // namespace tandem::opencl
