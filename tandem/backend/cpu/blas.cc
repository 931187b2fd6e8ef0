#include <cblas.h>

#include "tandem/backend/cpu/gemm.h"
#include "tandem/backend/cpu/one_thread.h"
#include "tandem/backend/cpu/simd.h"

namespace tandem::cpu {
namespace {

int narrow(std::int64_t size) { return static_cast<int>(size); }  // sizes are checked when a kernel is prepared

CBLAS_TRANSPOSE flag(bool transpose) { return transpose ? CblasTrans : CblasNoTrans; }

void cblas_gemm(const Gemm<float>& g) {
  cblas_sgemm(CblasRowMajor, flag(g.transpose_a), flag(g.transpose_b), narrow(g.m), narrow(g.n), narrow(g.k),
              g.factor(), g.a, narrow(g.lda), g.b, narrow(g.ldb), g.of_c(), g.c, narrow(g.ldc));
}
void cblas_gemm(const Gemm<double>& g) {
  cblas_dgemm(CblasRowMajor, flag(g.transpose_a), flag(g.transpose_b), narrow(g.m), narrow(g.n), narrow(g.k),
              g.factor(), g.a, narrow(g.lda), g.b, narrow(g.ldb), g.of_c(), g.c, narrow(g.ldc));
}

/// For a stored as (rows, columns).
template <class T>
struct Gemv {
  bool transpose;
  std::int64_t rows, columns;
  const T* a;
  std::int64_t lda;
  const T* x;
  std::int64_t step_x;
  T* y;
  std::int64_t step_y;
  T factor, of_y;  // y = factor op(a) x + of_y y
};

void library_gemv(const Gemv<float>& g) {
  cblas_sgemv(CblasRowMajor, flag(g.transpose), narrow(g.rows), narrow(g.columns), g.factor, g.a, narrow(g.lda), g.x,
              narrow(g.step_x), g.of_y, g.y, narrow(g.step_y));
}
void library_gemv(const Gemv<double>& g) {
  cblas_dgemv(CblasRowMajor, flag(g.transpose), narrow(g.rows), narrow(g.columns), g.factor, g.a, narrow(g.lda), g.x,
              narrow(g.step_x), g.of_y, g.y, narrow(g.step_y));
}

template <class T>
void gemm_or_gemv(const Gemm<T>& g) {
  const OneThread guard;
  if (g.n == 1) {
    library_gemv(Gemv<T>{.transpose = g.transpose_a,
                         .rows = g.transpose_a ? g.k : g.m,
                         .columns = g.transpose_a ? g.m : g.k,
                         .a = g.a,
                         .lda = g.lda,
                         .x = g.b,
                         .step_x = g.transpose_b ? 1 : g.ldb,
                         .y = g.c,
                         .step_y = g.ldc,
                         .factor = g.factor(),
                         .of_y = g.of_c()});
  } else if (g.m == 1) {  // c = op(b)^T a
    library_gemv(Gemv<T>{.transpose = !g.transpose_b,
                         .rows = g.transpose_b ? g.n : g.k,
                         .columns = g.transpose_b ? g.k : g.n,
                         .a = g.b,
                         .lda = g.ldb,
                         .x = g.a,
                         .step_x = g.transpose_a ? g.lda : 1,
                         .y = g.c,
                         .step_y = 1,
                         .factor = g.factor(),
                         .of_y = g.of_c()});
  } else {
    cblas_gemm(g);
  }
}

}  // namespace

void openblas_gemm(const Gemm<float>& gemm) { gemm_or_gemv(gemm); }
void openblas_gemm(const Gemm<double>& gemm) { gemm_or_gemv(gemm); }

namespace {

// One thread, AVX2 (Zen 3), GFLOP/s oneDNN / OpenBLAS:
//   32x784x128 91 / 79      784x32x128 (a transposed) 91 / 60      32x100x64 84 / 68      1x1024x1024 37 / 8
//   256^3 94 / 89           500^3 94 / 92            1024x64x1024 93 / 74                 512^3 66 / 87
//   32x1024x1024 44 / 78    128x1024x1024 46 / 90    256^3 (a transposed) 77 / 89
// (m x k x n.) oneDNN wins small and skinny products. It reads large ones in place, and then steps along k of a
// multiple of 2 KiB (of 512 bytes in a transposed a) fight for the same few cache sets; OpenBLAS copies its blocks
// first and does not care.
bool openblas_is_faster_avx2(const Gemm<float>& g) {
  constexpr std::int64_t kSmall = 4 << 20, kLargeSide = 512, kLongSum = 128;
  if (g.m * g.n * g.k < kSmall) return false;
  if (g.m >= kLargeSide && g.n >= kLargeSide && g.k >= kLargeSide) return true;
  const bool unlucky_a = g.transpose_a && g.lda % 128 == 0 && g.lda >= 256;
  const bool unlucky_b = !g.transpose_b && g.ldb % 512 == 0;
  return g.k >= kLongSum && (unlucky_a || unlucky_b);
}

// One thread, AVX-512 (Zen 4), GFLOP/s oneDNN / OpenBLAS:
//   32x100x64 99 / 116      100x32x64 (a transposed) 94 / 112      64^3 98 / 115        1024x64x10 50 / 72
//   128^3 114 / 98          32x784x128 115 / 86      1024x100x64 104 / 98               1024^3 108 / 98
// OpenBLAS has loops of their own for small products there; oneDNN copies its blocks whatever the size.
bool openblas_is_faster_avx512(const Gemm<float>& g) {
  constexpr std::int64_t kSmall = 512 << 10, kSmallOfFewColumns = 1 << 20, kFewColumns = 16;
  return g.m * g.n * g.k < (g.n <= kFewColumns ? kSmallOfFewColumns : kSmall);
}

}  // namespace

// For the very smallest OpenBLAS is quicker to call, and needs no 15 ms to make its code.
bool openblas_is_faster(const Gemm<float>& g) {
  constexpr std::int64_t kTiny = 8 << 10;
  if (g.m * g.n * g.k < kTiny) return true;
  if (g.m == 1 || g.n == 1) return false;
  return has_avx512() ? openblas_is_faster_avx512(g) : openblas_is_faster_avx2(g);
}

void library_gemm(const Gemm<float>& g) {
  if (openblas_is_faster(g)) openblas_gemm(g);
  else onednn_gemm(g);
}

}  // namespace tandem::cpu
