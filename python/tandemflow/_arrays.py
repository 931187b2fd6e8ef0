"""Reductions, slices, scatters and sorts that TensorFlow composes of others or spells otherwise."""
import builtins
import math
from collections import namedtuple

import numpy as np

from . import _dtypes, _ops, _string_ops, _tandem
from ._ops import (
    _converted,
    _sizes,
    abs,
    broadcast_to,
    cast,
    concat,
    equal,
    expand_dims,
    gather,
    greater,
    greater_equal,
    is_finite,
    less,
    less_equal,
    log,
    logical_and,
    maximum,
    minimum,
    not_equal,
    range,
    records,
    reduce_all,
    reduce_max,
    reduce_mean,
    reduce_sum,
    reshape,
    rsqrt,
    sqrt,
    square,
    squared_difference,
    squeeze,
    takes_others,
    transpose,
    where as _choose,
    zeros_like,
)
from ._one_pass import in_one_pass
from .errors import InvalidArgumentError

_tensor = _tandem.to_tensor

# What some functions return.
TopKV2 = namedtuple("TopKV2", ["values", "indices"])
Unique = namedtuple("Unique", ["y", "idx"])
UniqueWithCounts = namedtuple("UniqueWithCounts", ["y", "idx", "count"])


def _axis(op, axis, rank):
    """The axis counted from the front."""
    at = axis.__index__() if hasattr(axis, "__index__") else int(axis)
    if not -rank <= at < rank:
        raise InvalidArgumentError(f"{op}: axis {axis} is outside a tensor of rank {rank}; it must lie in [{-rank}, {rank})")
    return at % rank if rank else at


def _kept_last(tensor, axis, function):
    """function of the tensor with the axis moved to the end, moved back."""
    if axis == tensor.ndim - 1:
        return function(tensor)
    order = [i for i in builtins.range(tensor.ndim) if i != axis] + [axis]
    back = sorted(builtins.range(tensor.ndim), key=order.__getitem__)
    return transpose(function(transpose(tensor, order)), back)


# --- Reductions. ---


def reduce_logsumexp(input_tensor, axis=None, keepdims=False, name=None):
    """log(sum(exp(x))) over axes, without overflow."""
    x = _tensor(input_tensor)
    largest = _ops.stop_gradient(reduce_max(x, axis, True))
    shift = _choose(is_finite(largest), largest, zeros_like(largest))
    result = log(reduce_sum(_ops.exp(x - shift), axis, True)) + shift
    return result if keepdims else reshape(result, reduce_max(x, axis).shape)


@takes_others
def reduce_variance(input_tensor, axis=None, keepdims=False, name=None):
    """The mean of the squared distances from the mean."""
    if getattr(getattr(input_tensor, "dtype", None), "is_complex", False):
        return reduce_mean(square(abs(input_tensor - reduce_mean(input_tensor, axis, True))), axis, keepdims)
    x = _tensor(input_tensor)
    if not x.dtype.is_floating:
        raise TypeError(f"Input must be either real or complex. Received integer type {x.dtype!r}.")
    return reduce_mean(squared_difference(x, reduce_mean(x, axis, True)), axis, keepdims)


@takes_others
def reduce_std(input_tensor, axis=None, keepdims=False, name=None):
    """The standard deviation."""
    return sqrt(reduce_variance(input_tensor, axis, keepdims))


@in_one_pass
def _sum_of_squares(x, axis=None, keepdims=False):
    return reduce_sum(square(x), axis, keepdims)


def _hashable(axis):
    return tuple(_tandem.as_ints(axis)) if isinstance(axis, (list, tuple)) else axis


def reduce_euclidean_norm(input_tensor, axis=None, keepdims=False, name=None):
    """The square root of the sum of squares."""
    x = _tensor(input_tensor)
    squares = _sum_of_squares(x, _hashable(axis), builtins.bool(keepdims))
    return sqrt(squares) if x.dtype.is_floating else cast(sqrt(cast(squares, _dtypes.float64)), x.dtype)


def norm(tensor, ord="euclidean", axis=None, keepdims=None, name=None):
    """The norm of vectors ('euclidean', 1, 2, inf, any p) or of matrices ('fro', 'euclidean', 1, 2, inf)."""
    if hasattr(tensor, "dtype") and getattr(tensor.dtype, "is_complex", False):
        length = norm(records["abs"](tensor), ord, axis, keepdims)
        complex_length = ord in ("euclidean", "fro") or (ord == 2 and not isinstance(axis, (tuple, list)))
        return cast(length, tensor.dtype if complex_length else length.dtype)
    x = _tensor(tensor)
    keepdims = builtins.bool(keepdims)
    pair = isinstance(axis, (tuple, list)) and len(axis) == 2
    if not (pair and axis[0] != axis[1] or axis is None or hasattr(axis, "__index__") or isinstance(axis, (tuple, list)) and len(axis) == 1):
        raise ValueError(f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}")
    if ord == "fro" and not pair:
        raise ValueError(f"'ord' must be a supported vector norm, got {ord}")
    if ord in ("euclidean", "fro") or (ord == 2 and not pair):
        return reduce_euclidean_norm(x, axis, keepdims)
    size = abs(x)
    if ord in (1, np.inf) and pair:
        summed, kept = (axis[0], axis[1]) if ord == 1 else (axis[1], axis[0])
        result = reduce_max(reduce_sum(size, summed, True), kept, True)
        return result if keepdims else _tandem.squeeze(result, list(axis))
    if ord == 2:  # of matrices: the largest singular value
        from ._linalg import svd

        others = [i for i in builtins.range(x.ndim) if i not in [a % x.ndim for a in axis]]
        matrices = transpose(x, others + [a % x.ndim for a in axis])
        largest = reduce_max(svd(matrices, compute_uv=False), -1)
        return reshape(largest, [1 if i not in others else size for i, size in enumerate(x.shape)]) if keepdims else largest
    if pair or not isinstance(ord, (int, float)) or ord <= 0:
        raise ValueError(f"norm: ord must be 'euclidean', 'fro', 1, 2, inf or a positive number for vectors, got {ord!r}")
    if ord == np.inf:
        return reduce_max(size, axis, keepdims)
    return reduce_sum(size, axis, keepdims) if ord == 1 else reduce_sum(size ** ord, axis, keepdims) ** (1.0 / ord)


def count_nonzero(input, axis=None, keepdims=False, dtype=_dtypes.int64, name=None):
    """How many elements are not 0."""
    x = input if hasattr(input, "__tandem_op__") else _tensor(input)
    return reduce_sum(cast(not_equal(x, zeros_like(x)), dtype), axis, builtins.bool(keepdims))


def zero_fraction(value, name=None):
    """The share of zeros."""
    x = _tensor(value)
    return reduce_mean(cast(equal(x, zeros_like(x)), _dtypes.float32))


def moments(x, axes, shift=None, keepdims=False, name=None):
    """Mean and variance over axes."""
    x = _tensor(x)
    return reduce_mean(x, axes, keepdims), reduce_variance(x, axes, keepdims)


def l2_normalize(x, axis=None, epsilon=1e-12, name=None, dim=None):
    """x divided by the square root of its sum of squares, which is taken as at least epsilon; `dim` is a former name of axis."""
    x = _tensor(x)
    return _normalised(x, _hashable(dim if axis is None else axis), epsilon)


@in_one_pass
def _normalised(x, axis, epsilon):
    return x * rsqrt(maximum(reduce_sum(square(x), axis, True), epsilon))


def l2_loss(t, name=None):
    """Half the sum of squares."""
    t = _tensor(t)
    if not t.dtype.is_floating:
        raise InvalidArgumentError(f"E0202 l2_loss is not defined for {t.dtype.name}; it takes floating numbers; use cast()")
    return _sum_of_squares(t) / 2


def global_norm(t_list, name=None):
    """The norm of all tensors taken together."""
    return sqrt(_ops.add_n([_sum_of_squares(_tensor(t.values if hasattr(t, "_scaled") else t)) for t in t_list if t is not None]))


def clip_by_norm(t, clip_norm, axes=None, name=None):
    """t, scaled down so that its norm is at most clip_norm."""
    t = _tensor(t)
    return _clipped(t, maximum(_tandem.to_tensor_beside(clip_norm, t.dtype), 0), _hashable(axes))


@in_one_pass
def _clipped(t, clip_norm, axes):
    total = reduce_sum(square(t), axes, True)
    positive = greater(total, 0)
    length = _choose(positive, sqrt(_choose(positive, total, _ops.ones_like(total))), total)
    return t * clip_norm / maximum(length, clip_norm)


def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None):
    """The tensors, scaled down together so that their norm is at most clip_norm; and the norm they had."""
    size = global_norm(t_list) if use_norm is None else _tensor(use_norm)
    # An infinite or undefined norm makes all results NaN, as in TensorFlow.
    scale = clip_norm * minimum(1.0 / size, 1.0 / _tandem.to_tensor_beside(clip_norm, size.dtype)) + (size - size)
    return [None if t is None else t._scaled(scale) if hasattr(t, "_scaled") else _tensor(t) * scale for t in t_list], size


def scalar_mul(scalar, x, name=None):
    """The tensor times a number."""
    return _tensor(x) * scalar


# --- Slices. ---


def strided_slice(input_, begin, end, strides=None, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0, var=None, name=None):
    """input_[begin:end:strides], axis by axis; bits of the masks leave bounds open, add and drop axes."""
    begin, end = _sizes(begin), _sizes(end)
    strides = [1] * len(begin) if strides is None else _sizes(strides)
    if not len(begin) == len(end) == len(strides):
        raise ValueError(f"strided_slice: begin, end and strides must be of one length, got {len(begin)}, {len(end)}, {len(strides)}")
    key = []
    for i, (first, last, step) in enumerate(zip(begin, end, strides)):
        bit = 1 << i
        if ellipsis_mask & bit:
            key.append(Ellipsis)
        elif new_axis_mask & bit:
            key.append(None)
        elif shrink_axis_mask & bit:
            key.append(first)
        else:
            key.append(builtins.slice(None if begin_mask & bit else first, None if end_mask & bit else last, step))
    return _tensor(input_)[tuple(key)]


@takes_others
def reverse(tensor, axis, name=None):
    """The tensor read backwards along the axes."""
    tensor = _tensor(tensor)
    if tensor.dtype == _dtypes.string:
        return _string_ops.moved(lambda numbers: reverse(numbers, axis), tensor)
    return _tandem.reverse(tensor, axis) if tensor.ndim else tensor


def roll(input, shift, axis, name=None):
    """Elements moved along axes; those that leave at the end come in at the front."""
    x = _tensor(input)
    shifts, axes = _sizes(shift), _sizes(axis)
    if len(shifts) != len(axes):
        raise InvalidArgumentError(f"roll: shift and axis must have the same length, got {len(shifts)} and {len(axes)}")
    rolled = lambda numbers: records["roll"](numbers, shifts, axes)  # noqa: E731
    return _string_ops.moved(rolled, x) if x.dtype == _dtypes.string else rolled(x)


def repeat(input, repeats, axis=None, name=None):
    """Each element repeated, so often or as often as `repeats` says."""
    x = _tensor(input)
    if axis is None or (not x.ndim and axis in (0, -1)):
        x, axis = reshape(x, [-1]), 0
    axis = _axis("repeat", axis, x.ndim)
    repeats = _tensor(repeats)
    times = _sizes(repeats) if repeats.shape.num_elements() else []  # of whatever dtype an empty list is
    length = x.shape[axis]
    if len(times) == 1 and times[0] > 0:
        sizes = x.shape.as_list()
        spread = broadcast_to(expand_dims(x, axis + 1), sizes[: axis + 1] + times + sizes[axis + 1 :])
        return reshape(spread, sizes[:axis] + [length * times[0]] + sizes[axis + 1 :])
    if len(times) == 1:
        times = times * length
    if len(times) != length or min(times, default=0) < 0:
        raise InvalidArgumentError(f"repeat: repeats must be one number or {length}, none of them negative, got {times}")
    places = np.repeat(np.arange(length), times)
    return gather(x, _tensor(places, _dtypes.int64), axis=axis)


def meshgrid(*args, indexing="xy", name=None):
    """Vectors spread over a common grid."""
    vectors = [v if v.ndim == 1 else reshape(v, [-1]) for v in _converted(args)]
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    order = list(builtins.range(len(vectors)))
    if indexing == "xy" and len(order) > 1:
        order[0], order[1] = 1, 0
    sizes = [0] * len(vectors)
    for vector, at in zip(vectors, order):
        sizes[at] = vector.shape[0]
    # Axes in front need not be there to be stretched.
    return [broadcast_to(v if at == len(order) - 1 else reshape(v, [-1] + [1] * (len(order) - 1 - at)), sizes) for v, at in zip(vectors, order)]


def sequence_mask(lengths, maxlen=None, dtype=_dtypes.bool, name=None):
    """Rows of maxlen, true up to each length."""
    lengths = _tensor(lengths)
    if maxlen is None:
        maxlen = math.ceil(reduce_max(lengths).numpy()) if lengths.shape.num_elements() else 0
    elif getattr(maxlen, "ndim", 0) or isinstance(maxlen, (list, tuple)):
        raise ValueError(f"Argument `maxlen` must be scalar for sequence_mask, received `maxlen` = {maxlen}")
    elif not lengths.dtype.is_integer:
        lengths = cast(lengths, _dtypes.int32)
    mask = less(range(maxlen, dtype=lengths.dtype), expand_dims(lengths, -1))
    return mask if _dtypes.as_dtype(dtype) is _dtypes.bool else cast(mask, dtype)


# --- Positions. ---


@takes_others
def where(condition, x=None, y=None, name=None):
    """x where the condition holds, else y; without them, the positions where it holds."""
    if (x is None) != (y is None):
        raise ValueError("x and y must both be non-None or both be None.")
    return _tandem.where_positions(condition) if x is None else records["where"](condition, x, y)


@takes_others
def boolean_mask(tensor, mask, axis=None, name="boolean_mask"):
    """The elements or slices for which the mask holds."""
    tensor, mask = _tensor(tensor), _tensor(mask)
    if mask.ndim == 0:
        raise ValueError("mask cannot be scalar.")
    axis = 0 if axis is None else _axis("boolean_mask", axis, tensor.ndim)
    if tensor.shape[axis : axis + mask.ndim] != mask.shape:
        raise ValueError(f"Shapes {tensor.shape[axis:axis + mask.ndim]} and {mask.shape} are incompatible")
    sizes = tensor.shape.as_list()
    joined = sizes[:axis] + [-1 if tensor.shape.num_elements() else int(np.prod(mask.shape.as_list()))] + sizes[axis + mask.ndim :]
    places = reshape(_tandem.where_positions(reshape(mask, [-1])), [-1])
    return gather(reshape(tensor, joined), places, axis=axis)


def _with_batch(indices, batch_dims):
    """Indices [b..., i..., k] with the positions of the batch before them."""
    sizes = indices.shape.as_list()
    parts = []
    for at in builtins.range(batch_dims):
        line = reshape(range(sizes[at], dtype=indices.dtype), [-1 if i == at else 1 for i in builtins.range(len(sizes) - 1)] + [1])
        parts.append(broadcast_to(line, sizes[:-1] + [1]))
    return concat(parts + [indices], -1)


def gather_nd(params, indices, batch_dims=0, name=None, bad_indices_policy=""):
    """Elements or slices of params, by their positions in its first axes (after those of the batch)."""
    indices = _tensor(indices)
    indices = _with_batch(indices, int(batch_dims)) if batch_dims else indices
    if not _ignores(bad_indices_policy):
        return records["gather_nd"](params, indices)
    params = _tensor(params)
    indices, inside = _inside(indices, params.shape.as_list())
    return _kept(inside, records["gather_nd"](params, indices), 0)


def _ignores(policy):
    """Whether positions that are not there are passed over; else they are an error."""
    if policy not in ("", "DEFAULT", "ERROR", "IGNORE"):
        raise InvalidArgumentError(f"bad_indices_policy must be '', 'DEFAULT', 'ERROR' or 'IGNORE', got {policy!r}")
    return policy == "IGNORE"


def _inside(indices, sizes):
    """The positions, the first one in place of those that are not there; and which are there."""
    limits = _tensor(sizes[: indices.shape[-1]], indices.dtype)
    inside = reduce_all(logical_and(greater_equal(indices, zeros_like(indices)), less(indices, limits)), -1)
    return where(expand_dims(inside, -1), indices, zeros_like(indices)), inside


def _kept(inside, values, otherwise):
    """The values of positions that are there, and a number for the others."""
    values = _tensor(values)
    inside = reshape(inside, inside.shape.as_list() + [1] * (values.ndim - inside.ndim))
    return where(inside, values, _tensor(otherwise, values.dtype))


def scatter_nd(indices, updates, shape, name=None, bad_indices_policy=""):
    """A tensor of zeros with the updates added at their positions."""
    if _ignores(bad_indices_policy):
        indices, inside = _inside(_tensor(indices), _tandem.as_ints(shape))
        updates = _kept(inside, updates, 0)
    updates = updates if hasattr(updates, "dtype") else _tensor(updates)
    if updates.dtype == _dtypes.bool:  # those of one position are or-ed
        return cast(records["scatter_nd"](indices, cast(updates, _dtypes.int32), shape), _dtypes.bool)
    return records["scatter_nd"](indices, updates, shape)


def _scattered(op, tensor, indices, updates, policy, neutral):
    if _ignores(policy):
        tensor = _tensor(tensor)
        indices, inside = _inside(_tensor(indices), tensor.shape.as_list())
        updates = _kept(inside, updates, neutral(tensor.dtype))
    return records[op](tensor, indices, updates)


def tensor_scatter_nd_add(tensor, indices, updates, name=None, bad_indices_policy=""):
    """The tensor with the updates added at their positions."""
    return _scattered("tensor_scatter_nd_add", tensor, indices, updates, bad_indices_policy, lambda dtype: 0)


def tensor_scatter_nd_sub(tensor, indices, updates, name=None, bad_indices_policy=""):
    """The tensor with the updates taken off at their positions."""
    return _scattered("tensor_scatter_nd_sub", tensor, indices, updates, bad_indices_policy, lambda dtype: 0)


def tensor_scatter_nd_min(tensor, indices, updates, name=None, bad_indices_policy=""):
    """The tensor, or the update where that is smaller, at the updates' positions."""
    return _scattered("tensor_scatter_nd_min", tensor, indices, updates, bad_indices_policy, lambda dtype: float("inf") if dtype.is_floating else dtype.max)


def tensor_scatter_nd_max(tensor, indices, updates, name=None, bad_indices_policy=""):
    """The tensor, or the update where that is larger, at the updates' positions."""
    return _scattered("tensor_scatter_nd_max", tensor, indices, updates, bad_indices_policy, lambda dtype: float("-inf") if dtype.is_floating else dtype.min)


def unique_with_counts(x, out_idx=_dtypes.int32, name=None):
    """The different values in the order of their first occurrence, where each element finds its own, how often it occurs."""
    tensor = _tensor(x)
    if tensor.ndim != 1:
        raise InvalidArgumentError(f"unique expects a 1D vector, got shape {tensor.shape}")
    first, place, count = _unique_strings(tensor) if tensor.dtype == _dtypes.string else _tandem.unique_places(tensor)
    return UniqueWithCounts(gather(tensor, first), cast(place, out_idx), cast(count, out_idx))


def _unique_strings(tensor):
    """Where each different string is first, which one each element is, how often each occurs."""
    _, first, place, count = np.unique(tensor.numpy(), return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first, kind="stable")
    number = np.empty_like(order)
    number[order] = np.arange(order.size)
    return tuple(_tensor(values, _dtypes.int64) for values in (first[order], number[place.reshape(-1)], count[order]))


def unique(x, out_idx=_dtypes.int32, name=None):
    """The different values in the order of their first occurrence, and where each element finds its own."""
    found = unique_with_counts(x, out_idx)
    return Unique(found.y, found.idx)


# --- Order. ---


def sort(values, axis=-1, direction="ASCENDING", name=None):
    """The values along an axis in order; NaN is above all."""
    x = _tensor(values)
    return _kept_last(x, _axis("sort", axis, x.ndim), lambda t: records["sort"](t, direction))


def argsort(values, axis=-1, direction="ASCENDING", stable=False, name=None):
    """The positions that bring the values along an axis in order; equal values keep theirs."""
    x = _tensor(values)
    return _kept_last(x, _axis("argsort", axis, x.ndim), lambda t: records["argsort"](t, direction))


def top_k(input, k=1, sorted=True, index_type=_dtypes.int32, name=None):
    """The k largest values of the last axis, largest first, and where they stand."""
    values, indices = records["top_k"](input, int(k))
    return TopKV2(values, cast(indices, index_type))


def in_top_k(targets, predictions, k, name=None):
    """Whether the prediction of the target class is among the k largest of its row."""
    targets, predictions = _tensor(targets), _tensor(predictions)
    if targets.ndim != 1 or predictions.ndim != 2 or targets.shape[0] != predictions.shape[0]:
        raise InvalidArgumentError(f"in_top_k: needs targets [n] and predictions [n, classes], got {targets.shape} and {predictions.shape}")
    inside = logical_and(less(targets, predictions.shape[1]), less_equal(zeros_like(targets), targets))
    safe = _choose(inside, targets, zeros_like(targets))
    chosen = gather(predictions, expand_dims(safe, 1), axis=1, batch_dims=1)
    above = reduce_sum(cast(greater(predictions, chosen), _dtypes.int32), 1)
    sound = records["reduce_all"](is_finite(predictions), 1)
    return logical_and(logical_and(inside, sound), less(above, int(k)))


def searchsorted(sorted_sequence, values, side="left", out_type=_dtypes.int32, name=None):
    """Where in the sorted rows each value would stand."""
    return records["searchsorted"](*_converted([sorted_sequence, values]), side, out_type)


exported = {name: value for name, value in globals().items() if getattr(value, "__module__", None) == __name__ and name[0] != "_" and name.islower()}
