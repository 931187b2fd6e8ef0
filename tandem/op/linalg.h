// Linear algebra beyond products: factorisations, solutions, determinants. The last two axes are matrices, the others a
// batch; f32 and f64.
#pragma once
#include "tandem/op/ops.h"

namespace tandem {

/// The lower factor L of a symmetric positive definite matrix, A = L L^T; reads the lower triangle.
Tensor cholesky(const Tensor& input);
/// X of A X = B, or of A^T X = B, for a triangular A; the other triangle is not read.
Tensor triangular_solve(const Tensor& matrix, const Tensor& rhs, bool lower = true, bool adjoint = false);
/// X of A X = B, or of A^T X = B.
Tensor solve(const Tensor& matrix, const Tensor& rhs, bool adjoint = false);
Tensor inverse(const Tensor& input);
Tensor det(const Tensor& input);
struct SignAndLog {
  Tensor sign, log_abs_determinant;
};
SignAndLog slogdet(const Tensor& input);
struct QR {
  Tensor q, r;
};
QR qr(const Tensor& input, bool full_matrices = false);
/// A = U diag(s) V^T, s falling.
struct SVD {
  Tensor s, u, v;
};
SVD svd(const Tensor& tensor, bool full_matrices = false);
/// Of a symmetric matrix: eigenvalues, rising, and eigenvectors as columns; reads the lower triangle.
struct Eigen {
  Tensor e, v;
};
Eigen eigh(const Tensor& tensor);

}  // namespace tandem
