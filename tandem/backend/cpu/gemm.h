// One matrix product in row-major order: what the libraries and our own loops are asked for.
#pragma once
#include <algorithm>
#include <cstdint>

#include "tandem/core/half.h"

namespace tandem::cpu {

/// c (m, n) = op(a) (m, k) * op(b) (k, n). Leading dimensions count elements; a transposed operand is stored as
/// (k, m) or (n, k) and read in place.
template <class T, class Result = T>
struct Gemm {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  const T* a = nullptr;
  std::int64_t lda = 0;
  const T* b = nullptr;
  std::int64_t ldb = 0;
  Result* c = nullptr;
  std::int64_t ldc = 0;
  bool accumulate = false;  // add to c instead of overwriting it
  bool subtract = false;    // subtract from c instead; served by the two libraries

  T factor() const { return static_cast<T>(subtract ? -1 : 1); }
  T of_c() const { return static_cast<T>(accumulate || subtract ? 1 : 0); }

  /// The product that makes up to (rows, columns) of c, from (row, column) on.
  Gemm block(std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns) const {
    Gemm part = *this;
    part.m = std::min(rows, m - row);
    part.n = std::min(columns, n - column);
    part.a += transpose_a ? row : row * lda;
    part.b += transpose_b ? column * ldb : column;
    part.c += row * ldc + column;
    return part;
  }
};

/// On the calling thread only, with OpenBLAS; products with a vector go to gemv.
void openblas_gemm(const Gemm<float>& gemm);
void openblas_gemm(const Gemm<double>& gemm);

/// On the calling thread only, with oneDNN.
void onednn_gemm(const Gemm<float>& gemm);

/// The same for bfloat16, added up in float: where the processor's instructions for it (avx512_bf16) are faster than
/// those for float.
void onednn_gemm(const Gemm<BFloat16>& gemm);
bool avx512_bf16_pays();

/// On the calling thread only, loops of our own for many rows of two to four numbers times a vector.
void short_rows_gemm(const Gemm<float>& gemm);
bool has_short_rows(const Gemm<float>& gemm);

/// Whether OpenBLAS is faster than oneDNN for f32, by measurement.
bool openblas_is_faster(const Gemm<float>& gemm);

/// On the calling thread only, with the faster of the two.
void library_gemm(const Gemm<float>& gemm);

/// On the calling thread only: the 16-bit floats converted to float, block by block, and the sums rounded once.
/// `accumulate` is not served.
void widened_gemm(const Gemm<BFloat16>& gemm);
void widened_gemm(const Gemm<Half>& gemm);

/// On the calling thread only, blocked loops of our own: int32 and int64 wrap.
/// `accumulate` and `subtract` are not served.
template <class T>
void plain_gemm(const Gemm<T>& gemm);

}  // namespace tandem::cpu
