// Factorisations, solutions and determinants of matrices.
#include "tandem/op/linalg.h"

#include "tandem/op/elementwise.h"
#include "tandem/op/linalg_records.h"
#include "tandem/op/rules.h"

namespace tandem {
namespace {

constexpr DTypeSet kLapack{DType::f32, DType::f64};

// --- Shapes. ---

/// The leading axes, then `sizes`.
Shape with_batch(const Shape& matrices, std::initializer_list<std::int64_t> sizes) {
  Ints all(matrices.begin(), matrices.end() - 2);
  all.insert(all.end(), sizes);
  return Shape(std::span<const std::int64_t>(all));
}

void check_matrix(const InferContext& c) {
  if (c.shape(0).rank() < 2)
    fail(ErrorCode::shape_mismatch, c.op.name, ": needs matrices, at least two axes, got ", c.shape(0));
}

void check_square(const InferContext& c) {
  check_matrix(c);
  if (c.shape(0)[-1] != c.shape(0)[-2])
    fail(ErrorCode::shape_mismatch, c.op.name, ": the matrices must be square, got ", c.shape(0));
}

Specs infer_square(const InferContext& c) {
  check_square(c);
  return {c.input(0)};
}

Specs infer_solution(const InferContext& c) {
  check_square(c);
  const Shape &a = c.shape(0), &b = c.shape(1);
  bool fits = a.rank() == b.rank() && b[-2] == a[-1];
  for (int i = 0; fits && i + 2 < a.rank(); ++i) fits = a[i] == b[i];
  if (!fits)
    fail(ErrorCode::shape_mismatch, c.op.name, ": matrix ", a, " and rhs ", b, " must have the same batch, and rhs ",
         a[-1], " rows; a vector becomes [n, 1]");
  return {c.input(1)};
}

Specs infer_determinant(const InferContext& c) {
  check_square(c);
  const TensorSpec one(c.dtype(0), with_batch(c.shape(0), {}));
  return Specs(static_cast<std::size_t>(c.op.outputs), one);
}

Specs infer_qr(const InferContext& c) {
  check_matrix(c);
  const std::int64_t m = c.shape(0)[-2], n = c.shape(0)[-1], k = c.attrs.boolean("full_matrices") ? m : std::min(m, n);
  return {{c.dtype(0), with_batch(c.shape(0), {m, k})}, {c.dtype(0), with_batch(c.shape(0), {k, n})}};
}

Specs infer_svd(const InferContext& c) {
  check_matrix(c);
  const std::int64_t m = c.shape(0)[-2], n = c.shape(0)[-1], k = std::min(m, n);
  const bool full = c.attrs.boolean("full_matrices");
  return {{c.dtype(0), with_batch(c.shape(0), {k})},
          {c.dtype(0), with_batch(c.shape(0), {m, full ? m : k})},
          {c.dtype(0), with_batch(c.shape(0), {n, full ? n : k})}};
}

Specs infer_eigh(const InferContext& c) {
  check_square(c);
  return {{c.dtype(0), with_batch(c.shape(0), {c.shape(0)[-1]})}, c.input(0)};
}

/// So many times n^3, for each matrix of the batch.
template <int kTimes>
double cubic(const InferContext& c) {
  const Shape& shape = c.shape(0);
  const double shorter = static_cast<double>(std::min(shape[-1], shape[-2]));
  return kTimes * shorter * static_cast<double>(shape.elements());
}

// --- What the gradients are made of. ---

Tensor transposed(const Tensor& x) {
  Ints perm;
  for (std::int64_t i = 0; i < x.rank(); ++i) perm.push_back(i);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return transpose(x, perm);
}

Tensor rows_of(std::int64_t n) { return reshape(range(0, static_cast<double>(n), 1, DType::i32), Ints{n, 1}); }
Tensor columns_of(std::int64_t n) { return reshape(range(0, static_cast<double>(n), 1, DType::i32), Ints{1, n}); }

Tensor unit(std::int64_t n, DType dtype) { return cast(equal(rows_of(n), columns_of(n)), dtype); }
/// 1 below the diagonal, `diagonal` on it, 0 above.
Tensor lower_part(std::int64_t n, double diagonal, DType dtype) {
  const Tensor below = cast(greater(rows_of(n), columns_of(n)), dtype), on = unit(n, dtype);
  return below + on * scalar_like(on, diagonal);
}
/// Vectors [..., n] as diagonal matrices.
Tensor on_diagonal(const Tensor& values) { return expand_dims(values, -1) * unit(values.shape()[-1], values.dtype()); }

/// [..., i, j] = values[j] - values[i].
Tensor differences(const Tensor& values) { return expand_dims(values, -2) - expand_dims(values, -1); }

/// A^-T times `scale`, one number a matrix.
Tensor scaled_inverse(const Tensor& matrix, const Tensor& scale) {
  const Tensor weights = expand_dims(expand_dims(scale, -1), -1);
  return solve(matrix, broadcast_to(unit(matrix.shape()[-1], matrix.dtype()), matrix.shape()), true) * weights;
}

// --- Gradients. ---

/// As TensorFlow's: that of a symmetric matrix, spread over both triangles.
Tensors cholesky_grad(GradContext& g) {
  const Tensor& l = g.output();
  const Tensor middle = matmul(l, g.output_grad(), true) * lower_part(l.shape()[-1], 0.5, l.dtype());
  const Tensor half = triangular_solve(l, middle, true, true);                            // L^-T middle
  const Tensor both = transposed(triangular_solve(l, transposed(half), true, true));      // … L^-1
  return {(both + transposed(both)) * scalar_like(both, 0.5)};
}

Tensors solution_grad(GradContext& g, const Tensor& of_rhs, bool adjoint) {
  const Tensor& x = g.output();
  return {when(g.wants(0),
               [&] { return negative(adjoint ? matmul(x, of_rhs, false, true) : matmul(of_rhs, x, false, true)); }),
          of_rhs};
}

Tensors triangular_solve_grad(GradContext& g) {
  const bool lower = g.attrs().boolean("lower"), adjoint = g.attrs().boolean("adjoint");
  Tensors grads = solution_grad(g, triangular_solve(g.input(0), g.output_grad(), lower, !adjoint), adjoint);
  if (grads[0].defined()) {
    // Chosen, not multiplied: 0 times infinity is no 0.
    const Tensor above = greater(columns_of(g.shape(0)[-1]), rows_of(g.shape(0)[-1]));
    grads[0] = where(lower ? above : transposed(above), scalar_like(grads[0], 0), grads[0]);
  }
  return grads;
}

Tensors solve_grad(GradContext& g) {
  const bool adjoint = g.attrs().boolean("adjoint");
  return solution_grad(g, solve(g.input(0), g.output_grad(), !adjoint), adjoint);
}

/// Of Q (m, k) and R (k, k) with k columns, m >= k.
Tensor tall_qr_grad(const Tensor& q, const Tensor& r, const Tensor& dq, const Tensor& dr) {
  const std::int64_t k = r.shape()[-1];
  const Tensor m = matmul(r, dr, false, true) - matmul(dq, q, true);
  const Tensor lower = m * lower_part(k, 0.5, m.dtype());
  const Tensor right = dq + matmul(q, lower + transposed(lower));
  return transposed(triangular_solve(r, transposed(right), false));  // right R^-T
}

Tensors qr_grad(GradContext& g) {
  const std::int64_t m = g.shape(0)[-2], n = g.shape(0)[-1];
  if (g.attrs().boolean("full_matrices") && m > n)
    fail(ErrorCode::no_gradient, "qr: no gradient with full_matrices of ", g.shape(0),
         ", whose last columns are arbitrary; "
         "use full_matrices=false");
  const Tensor &q = g.output(0), &r = g.output(1), &dq = g.output_grad(0), &dr = g.output_grad(1);
  if (m >= n) return {tall_qr_grad(q, r, dq, dr)};
  // A = [X Y] with a square X; R = [U V], V = Q^T Y.
  Ints first(static_cast<std::size_t>(r.rank()), 0), front(r.shape().begin(), r.shape().end()), back = front;
  front.back() = m, back.back() = n - m;
  Ints behind = first;
  behind.back() = m;
  const Tensor dv = slice(dr, behind, back), y = matmul(q, slice(r, behind, back));
  const Tensor dx = tall_qr_grad(q, slice(r, first, front), dq + matmul(y, dv, false, true), slice(dr, first, front));
  return {concat({dx, matmul(q, dv)}, -1)};
}

Tensors svd_grad(GradContext& g) {
  const std::int64_t m = g.shape(0)[-2], n = g.shape(0)[-1];
  if (g.attrs().boolean("full_matrices") && m != n)
    fail(ErrorCode::no_gradient, "svd: no gradient with full_matrices of ", g.shape(0),
         ", whose last vectors are arbitrary; "
         "use full_matrices=false");
  const Tensor &s = g.output(0), &u = g.output(1), &v = g.output(2);
  const Tensor of_squares = differences(square(s));
  const auto turned = [&](const Tensor& vectors, const Tensor& grad) {  // 0 where two values are equal
    const Tensor product = matmul(vectors, grad, true);
    return divide_no_nan(product - transposed(product), of_squares);
  };
  const Tensor row = expand_dims(s, -2), column = expand_dims(s, -1);
  const Tensor middle =
      turned(u, g.output_grad(1)) * row + column * turned(v, g.output_grad(2)) + on_diagonal(g.output_grad(0));
  Tensor sum = matmul(matmul(u, middle), v, false, true);
  const auto outside = [&](const Tensor& vectors, const Tensor& grad) {  // what lies beyond the vectors' span
    return divide_no_nan(grad - matmul(vectors, matmul(vectors, grad, true)), row);
  };
  if (m > n) sum = sum + matmul(outside(u, g.output_grad(1)), v, false, true);
  if (n > m) sum = sum + matmul(u, outside(v, g.output_grad(2)), false, true);
  return {sum};
}

/// As TensorFlow's: of the lower triangle, the only one that is read.
Tensors eigh_grad(GradContext& g) {
  const Tensor &e = g.output(0), &v = g.output(1);
  const Tensor turned = divide_no_nan(matmul(v, g.output_grad(1), true), differences(e));
  const Tensor both = matmul(matmul(v, on_diagonal(g.output_grad(0)) + turned), v, false, true);
  return {(both + transposed(both)) * lower_part(e.shape()[-1], 0.5, e.dtype())};
}

constexpr AttrDef kAdjoint{.name = "adjoint", .kind = AttrKind::boolean, .default_value = "False"};
constexpr AttrDef kFullMatrices{.name = "full_matrices", .kind = AttrKind::boolean, .default_value = "False"};

}  // namespace

const OpDef cholesky_op{
    .name = "cholesky",
    .doc = "The lower factor L of symmetric positive definite matrices, A = L L^T; reads the lower triangle.",
    .inputs = {"input"},
    .dtypes = kLapack,
    .infer = infer_square,
    .grad = cholesky_grad,
    .grad_reads = {.outputs = 1},
    .flops = [](const InferContext& c) { return cubic<1>(c) / 3; },
};

const OpDef triangular_solve_op{
    .name = "triangular_solve",
    .doc = "X of A X = B, or of A^T X = B, for triangular A; the other triangle is not read.",
    .inputs = {"matrix", "rhs"},
    .attrs = {{.name = "lower", .kind = AttrKind::boolean, .default_value = "True"}, kAdjoint},
    .dtypes = kLapack,
    .infer = infer_solution,
    .grad = triangular_solve_grad,
    .grad_reads = {.inputs = 1, .outputs = 1},
    .flops = [](const InferContext& c) { return static_cast<double>(c.shape(1).elements() * c.shape(0)[-1]); },
};

const OpDef solve_op{
    .name = "solve",
    .doc = "X of A X = B, or of A^T X = B.",
    .inputs = {"matrix", "rhs"},
    .attrs = {kAdjoint},
    .dtypes = kLapack,
    .infer = infer_solution,
    .grad = solve_grad,
    .grad_reads = {.inputs = 1, .outputs = 1},
    .flops =
        [](const InferContext& c) {
          return cubic<2>(c) / 3 + 2.0 * static_cast<double>(c.shape(1).elements() * c.shape(0)[-1]);
        },
};

const OpDef det_op{
    .name = "det",
    .doc = "The determinant of each matrix.",
    .inputs = {"input"},
    .dtypes = kLapack,
    .infer = infer_determinant,
    .grad = [](GradContext& g) { return Tensors{scaled_inverse(g.input(), g.output_grad() * g.output())}; },
    .grad_reads = {.inputs = 1, .outputs = 1},
    .flops = [](const InferContext& c) { return cubic<2>(c) / 3; },
};

const OpDef slogdet_op{
    .name = "slogdet",
    .doc = "The sign of the determinant and the logarithm of its absolute value.",
    .inputs = {"input"},
    .dtypes = kLapack,
    .outputs = 2,
    .infer = infer_determinant,
    .grad = [](GradContext& g) { return Tensors{scaled_inverse(g.input(), g.output_grad(1))}; },
    .grad_reads = {.inputs = 1},
    .flops = [](const InferContext& c) { return cubic<2>(c) / 3; },
};

const OpDef qr_op{
    .name = "qr",
    .doc = "Q with orthonormal columns and an upper triangular R, A = Q R.",
    .inputs = {"input"},
    .attrs = {kFullMatrices},
    .dtypes = kLapack,
    .outputs = 2,
    .infer = infer_qr,
    .grad = qr_grad,
    .grad_reads = {.outputs = 0b11},
    .flops = cubic<4>,
};

const OpDef svd_op{
    .name = "svd",
    .doc = "Singular values, falling, and the vectors U and V, A = U diag(s) V^T.",
    .inputs = {"tensor"},
    .attrs = {kFullMatrices},
    .dtypes = kLapack,
    .outputs = 3,
    .infer = infer_svd,
    .grad = svd_grad,
    .grad_reads = {.outputs = 0b111},
    .flops = cubic<20>,
};

const OpDef eigh_op{
    .name = "eigh",
    .doc = "Eigenvalues, rising, and eigenvectors of symmetric matrices; reads the lower triangle.",
    .inputs = {"tensor"},
    .dtypes = kLapack,
    .outputs = 2,
    .infer = infer_eigh,
    .grad = eigh_grad,
    .grad_reads = {.outputs = 0b11},
    .flops = cubic<9>,
};

OpGroup linalg_ops() {
  static constexpr const OpDef* kOps[] = {
      &cholesky_op, &triangular_solve_op, &solve_op, &det_op, &slogdet_op, &qr_op, &svd_op, &eigh_op};
  return kOps;
}

Tensor cholesky(const Tensor& input) { return apply(cholesky_op, {input}); }
Tensor triangular_solve(const Tensor& matrix, const Tensor& rhs, bool lower, bool adjoint) {
  return apply(triangular_solve_op, {matrix, rhs}, make_attrs(triangular_solve_op, lower, adjoint));
}
Tensor solve(const Tensor& matrix, const Tensor& rhs, bool adjoint) {
  return apply(solve_op, {matrix, rhs}, make_attrs(solve_op, adjoint));
}
Tensor inverse(const Tensor& input) {
  if (input.rank() < 2)
    fail(ErrorCode::shape_mismatch, "inverse: needs matrices, at least two axes, got ", input.shape());
  return solve(input, broadcast_to(unit(input.shape()[-1], input.dtype()), input.shape()));
}
Tensor det(const Tensor& input) { return apply(det_op, {input}); }
SignAndLog slogdet(const Tensor& input) {
  const TensorRef refs[] = {input};
  const Tensors both = apply_all(slogdet_op, refs, {});
  return {both[0], both[1]};
}
QR qr(const Tensor& input, bool full_matrices) {
  const TensorRef refs[] = {input};
  const Tensors both = apply_all(qr_op, refs, make_attrs(qr_op, full_matrices));
  return {both[0], both[1]};
}
SVD svd(const Tensor& tensor, bool full_matrices) {
  const TensorRef refs[] = {tensor};
  const Tensors all = apply_all(svd_op, refs, make_attrs(svd_op, full_matrices));
  return {all[0], all[1], all[2]};
}
Eigen eigh(const Tensor& tensor) {
  const TensorRef refs[] = {tensor};
  const Tensors both = apply_all(eigh_op, refs, {});
  return {both[0], both[1]};
}

}  // namespace tandem
