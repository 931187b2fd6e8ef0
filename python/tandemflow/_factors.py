"""tf.linalg: factors of general matrices, computed on the host: triangular ones with row exchanges, eigenvectors, bands."""
from collections import namedtuple

import numpy as np

from . import _dtypes, _tandem
from ._complex import ComplexTensor
from ._on_host import computed
from .errors import DTypeError, InvalidArgumentError

Lu = namedtuple("Lu", "lu p")


def _square(input, who):
    x = _tandem.to_tensor(input)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise InvalidArgumentError(f"E0102 {who}: square matrices are needed, got shape {x.shape}")
    return x


def _eliminated(matrix):
    """L below the diagonal and U above it, in one array, and the row that each came from."""
    lu, rows = matrix.copy(), np.arange(len(matrix))
    for k in range(len(lu)):
        best = k + int(np.argmax(np.abs(lu[k:, k])))
        if lu[best, k] == 0:
            raise InvalidArgumentError("E0104 lu: Input is not invertible.")
        lu[[k, best]], rows[[k, best]] = lu[[best, k]], rows[[best, k]]
        lu[k + 1 :, k] /= lu[k, k]
        lu[k + 1 :, k + 1 :] -= np.outer(lu[k + 1 :, k], lu[k, k + 1 :])
    return lu, rows


def lu(input, output_idx_type=_dtypes.int32, name=None):
    """L and U of row exchanges p: P L U is the matrix; L has ones on its diagonal, which are left out."""
    x = _square(input, "lu")
    if not x.dtype.is_floating:
        raise DTypeError(f"E0202 lu: is for floating numbers, got {x.dtype.name}; use cast()")
    shape = x.shape.as_list()

    def factors(values):
        if not values.size:
            return values, np.zeros(shape[:-1])
        found = [_eliminated(matrix) for matrix in values.reshape(-1, *shape[-2:])]
        return np.stack([one for one, _ in found]).reshape(shape), np.stack([rows for _, rows in found]).reshape(shape[:-1])

    return Lu(*computed(factors, [x], (shape, x.dtype), (shape[:-1], output_idx_type)))


def lu_reconstruct(lower_upper, perm, validate_args=False, name=None):
    """The matrix that lu() took apart."""
    from ._arrays import gather
    from ._matrices import matrix_band_part, set_diag
    from ._ops import matmul, ones
    from ._arrays import argsort

    both = _tandem.to_tensor(lower_upper)
    lower = set_diag(matrix_band_part(both, -1, 0), ones(both.shape[:-1], both.dtype))
    return gather(matmul(lower, matrix_band_part(both, 0, -1)), argsort(perm, -1), axis=-2, batch_dims=both.ndim - 2)


def lu_solve(lower_upper, perm, rhs, validate_args=False, name=None):
    """X of P L U X = rhs."""
    from ._linalg import solve

    return solve(lu_reconstruct(lower_upper, perm), rhs)


def lu_matrix_inverse(lower_upper, perm, validate_args=False, name=None):
    """The inverse of the matrix that lu() took apart."""
    from ._linalg import inv

    return inv(lu_reconstruct(lower_upper, perm))


def eig(tensor, name=None):
    """Eigenvalues and eigenvectors (columns) of square matrices, both complex."""
    x = _square(tensor, "eig")
    shape, part = x.shape.as_list(), x.dtype

    def vectors(values):
        found, columns = np.linalg.eig(values)
        return found.real, found.imag, columns.real, columns.imag

    parts = computed(vectors, [x], (shape[:-1], part), (shape[:-1], part), (shape, part), (shape, part))
    return ComplexTensor(*parts[:2]), ComplexTensor(*parts[2:])


def eigvals(tensor, name=None):
    """The eigenvalues of square matrices, complex."""
    return eig(tensor)[0]


def _diagonals(diagonals, form):
    """[..., 3, n]: superdiagonal, diagonal and subdiagonal, of which the first lacks its last number and the last its first."""
    from ._ops import pad, stack

    if form != "sequence":
        return _tandem.to_tensor(diagonals)
    parts = [_tandem.to_tensor(part) for part in diagonals]
    size = parts[1].shape[-1]
    for at, missing in ((0, [0, 1]), (2, [1, 0])):
        if parts[at].shape[-1] == size - 1:
            parts[at] = pad(parts[at], [[0, 0]] * (parts[at].ndim - 1) + [missing])
    return stack(parts, -2)


def _whole(diagonals, form):
    from ._matrices import diag, matrix_band_part

    if form == "matrix":
        return matrix_band_part(diagonals, 1, 1)
    x = _diagonals(diagonals, form)
    return diag(x, k=(-1, 1), align="LEFT_RIGHT") if x.shape[-1] > 1 else x[..., 1:2, :]


def tridiagonal_solve(diagonals, rhs, diagonals_format="compact", transpose_rhs=False, conjugate_rhs=False, name=None, partial_pivoting=True,
                      perturb_singular=False):  # fmt: skip
    """X of A X = rhs, A given by its superdiagonal, diagonal and subdiagonal."""
    from ._linalg import solve
    from ._matrices import matrix_transpose
    from ._ops import expand_dims, squeeze

    matrix, right = _whole(diagonals, diagonals_format), _tandem.to_tensor(rhs)
    if right.ndim < matrix.ndim:
        return squeeze(solve(matrix, expand_dims(right, -1)), -1)
    return solve(matrix, matrix_transpose(right) if transpose_rhs else right)


def tridiagonal_matmul(diagonals, rhs, diagonals_format="compact", name=None):
    """A rhs, A given by its superdiagonal, diagonal and subdiagonal."""
    from ._ops import matmul

    return matmul(_whole(diagonals, diagonals_format), rhs)
