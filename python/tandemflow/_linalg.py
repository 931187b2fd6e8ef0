"""Linear algebra: what TensorFlow composes of factorisations or spells otherwise."""
import builtins
import math
from collections import namedtuple

import numpy as np

from . import _dtypes, _ops, _tandem
from ._arrays import norm
from ._complex import ComplexTensor, as_complex, is_complex
from ._matrices import diag, diag_part, matrix_transpose
from ._ops import (
    broadcast_to,
    cast,
    expand_dims,
    eye,
    greater,
    log,
    matmul,
    records,
    reduce_max,
    reduce_sum,
    reshape,
    squeeze,
    stack,
    where as _choose,
)
from .errors import InvalidArgumentError

_tensor = _tandem.to_tensor

LogMatrixDeterminant = namedtuple("LogMatrixDeterminant", ["sign", "log_abs_determinant"])
Qr = namedtuple("Qr", ["q", "r"])


def _same_batch(matrix, rhs):
    """Both, with their leading axes broadcast."""
    matrix = _tensor(matrix)
    rhs = _tandem.to_tensor_beside(rhs, matrix.dtype)
    first, second = matrix.shape.as_list(), rhs.shape.as_list()
    if first[:-2] == second[:-2]:
        return matrix, rhs
    batch = list(np.broadcast_shapes(first[:-2], second[:-2]))
    return broadcast_to(matrix, batch + first[-2:]), broadcast_to(rhs, batch + second[-2:])


# --- Factorisations and solutions. ---


def cholesky(input, name=None):
    """The lower factor L of symmetric positive definite matrices, A = L L^T; reads the lower triangle."""
    return records["cholesky"](input)


def cholesky_solve(chol, rhs, name=None):
    """X of A X = B, given the lower factor of A."""
    return triangular_solve(chol, triangular_solve(chol, rhs), adjoint=True)


def triangular_solve(matrix, rhs, lower=True, adjoint=False, name=None):
    """X of A X = B, or of A^T X = B, for triangular A; the other triangle is not read."""
    return records["triangular_solve"](*_same_batch(matrix, rhs), lower, adjoint)


def solve(matrix, rhs, adjoint=False, name=None):
    """X of A X = B, or of A^T X = B."""
    if is_complex(matrix) or is_complex(rhs):
        return _complex_solution(as_complex(matrix), as_complex(rhs), adjoint)
    return records["solve"](*_same_batch(matrix, rhs), adjoint)


def _complex_solution(matrix, rhs, adjoint):
    """By real numbers: X + iY solves (A + iB)(X + iY) = C + iD where [[A, -B], [B, A]] [X; Y] = [C; D]."""
    matrix = matrix_transpose(matrix, conjugate=True) if adjoint else matrix
    a, b = matrix._re, matrix._im
    block = _ops.concat([_ops.concat([a, -b], -1), _ops.concat([b, a], -1)], -2)
    found = solve(block, _ops.concat([rhs._re, rhs._im], -2))
    size = a.shape[-1]
    return ComplexTensor(found[..., :size, :], found[..., size:, :])


def inv(input, adjoint=False, name=None):
    """The inverse, or with `adjoint` its transpose."""
    if is_complex(input):
        z = as_complex(input)
        return _complex_solution(z, as_complex(eye(z.shape[-1], batch_shape=z.shape.as_list()[:-2], dtype=z._re.dtype)), adjoint)
    matrix = _tensor(input)
    sizes = matrix.shape.as_list()
    return records["solve"](matrix, eye(sizes[-1], batch_shape=sizes[:-2], dtype=matrix.dtype), adjoint)


def qr(input, full_matrices=False, name=None):
    """Q with orthonormal columns and an upper triangular R, A = Q R."""
    return Qr(*records["qr"](input, full_matrices))


def svd(tensor, full_matrices=False, compute_uv=True, name=None):
    """Singular values, falling; then, unless told otherwise, U and V of A = U diag(s) V^T."""
    s, u, v = records["svd"](tensor, full_matrices and compute_uv)
    return (s, u, v) if compute_uv else s


def eigh(tensor, name=None):
    """Eigenvalues, rising, and eigenvectors as columns of symmetric matrices; reads the lower triangle."""
    return tuple(records["eigh"](tensor))


def eigvalsh(tensor, name=None):
    """The eigenvalues of symmetric matrices, rising."""
    return records["eigh"](tensor)[0]


def lstsq(matrix, rhs, l2_regularizer=0.0, fast=True, name=None):
    """X for which |A X - B|^2 + l2 |X|^2 is least; not fast, without l2, of many solutions the shortest also where A has not full rank."""
    matrix, rhs = _same_batch(matrix, rhs)
    if not fast:
        return matmul(pinv(matrix), rhs)
    rows, columns = matrix.shape[-2], matrix.shape[-1]
    if l2_regularizer:
        shorter = min(rows, columns)
        wide = rows < columns
        gram = matmul(matrix, matrix, transpose_a=not wide, transpose_b=wide)
        chol = cholesky(gram + eye(shorter, dtype=matrix.dtype) * _tensor(l2_regularizer, matrix.dtype))
        if wide:
            return matmul(matrix, cholesky_solve(chol, rhs), transpose_a=True)
        return cholesky_solve(chol, matmul(matrix, rhs, transpose_a=True))
    if rows >= columns:
        q, r = qr(matrix)
        return triangular_solve(r, matmul(q, rhs, transpose_a=True), lower=False)
    q, r = qr(matrix_transpose(matrix))
    return matmul(q, triangular_solve(r, rhs, lower=False, adjoint=True))


# --- Numbers of a matrix. ---


def det(input, name=None):
    """The determinant."""
    return records["det"](input)


def slogdet(input, name=None):
    """The sign of the determinant and the logarithm of its absolute value."""
    return LogMatrixDeterminant(*records["slogdet"](input))


def logdet(matrix, name=None):
    """The logarithm of the determinant of symmetric positive definite matrices."""
    return 2.0 * reduce_sum(log(diag_part(cholesky(matrix))), -1)


def _cutoff(values, sizes, factor):
    """What counts as zero beside the largest singular value."""
    return reduce_max(values, -1, True) * _tensor(factor, values.dtype) * max(sizes[-2:])


def matrix_rank(a, tol=None, validate_args=False, name=None):
    """How many singular values lie above `tol`; by default above what rounding leaves."""
    a = _tensor(a)
    s = svd(a, compute_uv=False)
    if tol is None:
        tol = _cutoff(s, a.shape.as_list(), float(np.finfo(a.dtype.as_numpy_dtype).eps))
    else:
        tol = expand_dims(_tandem.to_tensor_beside(tol, s.dtype), -1)
    return reduce_sum(cast(greater(s, tol), _dtypes.int32), -1)


def pinv(a, rcond=None, validate_args=False, name=None):
    """The inverse of Moore and Penrose; singular values below rcond times the largest count as zero."""
    a = _tensor(a)
    s, u, v = svd(a)
    if rcond is None:
        cutoff = _cutoff(s, a.shape.as_list(), 10.0 * float(np.finfo(a.dtype.as_numpy_dtype).eps))
    else:
        cutoff = reduce_max(s, -1, True) * expand_dims(_tandem.to_tensor_beside(rcond, s.dtype), -1)
    kept = greater(s, cutoff)
    inverse = _choose(kept, 1.0 / _choose(kept, s, s * 0 + 1), s * 0)
    return matmul(v * expand_dims(inverse, -2), u, transpose_b=True)


_MOST_HALVINGS = 16  # of matrices of norm 2^15, whose exponential is no number any more


def expm(input, name=None):
    """The exponential of square matrices: a short series of the matrix halved so often that it is small, squared as often."""
    a = _tensor(input)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"expm: square matrices are needed, got shape {a.shape}")
    size = reduce_max(reduce_sum(_ops.abs(a), -1, True), -2, True)
    halvings = _ops.maximum(_ops.ceil(_ops.log(_ops.maximum(size, 0.5) * 2.0) / math.log(2.0)), 0.0)
    small, one = a / 2.0**halvings, eye(a.shape[-1], dtype=a.dtype)
    out = one
    for n in builtins.range(18, 0, -1):
        out = one + matmul(small, out) / float(n)
    for n in builtins.range(_MOST_HALVINGS):
        out = _choose(greater(halvings, float(n)), matmul(out, out), out)
    return out


_SQRTM_TURNS = 20


def sqrtm(input, name=None):
    """The square root of square matrices whose real eigenvalues are positive, by Denman and Beavers' iteration."""
    root = _tensor(input)
    if root.ndim < 2 or root.shape[-1] != root.shape[-2]:
        raise ValueError(f"sqrtm: square matrices are needed, got shape {root.shape}")
    inverse = broadcast_to(eye(root.shape[-1], dtype=root.dtype), root.shape)
    for _ in builtins.range(_SQRTM_TURNS):
        root, inverse = (root + inv(inverse)) / 2.0, (inverse + inv(root)) / 2.0
    return root


# --- Parts and products. ---


def adjoint(matrix, name=None):
    """The last two axes exchanged, and complex numbers conjugated."""
    return matrix_transpose(matrix, conjugate=True)


def matvec(a, b, transpose_a=False, adjoint_a=False, a_is_sparse=False, b_is_sparse=False, name=None):
    """Matrices times vectors."""
    column = expand_dims(_ops.convert_to_tensor(b), -1)
    return squeeze(matmul(a, column, adjoint_a=True) if adjoint_a else matmul(a, column, transpose_a=transpose_a), -1)


def cross(a, b, name=None):
    """The vector product of the last axes, which have three elements."""
    a = _tensor(a)
    b = _tandem.to_tensor_beside(b, a.dtype)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise InvalidArgumentError(f"cross: the last axes must have three elements, got {a.shape} and {b.shape}")
    x, y = ([t[..., i] for i in builtins.range(3)] for t in (a, b))
    return stack([x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]], -1)


def tensor_diag(diagonal, name=None):
    """A tensor of twice the rank with the elements where both halves of the index agree."""
    x = _tensor(diagonal)
    sizes = x.shape.as_list()
    return reshape(diag(reshape(x, [-1])), sizes + sizes)


def tensor_diag_part(input, name=None):
    """The elements of a tensor of even rank where both halves of the index agree."""
    x = _tensor(input)
    sizes, half = x.shape.as_list(), x.ndim // 2
    if not x.ndim or sizes[:half] != sizes[half:]:
        raise InvalidArgumentError(f"tensor_diag_part: the first half of the axes must have the sizes of the second, got {x.shape}")
    count = math.prod(sizes[:half])
    return reshape(diag_part(reshape(x, [count, count])), sizes[:half])


def eigh_tridiagonal(alpha, beta, eigvals_only=True, select="a", select_range=None, tol=None, name=None):
    """Eigenvalues, rising, of the symmetric matrix with the diagonal alpha and beta beside it; with their vectors unless eigvals_only."""
    alpha = _tensor(alpha)
    beta = _tandem.to_tensor_beside(beta, alpha.dtype)
    if alpha.shape.as_list()[-1] != beta.shape.as_list()[-1] + 1:
        raise ValueError(f"eigh_tridiagonal: beta must have one element less than alpha, got {alpha.shape} and {beta.shape}")
    values, vectors = eigh(diag(alpha) + diag(beta, k=1) + diag(beta, k=-1) if beta.shape[-1] else diag(alpha))
    if select == "v":
        low, high = (float(end) for end in select_range)
        chosen = np.flatnonzero((values.numpy() > low) & (values.numpy() <= high))
    elif select in ("a", "i"):
        first, last = (0, values.shape[-1] - 1) if select == "a" else (int(end) for end in select_range)
        chosen = np.arange(first, last + 1)
    else:
        raise ValueError(f"eigh_tridiagonal: 'select' must have a value in {{'a', 'i', 'v'}}, got {select!r}")
    values = _ops.gather(values, chosen, axis=-1)
    return values if eigvals_only else (values, _ops.gather(vectors, chosen, axis=-1))


def normalize(tensor, ord="euclidean", axis=None, name=None):
    """The tensor divided by its norm, and the norm."""
    tensor = tensor if hasattr(tensor, "__tandem_op__") else _tensor(tensor)
    length = norm(tensor, ord, axis, True)
    return tensor / length, length


matrix_inverse = inv
exported = {name: value for name, value in globals().items() if getattr(value, "__module__", None) == __name__ and name[0] != "_" and name.islower()}
