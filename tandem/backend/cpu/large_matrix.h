// Factors of one matrix that is large enough for all cores: its blocks go to LAPACK, and what they change is cut into
// slices.
#pragma once

namespace tandem::cpu {

/// From here on a matrix is cut; smaller ones are LAPACK's as a whole.
constexpr int kLargeMatrix = 256;

/// As lapack::potrf_upper; what stands beyond the factor is undefined afterwards.
template <class T>
int cholesky_of(int n, T* a);

/// As lapack::getrf, of a square matrix.
template <class T>
int lu_of(int n, T* a, int* pivots);

/// X of A X = B, or of A^T X = B, in place of B (n, columns), all row by row; A as lu_of left it, which took it for its
/// transpose.
template <class T>
void solve_by_lu(bool transpose, int n, int columns, const T* factors, const int* pivots, T* b);

/// X of A X = B, or of A^T X = B, in place of B (n, columns), all row by row; A triangular.
template <class T>
void solve_triangle(bool lower, bool transpose, int n, int columns, const T* a, T* b);

}  // namespace tandem::cpu
