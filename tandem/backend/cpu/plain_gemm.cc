// Matrix products of whole numbers, which no library serves: packed blocks, a register tile of four rows by two
// vectors.
#include <algorithm>
#include <cstring>

#include "tandem/backend/cpu/gemm.h"
#include "tandem/backend/cpu/scratch.h"
#include "tandem/backend/cpu/simd.h"

namespace tandem::cpu {
namespace {

constexpr std::int64_t kRows = 64;      // of a block of a and c
constexpr std::int64_t kColumns = 128;  // of a block of b and c
constexpr std::int64_t kDepth = 256;    // of both, along k
constexpr int kTileRows = 4;

template <class T>
struct Vector {
  typedef T type __attribute__((vector_size(32)));
  static constexpr int kLanes = 32 / sizeof(T);
  static constexpr int kStrip = 2 * kLanes;  // columns of a register tile
};

/// Block sizes of the step at hand.
struct Block {
  std::int64_t row, column, depth;  // where it begins
  std::int64_t rows, columns, depths;
};

/// Rows in groups of four, each as (depth, 4); missing rows are zero.
template <class T>
void pack_a(const Gemm<T>& g, const Block& block, T* out) {
  for (std::int64_t i = 0; i < block.rows; i += kTileRows)
    for (std::int64_t p = 0; p < block.depths; ++p)
      for (int r = 0; r < kTileRows; ++r, ++out) {
        const std::int64_t row = block.row + i + r, depth = block.depth + p;
        *out = i + r < block.rows ? (g.transpose_a ? g.a[depth * g.lda + row] : g.a[row * g.lda + depth]) : T(0);
      }
}

/// Columns in strips of two vectors, each as (depth, strip); missing columns are zero.
template <class T>
void pack_b(const Gemm<T>& g, const Block& block, T* out) {
  constexpr int kStrip = Vector<T>::kStrip;
  for (std::int64_t j = 0; j < block.columns; j += kStrip)
    for (std::int64_t p = 0; p < block.depths; ++p)
      for (int c = 0; c < kStrip; ++c, ++out) {
        const std::int64_t column = block.column + j + c, depth = block.depth + p;
        *out =
            j + c < block.columns ? (g.transpose_b ? g.b[column * g.ldb + depth] : g.b[depth * g.ldb + column]) : T(0);
      }
}

template <class T>
__attribute__((always_inline)) inline void add_tile(const T* a, const T* b, std::int64_t depths, T* c) {
  using V = typename Vector<T>::type;
  constexpr int kLanes = Vector<T>::kLanes;
  V sums[kTileRows][2];
  for (int r = 0; r < kTileRows; ++r) std::memcpy(sums[r], c + r * kColumns, sizeof sums[r]);
  for (std::int64_t p = 0; p < depths; ++p) {
    V b0, b1;
    std::memcpy(&b0, b + p * 2 * kLanes, sizeof b0);
    std::memcpy(&b1, b + p * 2 * kLanes + kLanes, sizeof b1);
    for (int r = 0; r < kTileRows; ++r) {
      sums[r][0] += a[p * kTileRows + r] * b0;
      sums[r][1] += a[p * kTileRows + r] * b1;
    }
  }
  for (int r = 0; r < kTileRows; ++r) std::memcpy(c + r * kColumns, sums[r], sizeof sums[r]);
}

template <class T>
void add_block(const T* a, const T* b, const Block& block, T* c) {
  constexpr int kStrip = Vector<T>::kStrip;
  wide([&]() __attribute__((always_inline)) {
    for (std::int64_t j = 0; j < block.columns; j += kStrip)
      for (std::int64_t i = 0; i < block.rows; i += kTileRows)
        add_tile(a + i * block.depths, b + j * block.depths, block.depths, c + i * kColumns + j);
  });
}

}  // namespace

template <class T>
void plain_gemm(const Gemm<T>& g) {
  auto* a =
      static_cast<T*>(scratch(ScratchUse::pack, sizeof(T) * (kRows * kDepth + kDepth * kColumns + kRows * kColumns)));
  T* b = a + kRows * kDepth;
  T* c = b + kDepth * kColumns;
  for (std::int64_t j = 0; j < g.n; j += kColumns)
    for (std::int64_t i = 0; i < g.m; i += kRows) {
      Block block{.row = i, .column = j, .rows = std::min(kRows, g.m - i), .columns = std::min(kColumns, g.n - j)};
      std::fill_n(c, kRows * kColumns, T(0));
      for (block.depth = 0; block.depth < g.k; block.depth += kDepth) {
        block.depths = std::min(kDepth, g.k - block.depth);
        pack_a(g, block, a);
        pack_b(g, block, b);
        add_block(a, b, block, c);
      }
      for (std::int64_t r = 0; r < block.rows; ++r)
        for (std::int64_t col = 0; col < block.columns; ++col) g.c[(i + r) * g.ldc + j + col] = c[r * kColumns + col];
    }
}

template void plain_gemm(const Gemm<std::int32_t>&);
template void plain_gemm(const Gemm<std::int64_t>&);

}  // namespace tandem::cpu
