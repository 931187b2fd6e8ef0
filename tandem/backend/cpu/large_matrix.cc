#include "tandem/backend/cpu/large_matrix.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tandem/backend/cpu/gemm.h"
#include "tandem/backend/cpu/lapack.h"
#include "tandem/base/cores.h"

namespace tandem::cpu {
namespace {

using lapack::Triangle;

/// Rows that LAPACK factors at a time, on one core; what a slice takes of the rows below, and of the columns of
/// right-hand sides.
constexpr int kBlock = 64, kRows = 64, kColumns = 128;
/// Triangles up to this size are solved without products.
constexpr int kTriangle = 32;

/// A matrix row by row, as all of this file sees it: LAPACK, which counts by columns, takes it for its transpose.
template <class T>
struct Rows {
  T* data;
  int n;
  T* at(int row, int column) const { return data + static_cast<std::int64_t>(row) * n + column; }
};

void product(const Gemm<double>& gemm) { openblas_gemm(gemm); }
void product(const Gemm<float>& gemm) { openblas_is_faster(gemm) ? openblas_gemm(gemm) : onednn_gemm(gemm); }

/// body(first, last) for slices of [begin, end).
template <class Body>
void in_slices(int begin, int end, int each, const Body& body) {
  if (begin >= end) return;
  parallel((end - begin + each - 1) / each, [&](std::int64_t slice) {
    const int first = begin + static_cast<int>(slice) * each;
    body(first, std::min(first + each, end));
  });
}

/// Exchanges columns `first`, first + 1, … of the rows with those that the pivots name.
template <class T>
void exchange_columns(const Rows<T>& a, int row, int rows, int first, int count, const int* pivots) {
  for (int r = row; r < row + rows; ++r) {
    T* line = a.at(r, 0);
    for (int i = first; i < first + count; ++i) std::swap(line[i], line[pivots[i] - 1]);
  }
}

/// Takes the factored block of rows [block, block + count) out of the rows [row, row + rows) below it.
template <class T>
void eliminate(const Rows<T>& a, int block, int count, const int* pivots, int row, int rows) {
  const int end = block + count;
  exchange_columns(a, row, rows, block, count, pivots);
  lapack::solve_right({.lower = false, .unit = true}, rows, count, a.at(block, block), a.n, a.at(row, block), a.n);
  if (end < a.n)
    product(Gemm<T>{.m = rows,
                    .n = a.n - end,
                    .k = count,
                    .a = a.at(row, block),
                    .lda = a.n,
                    .b = a.at(block, end),
                    .ldb = a.n,
                    .c = a.at(row, end),
                    .ldc = a.n,
                    .subtract = true});
}

/// Factors the rows [block, block + count), whose columns before `block` are done.
template <class T>
int factor_rows(const Rows<T>& a, int block, int count, int* pivots) {
  const int info = lapack::getrf(a.n - block, count, a.at(block, block), a.n, pivots + block);
  for (int i = block; i < block + count; ++i) pivots[i] += block;
  return info > 0 ? info + block : info;
}

/// Exchanges whole rows of `b`, columns [first, last) of them, as the pivots say, forwards or back.
template <class T>
void exchange_rows(bool forwards, int n, int columns, const int* pivots, T* b, int first, int last) {
  for (int step = 0; step < n; ++step) {
    const int i = forwards ? step : n - 1 - step, other = pivots[i] - 1;
    if (other == i) continue;
    T* row = b + static_cast<std::int64_t>(i) * columns;
    std::swap_ranges(row + first, row + last, b + static_cast<std::int64_t>(other) * columns + first);
  }
}

/// X of A X = B in place of B (n, columns), by halves: most of it is then a product, for which the libraries have the
/// better loops.
template <class T>
void solve_halves(Triangle t, int n, int columns, const T* a, int lda, T* b, int ldb) {
  if (n <= kTriangle) return lapack::solve_left(t, n, columns, a, lda, b, ldb);
  const int upper = (n / 2 + 15) / 16 * 16, lower = n - upper;
  const T *first = a, *second = a + static_cast<std::int64_t>(upper) * (lda + 1);
  const T* beside = t.lower ? a + static_cast<std::int64_t>(upper) * lda : a + upper;  // the block off the diagonal
  T *top = b, *bottom = b + static_cast<std::int64_t>(upper) * ldb;
  if (t.lower != t.transpose) {  // downwards
    solve_halves(t, upper, columns, first, lda, top, ldb);
    product(Gemm<T>{.m = lower,
                    .n = columns,
                    .k = upper,
                    .transpose_a = t.transpose,
                    .a = beside,
                    .lda = lda,
                    .b = top,
                    .ldb = ldb,
                    .c = bottom,
                    .ldc = ldb,
                    .subtract = true});
    solve_halves(t, lower, columns, second, lda, bottom, ldb);
  } else {
    solve_halves(t, lower, columns, second, lda, bottom, ldb);
    product(Gemm<T>{.m = upper,
                    .n = columns,
                    .k = lower,
                    .transpose_a = t.transpose,
                    .a = beside,
                    .lda = lda,
                    .b = bottom,
                    .ldb = ldb,
                    .c = top,
                    .ldc = ldb,
                    .subtract = true});
    solve_halves(t, upper, columns, first, lda, top, ldb);
  }
}

}  // namespace

template <class T>
int cholesky_of(int n, T* data) {
  if (n < kLargeMatrix) return lapack::potrf_upper(n, data, n);
  const Rows<T> a{data, n};
  for (int block = 0; block < n; block += kBlock) {
    const int count = std::min(kBlock, n - block), rest = block + count;
    if (const int info = lapack::potrf_upper(count, a.at(block, block), n)) return info + block;
    in_slices(rest, n, kRows, [&](int first, int last) {
      lapack::solve_right({.lower = true, .transpose = true}, last - first, count, a.at(block, block), n,
                          a.at(first, block), n);
    });
    // Short slices: a thread that ends first waits for the others' last ones, and if that is long it sleeps and is late
    // for the next block.
    in_slices(rest, n, kRows / 2, [&](int first, int last) {
      product(Gemm<T>{.m = last - first,
                      .n = last - rest,
                      .k = count,
                      .transpose_b = true,
                      .a = a.at(first, block),
                      .lda = n,
                      .b = a.at(rest, block),
                      .ldb = n,
                      .c = a.at(first, rest),
                      .ldc = n,
                      .subtract = true});
    });
  }
  return 0;
}

template <class T>
int lu_of(int n, T* data, int* pivots) {
  if (n < kLargeMatrix) return lapack::getrf(n, n, data, n, pivots);
  const Rows<T> a{data, n};
  int info = factor_rows(a, 0, kBlock, pivots);
  for (int block = 0; block < n; block += kBlock) {
    const int count = std::min(kBlock, n - block), next = block + count, next_count = std::min(kBlock, n - next);
    if (next_count <= 0) break;
    // The next block is factored as soon as this one is out of it, beside the slices below it.
    int next_info = 0;
    const int below = n - next - next_count;
    parallel(1 + (below + kRows - 1) / kRows, [&](std::int64_t slice) {
      if (slice == 0) {
        eliminate(a, block, count, pivots, next, next_count);
        next_info = factor_rows(a, next, next_count, pivots);
      } else {
        const int first = next + next_count + static_cast<int>(slice - 1) * kRows;
        eliminate(a, block, count, pivots, first, std::min(kRows, n - first));
      }
    });
    if (info == 0) info = next_info;
  }
  // Rows that were done when a later block exchanged columns.
  in_slices(0, n, kRows, [&](int first, int last) {
    for (int r = first; r < last; ++r)
      exchange_columns(a, r, 1, (r / kBlock + 1) * kBlock, std::max(n - (r / kBlock + 1) * kBlock, 0), pivots);
  });
  return info;
}

template <class T>
void solve_by_lu(bool transpose, int n, int columns, const T* factors, const int* pivots, T* b) {
  // Seen row by row, the factors are a lower triangle times one with ones on its diagonal, its columns exchanged.
  in_slices(0, columns, kColumns, [&](int first, int last) {
    if (transpose) exchange_rows(true, n, columns, pivots, b, first, last);
    const Triangle lower{.lower = true, .transpose = transpose},
        upper{.lower = false, .transpose = transpose, .unit = true};
    solve_halves(transpose ? upper : lower, n, last - first, factors, n, b + first, columns);
    solve_halves(transpose ? lower : upper, n, last - first, factors, n, b + first, columns);
    if (!transpose) exchange_rows(false, n, columns, pivots, b, first, last);
  });
}

template <class T>
void solve_triangle(bool lower, bool transpose, int n, int columns, const T* a, T* b) {
  in_slices(0, columns, kColumns, [&](int first, int last) {
    solve_halves<T>({lower, transpose}, n, last - first, a, n, b + first, columns);
  });
}

template int cholesky_of(int, float*);
template int cholesky_of(int, double*);
template int lu_of(int, float*, int*);
template int lu_of(int, double*, int*);
template void solve_by_lu(bool, int, int, const float*, const int*, float*);
template void solve_by_lu(bool, int, int, const double*, const int*, double*);
template void solve_triangle(bool, bool, int, int, const float*, float*);
template void solve_triangle(bool, bool, int, int, const double*, double*);

}  // namespace tandem::cpu
