// A product of bfloat16 on AMX tiles. Blocks of both operands are packed into tiles of 1 KiB, zeros where the matrix
// ends; two by two tiles of the result are added up in registers. GCC 12 takes the undefined lanes of its own shuffles
// for a mistake of ours.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#include <algorithm>

#include "tandem/backend/cpu/amx.h"
#include "tandem/backend/cpu/amx_tiles.h"
#include "tandem/backend/cpu/scratch.h"

namespace tandem::cpu {
namespace {

constexpr std::int64_t kSide = 16;                 // rows or columns of a tile
constexpr std::int64_t kDepth = 32;                // of an operand's tile, along k
constexpr std::int64_t kTile = kSide * kDepth;     // elements of an operand's tile
constexpr std::int64_t kPair = 2 * kSide;          // side of what registers hold
constexpr std::int64_t kRows = 512, kColumns = 512, kDeep = 1024;  // of a block: both operands stay in the second cache

std::int64_t tiles_of(std::int64_t count, std::int64_t each) { return (count + each - 1) / each; }

/// Part of an operand: `count` rows of a or columns of b, `depth` elements of each.
struct Part {
  const BFloat16* at;
  std::int64_t leading;
  bool along_k;  // an element's neighbour in memory is the next along k
  std::int64_t count, depth;
};

/// 16 x 16 words of 32 bits, transposed.
[[gnu::target("avx512bw,avx512vl")]] inline void transpose(__m512i (&v)[16]) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
  }
  for (int i = 0; i < 16; i += 4)
    for (int k = 0; k < 2; ++k) {
      v[i + 2 * k] = _mm512_unpacklo_epi64(t[i + k], t[i + k + 2]);
      v[i + 2 * k + 1] = _mm512_unpackhi_epi64(t[i + k], t[i + k + 2]);
    }
  // v[4 g + c]: column c of each quarter, from rows 4 g to 4 g + 3.
  for (int c = 0; c < 4; ++c) {
    t[c] = _mm512_shuffle_i32x4(v[c], v[4 + c], 0x88);
    t[4 + c] = _mm512_shuffle_i32x4(v[c], v[4 + c], 0xdd);
    t[8 + c] = _mm512_shuffle_i32x4(v[8 + c], v[12 + c], 0x88);
    t[12 + c] = _mm512_shuffle_i32x4(v[8 + c], v[12 + c], 0xdd);
  }
  for (int c = 0; c < 4; ++c) {
    v[c] = _mm512_shuffle_i32x4(t[c], t[8 + c], 0x88);
    v[8 + c] = _mm512_shuffle_i32x4(t[c], t[8 + c], 0xdd);
    v[4 + c] = _mm512_shuffle_i32x4(t[4 + c], t[12 + c], 0x88);
    v[12 + c] = _mm512_shuffle_i32x4(t[4 + c], t[12 + c], 0xdd);
  }
}

constexpr std::uint32_t first_bits(std::int64_t count) { return count >= 32 ? ~0u : (1u << count) - 1; }

/// One tile: pairs along k stay together. By rows (row, pair) for a, by pairs (pair, column) for b.
[[gnu::target("avx512bw,avx512vl")]] inline void pack_tile(const Part& p, bool by_pairs, BFloat16* out) {
  __m512i v[16];
  if (p.along_k) {
    const __mmask32 mask = first_bits(p.depth);
    for (int i = 0; i < 16; ++i)
      v[i] = i < p.count ? _mm512_maskz_loadu_epi16(mask, p.at + i * p.leading) : _mm512_setzero_si512();
  } else {
    const auto mask = static_cast<__mmask16>(first_bits(p.count));
    const auto row = [&](std::int64_t k) __attribute__((always_inline, target("avx512bw,avx512vl"))) {
      return _mm512_cvtepu16_epi32(k < p.depth ? _mm256_maskz_loadu_epi16(mask, p.at + k * p.leading)
                                               : _mm256_setzero_si256());
    };
    for (int i = 0; i < 16; ++i) v[i] = _mm512_or_si512(row(2 * i), _mm512_slli_epi32(row(2 * i + 1), 16));
  }
  if (p.along_k == by_pairs) transpose(v);
  for (int i = 0; i < 16; ++i) _mm512_store_si512(out + i * kDepth, v[i]);
}

/// Tiles in the order (strip of 16 rows or columns, k).
[[gnu::target("avx512bw,avx512vl")]] void pack(const Part& whole, bool by_pairs, BFloat16* out) {
  const std::int64_t strips = tiles_of(whole.count, kSide), deep = tiles_of(whole.depth, kDepth);
  const auto tile = [&](std::int64_t strip,
                        std::int64_t k) __attribute__((always_inline, target("avx512bw,avx512vl"))) {
    Part p = whole;
    p.at += whole.along_k ? strip * kSide * whole.leading + k * kDepth : k * kDepth * whole.leading + strip * kSide;
    p.count = std::min(kSide, whole.count - strip * kSide);
    p.depth = std::min(kDepth, whole.depth - k * kDepth);
    pack_tile(p, by_pairs, out + (strip * deep + k) * kTile);
  };
  if (whole.along_k)
    for (std::int64_t strip = 0; strip < strips; ++strip)
      for (std::int64_t k = 0; k < deep; ++k) tile(strip, k);
  else
    for (std::int64_t k = 0; k < deep; ++k)
      for (std::int64_t strip = 0; strip < strips; ++strip) tile(strip, k);
}

/// Sums of `rows` x `columns` tiles (one or two each) over `deep` tiles along k; `more`: added to what is there.
template <int rows, int columns>
[[gnu::target("amx-tile,amx-bf16")]] void add_tiles(const BFloat16* a, const BFloat16* b, std::int64_t deep,
                                                    float* sums, std::int64_t leading, bool more) {
  constexpr long kLine = 64;
  const long line = leading * static_cast<long>(sizeof(float));
  const BFloat16 *a1 = a + deep * kTile, *b1 = b + deep * kTile;
  float *below = sums + kSide * leading, *right = sums + kSide, *corner = below + kSide;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  if (more) {
    _tile_loadd(0, sums, line);
    if constexpr (columns == 2) _tile_loadd(1, right, line);
    if constexpr (rows == 2) _tile_loadd(2, below, line);
    if constexpr (rows == 2 && columns == 2) _tile_loadd(3, corner, line);
  }
  for (std::int64_t k = 0; k < deep; ++k) {
    _tile_loadd(6, b + k * kTile, kLine);
    _tile_loadd(4, a + k * kTile, kLine);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (columns == 2) {
      _tile_loadd(7, b1 + k * kTile, kLine);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (rows == 2) {
      _tile_loadd(5, a1 + k * kTile, kLine);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (columns == 2) _tile_dpbf16ps(3, 5, 7);
    }
  }
  _tile_stored(0, sums, line);
  if constexpr (columns == 2) _tile_stored(1, right, line);
  if constexpr (rows == 2) _tile_stored(2, below, line);
  if constexpr (rows == 2 && columns == 2) _tile_stored(3, corner, line);
}

[[gnu::target("amx-tile,amx-bf16")]] void add_block(int rows, int columns, const BFloat16* a, const BFloat16* b,
                                                    std::int64_t deep, float* sums, std::int64_t leading, bool more) {
  if (rows == 2 && columns == 2) return add_tiles<2, 2>(a, b, deep, sums, leading, more);
  if (rows == 2) return add_tiles<2, 1>(a, b, deep, sums, leading, more);
  if (columns == 2) return add_tiles<1, 2>(a, b, deep, sums, leading, more);
  add_tiles<1, 1>(a, b, deep, sums, leading, more);
}

/// Sixteen results of a row; `accumulate`: added to what is there.
[[gnu::target("avx512bf16,avx512bw,avx512vl")]] inline void write(__m512 sums, __mmask16 mask, BFloat16* c,
                                                                  bool accumulate) {
  if (accumulate) {
    const __m512i before = _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, c)), 16);
    sums = _mm512_add_ps(sums, _mm512_castsi512_ps(before));
  }
  _mm256_mask_storeu_epi16(c, mask, reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(sums)));
}
[[gnu::target("avx512bf16,avx512bw,avx512vl")]] inline void write(__m512 sums, __mmask16 mask, float* c,
                                                                  bool accumulate) {
  if (accumulate) sums = _mm512_add_ps(sums, _mm512_maskz_loadu_ps(mask, c));
  _mm512_mask_storeu_ps(c, mask, sums);
}

template <class Result>
[[gnu::target("avx512bf16,avx512bw,avx512vl")]] void write_block(const float* sums, std::int64_t leading,
                                                                 std::int64_t rows, std::int64_t columns, Result* c,
                                                                 std::int64_t ldc, bool accumulate) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; j += kSide)
      write(_mm512_loadu_ps(sums + i * leading + j), static_cast<__mmask16>(first_bits(std::min(kSide, columns - j))),
            c + i * ldc + j, accumulate);
}

template <class T>
T* take(ScratchUse use, std::int64_t elements) {
  return static_cast<T*>(scratch(use, static_cast<std::size_t>(elements) * sizeof(T)));
}

/// A block of the result, kRows x kColumns at most, all of k.
template <class Result>
[[gnu::target("amx-tile,amx-bf16")]] void multiply_block(const Gemm<BFloat16, Result>& g) {
  const std::int64_t rows = tiles_of(g.m, kSide), columns = tiles_of(g.n, kSide),
                     deepest = tiles_of(std::min(g.k, kDeep), kDepth);
  auto* a = take<BFloat16>(ScratchUse::pack, (rows + columns) * deepest * kTile);
  BFloat16* b = a + rows * deepest * kTile;
  // Only where k is cut do sums outlive the registers.
  const bool cut = g.k > kDeep;
  alignas(64) float one[kPair * kPair];
  float* sums = cut ? take<float>(ScratchUse::sums, rows * columns * kSide * kSide) : one;
  const std::int64_t leading = cut ? columns * kSide : kPair;
  for (std::int64_t k = 0; k < g.k; k += kDeep) {
    const std::int64_t depth = std::min(kDeep, g.k - k), deep = tiles_of(depth, kDepth);
    pack({g.a + (g.transpose_a ? k * g.lda : k), g.lda, !g.transpose_a, g.m, depth}, false, a);
    pack({g.b + (g.transpose_b ? k : k * g.ldb), g.ldb, g.transpose_b, g.n, depth}, true, b);
    for (std::int64_t column = 0; column < columns; column += 2)
      for (std::int64_t row = 0; row < rows; row += 2) {
        float* at = cut ? sums + (row * leading + column) * kSide : one;
        add_block(rows - row > 1 ? 2 : 1, columns - column > 1 ? 2 : 1, a + row * deep * kTile,
                  b + column * deep * kTile, deep, at, leading, k > 0);
        if (k + depth == g.k)
          write_block(at, leading, std::min(kPair, g.m - row * kSide), std::min(kPair, g.n - column * kSide),
                      g.c + row * kSide * g.ldc + column * kSide, g.ldc, g.accumulate);
      }
  }
}

template <class Result>
[[gnu::target("amx-tile,amx-bf16")]] void multiply(const Gemm<BFloat16, Result>& g) {
  _tile_loadconfig(&kTileShapes);
  for (std::int64_t row = 0; row < g.m; row += kRows)
    for (std::int64_t column = 0; column < g.n; column += kColumns)
      multiply_block(g.block(row, column, kRows, kColumns));
  _tile_release();
}

}  // namespace

void amx_gemm(const Gemm<BFloat16>& gemm) { multiply(gemm); }
void amx_gemm(const Gemm<BFloat16, float>& gemm) { multiply(gemm); }

}  // namespace tandem::cpu
