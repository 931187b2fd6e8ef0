"""Ops as functions: those of the records as they are, and what TensorFlow spells otherwise or composes of them."""
import builtins
import functools
import math

from . import _dtypes, _tandem
from ._shape import TensorShape
from .errors import InvalidArgumentError

records = _tandem.ops()

# Steps of gradients and optimizers, and ops whose arguments TensorFlow spells otherwise: not for the public names.
_INNER = {"trigamma", "range", "fill", "random_normal", "random_uniform", "gelu_tanh", "where_indices"}
# Those of tf.nn, with wrappers in _conv.py and _network.py.
_INNER |= {"dropout", "batch_normalization", "batch_normalization_training", "layer_normalization", "dot_product_attention"}
_INNER |= {"lstm", "gru", "simple_rnn", "sigmoid_cross_entropy_with_logits"}
_INNER |= {name for name in records if name.endswith("_terms")}
# Those of tf.linalg, with wrappers in _linalg.py.
_INNER |= {"cholesky", "triangular_solve", "solve", "det", "slogdet", "qr", "svd", "eigh"}
public = {
    name: function
    for name, function in records.items()
    if name not in _INNER and not name.endswith("_grad") and "_backprop_" not in name and not name.startswith("apply_")
}
globals().update(public)

Tensor = _tandem.Tensor


def _sizes(shape):
    return _tandem.as_ints(shape)


def takes_others(function):
    """Operands that are no tensors may know what the function does with them (op_function.cc): asked when it fails."""
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except TypeError:
            for operand in [item for arg in args for item in (arg if isinstance(arg, (list, tuple)) else (arg,))]:
                if hasattr(operand, "__tandem_op__"):
                    result = operand.__tandem_op__(function.__name__, args, kwargs)
                    if result is not NotImplemented:
                        return result
            raise

    return wrapped


# --- Conversion and creation. ---


def convert_to_tensor(value, dtype=None, dtype_hint=None, name=None):
    """The value as a tensor. A tensor of another dtype is refused; `dtype_hint` is only a wish."""
    if dtype is None and dtype_hint is not None and not isinstance(value, (Tensor, _tandem.Variable)):
        try:
            return _made(value, dtype_hint)
        except (TypeError, ValueError):
            pass
    return _made(value, dtype)


def _made(value, dtype):
    """A tensor of the value, on the device of the scope; of complex numbers what stands for one (_complex.py)."""
    try:
        return _tandem.made(value, dtype)
    except TypeError:
        from ._complex import dtype_of

        wanted = dtype_of(value) if dtype is None else _dtypes.as_complex_dtype(dtype)
        if wanted is None:
            raise
    return cast(value, wanted)


def constant(value, dtype=None, shape=None, name="Const"):
    """A tensor of a number, a nested list or a NumPy array, reshaped or filled up to `shape`."""
    tensor = _made(value, dtype)
    if shape is None:
        return tensor
    wanted = TensorShape(_sizes(shape))
    if tensor.shape == wanted:
        return tensor
    if tensor.shape.num_elements() == wanted.num_elements():
        return reshape(tensor, wanted)
    if tensor.ndim == 0:
        return broadcast_to(tensor, wanted)
    raise TypeError(
        f"Eager execution of tf.constant with unsupported shape. Tensor {_tandem.numpy_str(tensor)} has "
        f"{tensor.shape.num_elements()} elements, but got `shape` {wanted} with {wanted.num_elements()} elements)."
    )


def zeros(shape, dtype=_dtypes.float32, name=None, layout=None):
    """A tensor of zeros; of empty strings."""
    try:
        return _zeros(shape, dtype)
    except TypeError:
        wanted = _dtypes.as_complex_dtype(dtype)
        if wanted is None:
            raise
    return cast(_zeros(shape, wanted.real_dtype), wanted)


def _zeros(shape, dtype):
    if dtype != _dtypes.string:
        return _tandem.fill(shape, 0, dtype)
    import numpy

    sizes = _sizes(shape)
    return reshape(_tandem.to_tensor(numpy.full([numpy.prod(sizes, dtype=int)], b"", object), _dtypes.string), sizes)


def ones(shape, dtype=_dtypes.float32, name=None, layout=None):
    """A tensor of ones."""
    try:
        return _tandem.fill(shape, 1, dtype)
    except TypeError:
        wanted = _dtypes.as_complex_dtype(dtype)
        if wanted is None:
            raise
    return cast(_tandem.fill(shape, 1, wanted.real_dtype), wanted)


def fill(dims, value, name=None, layout=None):
    """A tensor of one value, of the value's dtype."""
    return broadcast_to(_made(value, None), dims)


@takes_others
def zeros_like(input, dtype=None, name=None, layout=None):
    """Zeros of the shape, and unless told otherwise the dtype, of `input`."""
    tensor = _tandem.to_tensor(input)
    return _zeros(tensor.shape, dtype or tensor.dtype)


@takes_others
def ones_like(input, dtype=None, name=None, layout=None):
    """Ones of the shape, and unless told otherwise the dtype, of `input`."""
    tensor = _tandem.to_tensor(input)
    return _tandem.fill(tensor.shape, 1, dtype or tensor.dtype)


def range(start, limit=None, delta=1, dtype=None, name="range"):
    """start, start + delta, … below limit; with one argument from 0 to it."""
    if limit is None:
        start, limit = 0, start
    if dtype is None:
        dtypes = [_tandem.to_tensor(value).dtype for value in (start, limit, delta)]
        order = [_dtypes.int32, _dtypes.int64, _dtypes.float16, _dtypes.bfloat16, _dtypes.float32, _dtypes.float64]
        dtype = max(dtypes, key=lambda d: order.index(d) if d in order else -1)
    return _tandem.range(start, limit, delta, dtype)


def linspace(start, stop, num, name=None, axis=0):
    """`num` numbers from start to stop, both included; along a new axis where those are not scalars."""
    if type(start) is float and type(stop) in (int, float) and math.isfinite(stop - start) and stop != start and hasattr(num, "__index__") and int(num) > 1:
        delta = (stop - start) / (int(num) - 1)  # in double precision, so that the last one is rounded to `stop`
        return _tandem.range(start, start + (int(num) - 0.5) * delta, delta, _dtypes.float32)
    start = _tandem.to_tensor(start)
    stop = _tandem.to_tensor_beside(stop, start.dtype)
    if not start.dtype.is_floating:
        wide = _dtypes.float64 if start.dtype.size > 2 else _dtypes.float32
        start, stop = cast(start, wide), cast(stop, wide)
    return _evenly_between(start, stop, int(num), int(axis))


def _evenly_between(start, stop, num, axis):
    """The ends themselves, and what lies between them: rounding does not move them, nor does an infinite one spoil the other."""
    span = stop - start
    start, stop = (expand_dims(broadcast_to(end, span.shape), axis) for end in (start, stop))
    sizes = [1] * start.ndim
    sizes[axis] = -1
    between = reshape(_tandem.range(1, max(num - 1, 1), 1, start.dtype), sizes)
    inner = start + expand_dims(span, axis) / _tandem.to_tensor(max(num - 1, 1), start.dtype) * between
    if num < 2:
        return start if num == 1 else inner
    return concat([start, inner, stop], axis)


def eye(num_rows, num_columns=None, batch_shape=None, dtype=_dtypes.float32, name=None):
    """The unit matrix."""
    columns = int(num_rows if num_columns is None else num_columns)
    wanted = _dtypes.as_complex_dtype(dtype)
    rows, kind = int(num_rows), _dtypes.as_dtype(dtype) if wanted is None else wanted.real_dtype
    if kind.is_numeric and min(rows, columns) > 0:  # the matrix as one row: ones at a constant distance
        ones = _tandem.fill([min(rows, columns)], 1, kind)
        matrix = reshape(records["strided_slice_grad"](ones, [rows * columns], [0], [columns + 1]), [rows, columns])
    else:
        matrix = one_hot(range(num_rows), columns, dtype=kind)
    matrix = matrix if wanted is None else cast(matrix, wanted)
    return matrix if batch_shape is None else broadcast_to(matrix, _sizes(batch_shape) + [int(num_rows), columns])


@takes_others
def one_hot(indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None):
    """A new axis of `depth` that holds on_value where the index says, off_value elsewhere; the dtype is that of the values."""
    indices = _tandem.to_tensor(indices)
    if dtype is None:
        given = [_tandem.to_tensor(value).dtype for value in (on_value, off_value) if value is not None]
        if len(set(given)) > 1:
            raise TypeError(f"dtype {given[0]!r} of on_value does not match dtype {given[1]!r} of off_value")
        dtype = given[0] if given else _dtypes.float32
    if dtype == _dtypes.string:
        return where(one_hot(indices, depth, True, False, axis, _dtypes.bool), on_value, off_value)
    if indices.dtype.is_integer and indices.dtype not in (_dtypes.uint8, _dtypes.int32, _dtypes.int64):
        indices = cast(indices, _dtypes.int64)
    return records["one_hot"](indices, depth, 1 if on_value is None else on_value, 0 if off_value is None else off_value, -1 if axis is None else axis, dtype)


@takes_others
def transpose(a, perm=None, conjugate=False, name="transpose"):
    """The axes in another order, reversed where none is given; `conjugate` changes the sign of imaginary parts too."""
    turned = records["transpose"](a, perm)
    if not conjugate or not turned.dtype.is_complex:
        return turned
    from ._complex import conj

    return conj(turned)


# --- Shapes. ---


def shape(input, out_type=_dtypes.int32, name=None):
    """The sizes of the axes, as a tensor."""
    return _tandem.sizes_tensor(_tandem.to_tensor(input), out_type or _dtypes.int32)


@takes_others
def size(input, out_type=_dtypes.int32, name=None):
    """The number of elements, as a tensor."""
    return _tandem.to_tensor(_tandem.to_tensor(input).shape.num_elements(), out_type or _dtypes.int32)


@takes_others
def rank(input, name=None):
    """The number of axes, as a tensor."""
    axes = getattr(input, "ndim", None)  # also of what is not computed yet
    return _tandem.to_tensor(_tandem.to_tensor(input).ndim if axes is None else axes)


@takes_others
def expand_dims(input, axis, name=None):
    """The tensor with a new axis of size 1."""
    return _tandem.expand_dims(input, int(axis[0] if isinstance(axis, (list, tuple)) and len(axis) == 1 else axis))


@takes_others
def squeeze(input, axis=None, name=None):
    """The tensor without its axes of size 1, or without those named."""
    return _tandem.squeeze(input, axis)


@takes_others
def stack(values, axis=0, name="stack"):
    """Tensors of one shape, joined along a new axis."""
    if isinstance(values, (list, tuple)) and axis in (0, -1) and values and all(isinstance(value, (int, float)) for value in values):
        return _tandem.to_tensor(list(values))
    rows = [expand_dims(value, axis) for value in _converted(values)]
    return concat(rows, axis) if rows else zeros([0])


@takes_others
def unstack(value, num=None, axis=0, name="unstack"):
    """The slices along an axis, as a list."""
    tensor = _tandem.to_tensor(value)
    if not -tensor.ndim <= axis < tensor.ndim:
        raise ValueError(f"Argument `axis` = {axis} not in range [{-tensor.ndim}, {tensor.ndim})")
    if num is not None and num != tensor.shape[axis]:
        raise InvalidArgumentError(f"E0102 unstack: axis {axis} of {tensor.shape} has {tensor.shape[axis]} parts, but num={num}")
    return [_tandem.squeeze(part, axis) for part in split(tensor, tensor.shape[axis], axis)] if tensor.shape[axis] else []


@takes_others
def split(value, num_or_size_splits, axis=0, num=None, name="split"):
    """Parts along an axis: so many equal ones, or of the sizes given."""
    tensor = _tandem.to_tensor(value)
    if not tensor.ndim:
        raise InvalidArgumentError("E0103 split: a scalar has no axis to split")
    if not -tensor.ndim <= axis < tensor.ndim:
        raise InvalidArgumentError(f"E0103 split: axis {axis} is outside a tensor of rank {tensor.ndim}; axes go from {-tensor.ndim} to {tensor.ndim - 1}")
    axis = int(axis) % tensor.ndim
    total = tensor.shape[axis]
    if hasattr(num_or_size_splits, "__index__") and not getattr(num_or_size_splits, "ndim", 0):
        count = num_or_size_splits.__index__()
        if count < 1 or total % count:
            raise InvalidArgumentError(f"E0104 split: axis {axis} of size {total} does not divide into {count} equal parts")
        sizes = [total // count] * count
    else:
        sizes = _sizes(num_or_size_splits)
        if sizes.count(-1) == 1:
            sizes[sizes.index(-1)] = total - sum(s for s in sizes if s != -1)
    if sum(sizes) != total:
        raise InvalidArgumentError(f"split: the sizes {sizes} do not add up to {total}, the size of axis {axis}")
    parts, begin, block, take = [], [0] * tensor.ndim, tensor.shape.as_list(), records["slice"]
    for part in sizes:
        block[axis] = part
        parts.append(take(tensor, begin, block))
        begin[axis] += part
    return parts


def slice(input_, begin, size, name=None):  # noqa: A001  TensorFlow's name
    """The block that begins at `begin`; a size of -1 goes on to the end of its axis."""
    if not _tandem.is_symbolic(size) and -1 in _sizes(size):
        input_ = input_ if hasattr(input_, "__tandem_op__") else _tandem.to_tensor(input_)
        size = [of - at if part == -1 else part for part, at, of in zip(_sizes(size), _sizes(begin), input_.shape.as_list())]
    return records["slice"](input_, begin, size)


@takes_others
def tile(input, multiples, name=None):
    """The tensor repeated along each axis."""
    tensor = _tandem.to_tensor(input)
    times, sizes = _sizes(multiples), tensor.shape.as_list()
    if len(times) != len(sizes):
        raise InvalidArgumentError(f"tile: multiples {times} needs one number an axis of {tensor.shape}")
    if 2 * len(sizes) > _MOST_AXES:
        return _tiled_one_by_one(tensor, times, sizes)
    spread = reshape(tensor, [n for s in sizes for n in (1, s)])
    spread = broadcast_to(spread, [n for pair in zip(times, sizes) for n in pair])
    return reshape(spread, [t * s for t, s in zip(times, sizes)])


_MOST_AXES = 8  # of a tensor


def _tiled_one_by_one(tensor, times, sizes):
    """Axis by axis, where twice as many axes would be too many."""
    for axis, count in enumerate(times):
        if count != 1:
            before, after = math.prod(times[i] * sizes[i] for i in builtins.range(axis)), math.prod(sizes[axis:])
            tensor = broadcast_to(reshape(tensor, [before, 1, after]), [before, count, after])
    return reshape(tensor, [t * s for t, s in zip(times, sizes)])


def pad(tensor, paddings, mode="CONSTANT", constant_values=0, name=None):
    """A margin around the tensor, [before, after] for each axis: a constant, or the tensor mirrored at its edge."""
    if mode.upper() == "CONSTANT":
        return records["pad"](tensor, paddings, constant_values)
    if mode.upper() not in ("REFLECT", "SYMMETRIC"):
        raise ValueError(f"pad: mode must be 'CONSTANT', 'REFLECT' or 'SYMMETRIC', got {mode!r}")
    return records["mirror_pad"](tensor, _sizes(paddings), mode.lower())


@takes_others
def gather(params, indices, validate_indices=None, axis=None, batch_dims=0, name=None):
    """Slices of params along an axis, in the order of the indices; the first batch_dims axes of both go together."""
    params, indices = _tandem.to_tensor(params), _tandem.to_tensor(indices)
    batch = int(batch_dims) + (indices.ndim if batch_dims < 0 else 0)
    at = batch if axis is None else int(axis) + (params.ndim if axis < 0 else 0)
    indices = cast(indices, _dtypes.int32) if indices.dtype == _dtypes.int16 else indices
    return records["gather"](params, indices, at, batch)


def reshape(tensor, shape, name=None):
    """The same elements under another shape; one size may be -1."""
    return records["reshape"](tensor, shape)


# --- Arithmetic and reductions of others. ---


def floordiv(x, y, name=None):
    """floor(x / y), elementwise; integers stay integers."""
    return _tandem.floordiv(*_converted([x, y]))


def floormod(x, y, name=None):
    """x - floordiv(x, y) * y, elementwise."""
    return _tandem.floormod(*_converted([x, y]))


def truncatediv(x, y, name=None):
    """x / y cut towards zero, elementwise."""
    x, y = _converted([x, y])
    if x.dtype.is_floating:
        quotient = x / y
        return where(less(quotient, 0), ceil(quotient), floor(quotient))
    return _tandem.truncatediv(x, y)


def divide_no_nan(x, y, name=None):
    """x / y, and 0 where y is 0, elementwise; integers are divided as floating numbers."""
    x, y = _converted([x, y])
    if x.dtype.is_integer and x.dtype == y.dtype:
        wanted = _dtypes.float32 if x.dtype.size <= 2 else _dtypes.float64
        x, y = records["cast"](x, wanted), records["cast"](y, wanted)
    return records["divide_no_nan"](x, y)


def truncatemod(x, y, name=None):
    """x - truncatediv(x, y) * y, elementwise: the remainder with the sign of x."""
    x, y = _converted([x, y])
    if x.dtype.is_floating:
        rest = floormod(abs(x), abs(y))
        return where(less(x, 0), -rest, rest)
    return x - truncatediv(x, y) * y


@takes_others
def pow(x, y, name=None):
    """x to the power of y, elementwise; of integers, y may not be negative."""
    return _tandem.power(*_converted([x, y]))


@takes_others
def add_n(inputs, name=None):
    """The sum of tensors of one shape."""
    complex_ones = isinstance(inputs, (list, tuple)) and any(hasattr(value, "__tandem_op__") for value in inputs)
    total, *others = inputs if complex_ones else _converted(inputs)
    for other in others:
        if other.shape != total.shape:
            raise InvalidArgumentError(f"E0102 add_n: the tensors must have one shape, got {total.shape} and {other.shape}")
        total = total + other
    return total


def _where_is(op, input, axis, output_type):
    input = _tandem.to_tensor(input)
    input = records["cast"](input, _dtypes.uint8) if input.dtype == _dtypes.bool else input
    wanted = _dtypes.as_dtype(output_type)
    if wanted in (_dtypes.int16, _dtypes.uint16):
        return records["cast"](records[op](input, axis, _dtypes.int32), wanted)
    return records[op](input, axis, wanted)


def argmax(input, axis=None, output_type=_dtypes.int64, name=None):
    """Where the largest value along the axis stands; of bools the first that is true."""
    return _where_is("argmax", input, axis, output_type)


def argmin(input, axis=None, output_type=_dtypes.int64, name=None):
    """Where the smallest value along the axis stands; of bools the first that is false."""
    return _where_is("argmin", input, axis, output_type)


def _converted(values):
    """The values as tensors; a plain one takes the dtype of the first tensor."""
    dtype = next((v.dtype for v in values if isinstance(v, (Tensor, _tandem.Variable))), None)
    return [_tandem.to_tensor_beside(value, dtype) for value in values]


# --- Neural networks. ---


def bias_add(value, bias, data_format=None, name=None):
    """value + bias, the bias along the last axis, or with data_format="NC..." along the second."""
    if getattr(value, "ndim", 2) < 2:
        raise InvalidArgumentError(f"bias_add: Input tensor must be at least 2D: {value.shape}")
    if data_format is None or data_format[:1] == "N" and data_format[-1:] == "C":
        return records["bias_add"](value, bias)
    if data_format[:2] != "NC":
        raise ValueError(f"bias_add: data_format must be of the form 'N...C' or 'NC...', got {data_format!r}")
    value = _tandem.to_tensor(value)
    order = [0, *range(2, value.ndim), 1][: value.ndim]
    return transpose(records["bias_add"](transpose(value, order), bias), [0, value.ndim - 1, *range(1, value.ndim - 1)][: value.ndim])


def leaky_relu(features, alpha=0.2, name=None):
    """x where x > 0, else alpha * x, elementwise; integers become float32."""
    features = _tandem.to_tensor(features)
    return records["leaky_relu"](cast(features, _dtypes.float32) if features.dtype.is_integer else features, alpha)


def silu(features, beta=1.0, name=None):
    """x * sigmoid(beta * x), elementwise."""
    features = features if hasattr(features, "__tandem_op__") else _tandem.to_tensor(features)
    if isinstance(beta, (int, float)) and beta == 1:
        return records["silu"](features)
    return features * sigmoid(features * beta)


def gelu(features, approximate=False, name=None):
    """x times the probability that a normal number is below x; `approximate` by tanh."""
    return records["gelu_tanh" if approximate else "gelu"](features)


def softmax_cross_entropy_with_logits(labels, logits, axis=-1, name=None):
    """-sum(labels * log_softmax(logits)), a row."""
    logits = _tandem.to_tensor(logits)
    labels = _tandem.to_tensor_beside(labels, logits.dtype)
    if labels.shape != logits.shape and labels.ndim and logits.ndim:
        labels, logits = labels + zeros_like(logits), logits + zeros_like(labels)
    if axis not in (-1, logits.ndim - 1):
        order = [i for i in builtins.range(logits.ndim) if i != axis % logits.ndim] + [axis % logits.ndim]
        labels, logits = transpose(labels, order), transpose(logits, order)
    return records["softmax_cross_entropy_with_logits"](labels, logits)


# What tf and tf.math offer: the functions of this file and those of the records that none of them replaces.
exported = {
    name: value
    for name, value in globals().items()
    if isinstance(value, _tandem.OpFunction) or getattr(value, "__module__", None) == __name__ and name[0] != "_"
}
