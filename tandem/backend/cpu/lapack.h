// The routines of LAPACK that kernels use, one name for both dtypes, on the calling thread. Matrices stand column by
// column, so that a row-major matrix is its own transpose. A result other than 0 means failure.
#pragma once

namespace tandem::cpu::lapack {

// Each takes its scratch memory from the thread.

/// A = U^T U: the upper triangle of `a` becomes U, the rest stays.
int potrf_upper(int n, float* a);
int potrf_upper(int n, double* a);
/// A = P L U; `pivots` count from 1. A positive result: U has a zero on its diagonal.
int getrf(int n, float* a, int* pivots);
int getrf(int n, double* a, int* pivots);
/// `b` (n, columns) becomes the solution of A X = B, or of A^T X = B, for a factored A.
int getrs(bool transpose, int n, int columns, const float* a, const int* pivots, float* b);
int getrs(bool transpose, int n, int columns, const double* a, const int* pivots, double* b);
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
/// X of A X = B in place of B (n, columns), all three row by row; A triangular.
struct Triangle {
  bool lower, transpose;
};
void trsm_rows(Triangle triangle, int n, int columns, const float* a, float* b);
void trsm_rows(Triangle triangle, int n, int columns, const double* a, double* b);

}  // namespace tandem::cpu::lapack
