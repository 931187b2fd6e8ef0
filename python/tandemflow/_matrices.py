"""Diagonals and bands of matrices."""
import builtins

import numpy

from . import _dtypes, _ops, _tandem
from ._ops import equal, expand_dims, less_equal, range, reduce_sum, reshape, transpose, where as _choose, zeros_like
from .errors import InvalidArgumentError

_tensor = _tandem.to_tensor


_ALIGNMENTS = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")


def _band(op, k, align):
    """The lowest and the highest diagonal that `k` names: one number, or two."""
    if align not in _ALIGNMENTS:
        raise InvalidArgumentError(f"{op}: align must be one of {', '.join(_ALIGNMENTS)}, got {align!r}")
    ends = [int(end) for end in numpy.asarray(k).reshape(-1).tolist()]
    if len(ends) not in (1, 2):
        raise InvalidArgumentError(f"{op}: k must be one number or two, got {k!r}")
    if ends[0] > ends[-1]:
        raise InvalidArgumentError(f"{op}: lower_diag_index must not be larger than upper_diag_index, got {ends[0]} > {ends[-1]}")
    return ends[0], ends[-1]


def _check_inside(op, band, rows, columns):
    for which, k in zip(("lower", "upper"), band):
        if rows * columns and not -rows < k < columns:
            raise InvalidArgumentError(f"{op}: {which}_diag_index is out of bound: {k}. A matrix of {rows} rows and {columns} columns has no such diagonal")


def _width(band, rows, columns):
    """The length of the longest diagonal of the band."""
    return min(rows + min(band[1], 0), columns - max(band[0], 0))


def _places(band, width, rows, columns, align):
    """Where in a matrix seen as one row the elements of its packed diagonals stand, highest diagonal first; -1 is padding."""
    above, below = align.split("_")
    places = numpy.full((band[1] - band[0] + 1, width), -1, "int64")
    for row, k in zip(places, builtins.range(band[1], band[0] - 1, -1)):
        length = max(min(rows + min(k, 0), columns - max(k, 0), width), 0)
        left = (k >= 0 and above == "LEFT") or (k <= 0 and below == "LEFT")
        first = 0 if left else width - length
        row[first : first + length] = max(k, 0) + max(-k, 0) * columns + numpy.arange(length) * (columns + 1)
    return places


def _taken(x, places, otherwise):
    """By place an element of the last axis; of `otherwise` where that is -1."""
    found = _ops.gather(x, numpy.maximum(places, 0), axis=-1)
    return found if (places >= 0).all() else _choose(places >= 0, found, otherwise)


def _unpacked(packed, band, sizes, align, otherwise):
    """Matrices of which `packed` gives a band, and `otherwise` the rest."""
    width = packed.shape[-1]
    places = _places(band, width, *sizes, align)
    sources = numpy.full(sizes[0] * sizes[1], -1, "int64")
    sources[places[places >= 0]] = numpy.flatnonzero(places >= 0)
    flat = reshape(packed, packed.shape.as_list()[:-2] + [places.size])
    return _taken(flat, sources.reshape(sizes), otherwise)


def _sizes_around(band, width, num_rows, num_cols):
    """Of the matrices that diag makes: as asked for, else as small as they can be."""
    least = width - min(band[1], 0), width + max(band[0], 0)
    if num_rows == -1 and num_cols == -1:
        return (max(least),) * 2
    sizes = tuple(small if int(asked) == -1 else int(asked) for small, asked in zip(least, (num_rows, num_cols)))
    if sizes[0] < least[0] or sizes[1] < least[1] or (sizes[0] != least[0] and sizes[1] != least[1]):
        raise InvalidArgumentError(f"diag: diagonals of {width} do not fit {sizes[0]} rows and {sizes[1]} columns")
    return sizes


def _padding(value, dtype):
    return _tandem.to_tensor_beside(builtins.bool(value) if dtype == _dtypes.bool else value, dtype)


def diag(diagonal, name="diag", k=0, num_rows=-1, num_cols=-1, padding_value=0, align="RIGHT_LEFT"):
    """Matrices with the rows of `diagonal` on their k-th diagonal; on those from k[0] to k[1], highest first."""
    x, band = _tensor(diagonal), _band("diag", k, align)
    k = band[0]
    several = band[1] > k
    if x.ndim < 1 + several:
        raise InvalidArgumentError(f"diag: diagonal must be at least {1 + several}-dim, received shape: {x.shape}")
    if several and x.shape[-2] != band[1] - k + 1:
        raise InvalidArgumentError(f"diag: the band from {k} to {band[1]} has {band[1] - k + 1} diagonals, diagonal has the shape {x.shape}")
    length = x.shape[-1]
    rows, columns = _sizes_around(band, length, num_rows, num_cols)
    if several:
        return _unpacked(x, band, (rows, columns), align, _padding(padding_value, x.dtype))
    if isinstance(padding_value, (int, float)) and not padding_value and length and x.dtype.is_numeric:
        # The diagonal of a matrix seen as one row: elements at a constant distance.
        leading, first = x.shape.as_list()[:-1], max(k, 0) + max(-k, 0) * columns
        flat = _ops.records["strided_slice_grad"](x, [*leading, rows * columns], [0] * len(leading) + [first], [1] * len(leading) + [columns + 1])
        return reshape(flat, [*leading, rows, columns])
    before = max(-k, 0)
    spread = _ops.pad(x, [[0, 0]] * (x.ndim - 1) + [[before, rows - before - length]])
    on = equal(expand_dims(range(rows), 1) + k, expand_dims(range(columns), 0))
    return _choose(on, expand_dims(spread, -1), _padding(padding_value, x.dtype))


def _matrix(op, value):
    x = value if hasattr(value, "__tandem_op__") else _tensor(value)
    if x.ndim < 2:
        raise InvalidArgumentError(f"{op}: input must be at least 2-dim, received shape: {x.shape}")
    return x


def diag_part(input, name="diag_part", k=0, padding_value=0, align="RIGHT_LEFT"):
    """The k-th diagonals of matrices; those from k[0] to k[1] as rows, highest first, the shorter ones padded."""
    x, band = _matrix("diag_part", input), _band("diag_part", k, align)
    rows, columns, k = x.shape[-2], x.shape[-1], band[0]
    _check_inside("diag_part", band, rows, columns)
    length = _width(band, rows, columns)
    flat = reshape(x, x.shape.as_list()[:-2] + [rows * columns])
    if band[1] > k:
        return _taken(flat, _places(band, length, rows, columns, align), _padding(padding_value, x.dtype))
    first = max(k, 0) + max(-k, 0) * columns
    return flat[..., first : first + (length - 1) * (columns + 1) + 1 : columns + 1] if length > 0 else flat[..., :0]


def set_diag(input, diagonal, name="set_diag", k=0, align="RIGHT_LEFT"):
    """Matrices with another k-th diagonal, or others from k[0] to k[1]."""
    x, band = _matrix("set_diag", input), _band("set_diag", k, align)
    rows, columns = sizes = x.shape[-2], x.shape[-1]
    _check_inside("set_diag", band, rows, columns)
    diagonal = _tandem.to_tensor_beside(diagonal, x.dtype)
    leading, count = x.shape.as_list()[:-2], band[1] - band[0] + 1
    expected = leading + [count] * (count > 1) + [_width(band, rows, columns)]
    if diagonal.shape.as_list() != expected:
        raise InvalidArgumentError(f"set_diag: the diagonals {band[0]} to {band[1]} of {x.shape} have the shape {expected}, got {diagonal.shape}")
    return _unpacked(diagonal if count > 1 else expand_dims(diagonal, -2), band, sizes, align, x)


def matrix_band_part(input, num_lower, num_upper, name=None):
    """Matrices with zeros outside a band around the diagonal; a negative number keeps that side whole."""
    x = _matrix("matrix_band_part", input)
    rows, columns = expand_dims(range(x.shape[-2]), 1), expand_dims(range(x.shape[-1]), 0)
    inside = []
    if int(num_lower) >= 0:
        inside.append(less_equal(rows - int(num_lower), columns))
    if int(num_upper) >= 0:
        inside.append(less_equal(columns, rows + int(num_upper)))
    for part in inside:
        x = _choose(part, x, zeros_like(x))
    return x


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
