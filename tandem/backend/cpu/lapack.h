// The routines of LAPACK that kernels use, one name for both dtypes, on the calling thread. Matrices stand column by
// column, so that a row-major matrix is its own transpose. A result other than 0 means failure.
#pragma once

namespace tandem::cpu::lapack {

// Each takes its scratch memory from the thread.

/// A = U^T U: the upper triangle of `a` becomes U, the rest stays.
int potrf_upper(int n, float* a, int lda);
int potrf_upper(int n, double* a, int lda);
/// A = P L U of `a` (m, n); `pivots` count from 1. A positive result: U has a zero on its diagonal.
int getrf(int m, int n, float* a, int lda, int* pivots);
int getrf(int m, int n, double* a, int lda, int* pivots);
/// QR of `a` (m, n): R above the diagonal, reflectors below and in `tau`.
int geqrf(int m, int n, float* a, float* tau);
int geqrf(int m, int n, double* a, double* tau);
/// The first `columns` columns of Q from `count` reflectors in `a` (m, columns).
int orgqr(int m, int columns, int count, float* a, const float* tau);
int orgqr(int m, int columns, int count, double* a, const double* tau);
/// `a` (m, n) = u diag(s) vt; overwrites `a`. Full: u (m, m), vt (n, n); else k = min(m, n): u (m, k), vt (k, n).
int gesdd(bool full, int m, int n, float* a, float* s, float* u, float* vt);
int gesdd(bool full, int m, int n, double* a, double* s, double* u, double* vt);
/// Eigenvalues into `w`; `a`, of which the upper triangle is read, becomes the eigenvectors, one a column.
int syevd_upper(int n, float* a, float* w);
int syevd_upper(int n, double* a, double* w);

// --- Row by row; leading dimensions are what a row is long in memory. ---

struct Triangle {
  bool lower, transpose = false, unit = false;  // unit: ones on the diagonal, whatever is stored there
};
/// X of A X = B in place of B (n, columns); A triangular.
void solve_left(Triangle triangle, int n, int columns, const float* a, int lda, float* b, int ldb);
void solve_left(Triangle triangle, int n, int columns, const double* a, int lda, double* b, int ldb);
/// X of X A = B in place of B (rows, n).
void solve_right(Triangle triangle, int rows, int n, const float* a, int lda, float* b, int ldb);
void solve_right(Triangle triangle, int rows, int n, const double* a, int lda, double* b, int ldb);

}  // namespace tandem::cpu::lapack
