"""Diagonals and bands of matrices."""
import builtins

from . import _ops, _tandem
from ._ops import equal, expand_dims, less_equal, logical_and, range, reduce_sum, reshape, transpose, where as _choose, zeros_like
from .errors import InvalidArgumentError

_tensor = _tandem.to_tensor


def diag(diagonal, name="diag", k=0, num_rows=-1, num_cols=-1, padding_value=0, align="RIGHT_LEFT"):
    """Matrices with the rows of `diagonal` on their k-th diagonal."""
    x = _tensor(diagonal)
    if not hasattr(k, "__index__"):
        raise NotImplementedError("diag: k must be one number")
    length, k = x.shape[-1], int(k)
    if num_rows == -1 and num_cols == -1:
        rows = columns = length + builtins.abs(k)
    else:
        rows = length + max(-k, 0) if num_rows == -1 else int(num_rows)
        columns = length + max(k, 0) if num_cols == -1 else int(num_cols)
    if min(rows + min(k, 0), columns - max(k, 0)) != length:
        raise InvalidArgumentError(f"diag: a diagonal of {length} does not fit {rows} rows and {columns} columns")
    before = max(-k, 0)
    spread = _ops.pad(x, [[0, 0]] * (x.ndim - 1) + [[before, rows - before - length]])
    on = equal(expand_dims(range(rows), 1) + k, expand_dims(range(columns), 0))
    return _choose(on, expand_dims(spread, -1), _tandem.to_tensor_beside(padding_value, x.dtype))


def diag_part(input, name="diag_part", k=0, padding_value=0, align="RIGHT_LEFT"):
    """The k-th diagonals of matrices."""
    x = _tensor(input)
    if not hasattr(k, "__index__"):
        raise NotImplementedError("diag_part: k must be one number")
    rows, columns, k = x.shape[-2], x.shape[-1], int(k)
    length = min(rows + min(k, 0), columns - max(k, 0))
    if length <= 0 and rows * columns:
        raise InvalidArgumentError(f"diag_part: a matrix of {rows} rows and {columns} columns has no diagonal {k}")
    first = max(k, 0) + max(-k, 0) * columns
    flat = reshape(x, x.shape.as_list()[:-2] + [rows * columns])
    return flat[..., first : first + (length - 1) * (columns + 1) + 1 : columns + 1] if length > 0 else flat[..., :0]


def matrix_band_part(input, num_lower, num_upper, name=None):
    """Matrices with zeros outside a band around the diagonal; a negative number keeps that side whole."""
    x = _tensor(input)
    distance = expand_dims(range(x.shape[-2]), 1) - expand_dims(range(x.shape[-1]), 0)
    lower = int(num_lower) if int(num_lower) >= 0 else x.shape[-2]
    upper = int(num_upper) if int(num_upper) >= 0 else x.shape[-1]
    inside = logical_and(less_equal(distance, lower), less_equal(distance * -1, upper))
    return _choose(inside, x, zeros_like(x))


def matrix_transpose(a, name="matrix_transpose", conjugate=False):
    """The last two axes exchanged; `conjugate` changes the sign of imaginary parts too."""
    a = a if hasattr(a, "__tandem_op__") else _tensor(a)
    if a.ndim < 2:
        raise ValueError(f"matrix_transpose: needs at least two axes, got {a.shape}")
    turned = transpose(a, [*builtins.range(a.ndim - 2), a.ndim - 1, a.ndim - 2])
    if not (conjugate and turned.dtype.is_complex):
        return turned
    from ._complex import conj

    return conj(turned)


def trace(x, name=None):
    """The sum of the diagonal."""
    return reduce_sum(diag_part(x), -1)


exported = {name: value for name, value in globals().items() if getattr(value, "__module__", None) == __name__ and name[0] != "_" and name.islower()}
