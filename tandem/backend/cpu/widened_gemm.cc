// Products of the 16-bit floats in float32: blocks of both operands are converted, multiplied by a library, and the
// sums rounded once. Where no instructions of their own pay, a 16-bit product thus costs little more than one of
// float32.
#include <algorithm>

#include "tandem/backend/cpu/gemm.h"
#include "tandem/backend/cpu/halves.h"
#include "tandem/backend/cpu/scratch.h"

namespace tandem::cpu {
namespace {

constexpr std::int64_t kRows = 512, kColumns = 512, kDeep = 512;  // of a block: 3 MiB in all

float* take(ScratchUse use, std::int64_t elements) {
  return static_cast<float*>(scratch(use, static_cast<std::size_t>(elements) * sizeof(float)));
}

template <class T>
void widen_rows(const T* from, std::int64_t leading, std::int64_t rows, std::int64_t columns, float* to) {
  for (std::int64_t r = 0; r < rows; ++r) widen(from + r * leading, to + r * columns, columns);
}

/// A block of the result, all of k.
template <class T>
void multiply_block(const Gemm<T>& g) {
  const std::int64_t deepest = std::min(g.k, kDeep);
  float *a = take(ScratchUse::pack, (g.m + g.n) * deepest), *b = a + g.m * deepest,
        *c = take(ScratchUse::sums, g.m * g.n);
  for (std::int64_t k = 0; k < g.k; k += kDeep) {
    const std::int64_t depth = std::min(kDeep, g.k - k);
    if (g.transpose_a) widen_rows(g.a + k * g.lda, g.lda, depth, g.m, a);
    else widen_rows(g.a + k, g.lda, g.m, depth, a);
    if (g.transpose_b) widen_rows(g.b + k, g.ldb, g.n, depth, b);
    else widen_rows(g.b + k * g.ldb, g.ldb, depth, g.n, b);
    library_gemm({.m = g.m,
                  .n = g.n,
                  .k = depth,
                  .transpose_a = g.transpose_a,
                  .transpose_b = g.transpose_b,
                  .a = a,
                  .lda = g.transpose_a ? g.m : depth,
                  .b = b,
                  .ldb = g.transpose_b ? depth : g.n,
                  .c = c,
                  .ldc = g.n,
                  .accumulate = k > 0});
  }
  for (std::int64_t r = 0; r < g.m; ++r) narrow(c + r * g.n, g.c + r * g.ldc, g.n);
}

template <class T>
void multiply(const Gemm<T>& g) {
  for (std::int64_t row = 0; row < g.m; row += kRows)
    for (std::int64_t column = 0; column < g.n; column += kColumns)
      multiply_block(g.block(row, column, kRows, kColumns));
}

}  // namespace

void widened_gemm(const Gemm<BFloat16>& gemm) { multiply(gemm); }
void widened_gemm(const Gemm<Half>& gemm) { multiply(gemm); }

}  // namespace tandem::cpu
