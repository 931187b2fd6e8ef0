"""keras.ops: choosing, finding, ordering and scattering."""
from ... import _arrays, _ops, _tandem
from ..._segments import bincount as _counts
from ._convert import drawable, floats, like, numbers, one_axis, records, tensor, together


@drawable
def where(condition, x1=None, x2=None):
    """x1 where the condition holds, else x2."""
    if x1 is None or x2 is None:
        return nonzero(condition)
    x1, x2 = together(x1, x2)
    return records["where"](tensor(condition, "bool"), x1, x2)


@drawable
def select(condlist, choicelist, default=0):
    """The first choice whose condition holds."""
    *choices, out = together(*choicelist, default)
    for condition, choice in reversed(list(zip(condlist, choices))):
        out = records["where"](tensor(condition, "bool"), choice, out)
    return out


def nonzero(x):
    """Where x is not 0: a tensor of positions for each axis."""
    places = _arrays.where(_ops.not_equal(tensor(x), _ops.zeros_like(tensor(x))))
    return [_ops.cast(part, "int32") for part in _ops.unstack(places, axis=1)]


@drawable
def take(x, indices, axis=None):
    """Elements or slices by number; negative ones count from the end."""
    x, indices = tensor(x), tensor(indices)
    if indices.dtype.name not in ("int32", "int64"):
        indices = _ops.cast(indices, "int32")
    if axis is None:
        x, axis = _ops.reshape(x, [-1]), 0
    axis = one_axis(axis, x.ndim)
    counted = _ops.where(indices < 0, indices + x.shape[axis], indices)
    return _ops.gather(x, counted, axis=axis)


@drawable
def take_along_axis(x, indices, axis=None):
    """For each place, the element along the axis that `indices` says."""
    x, indices = tensor(x), tensor(indices)
    if indices.dtype.name not in ("int32", "int64"):
        indices = _ops.cast(indices, "int32")
    if axis is None:
        x, indices, axis = _ops.reshape(x, [-1]), _ops.reshape(indices, [-1]), 0
    axis = one_axis(axis, x.ndim)
    counted = _ops.where(indices < 0, indices + x.shape[axis], indices)
    order = [i for i in range(x.ndim) if i != axis] + [axis]
    back = [order.index(i) for i in range(x.ndim)]
    rest = [max(a, b) for i, (a, b) in enumerate(zip(x.shape.as_list(), indices.shape.as_list())) if i != axis]
    moved = _ops.broadcast_to(_ops.transpose(x, order), [*rest, x.shape[axis]])
    places = _ops.broadcast_to(_ops.transpose(counted, order), [*rest, indices.shape[axis]])
    return _ops.transpose(_ops.gather(moved, places, axis=x.ndim - 1, batch_dims=x.ndim - 1), back)


@drawable
def sort(x, axis=-1):
    """In ascending order."""
    return like(_arrays.sort(numbers(x), axis), x)


@drawable
def argsort(x, axis=-1):
    """The positions that bring x in order."""
    x = numbers(x)
    if axis is None:
        x, axis = _ops.reshape(x, [-1]), 0
    return _ops.cast(_arrays.argsort(x, axis), "int32")


@drawable
def top_k(x, k, sorted=True):
    """The k largest of the last axis, and where they stand."""
    return _arrays.top_k(tensor(x), k)


@drawable
def in_top_k(targets, predictions, k):
    """Whether the target is among the k largest."""
    return _arrays.in_top_k(tensor(targets), floats(predictions), k)


@drawable
def searchsorted(sorted_sequence, values, side="left"):
    """Where each value would stand."""
    return _arrays.searchsorted(*together(sorted_sequence, values), side=side)


@drawable
def digitize(x, bins):
    """The number of the bin each value falls into."""
    bins, values = together(tensor(bins), tensor(x))
    return _arrays.searchsorted(bins, _ops.reshape(values, [-1]), side="right") if values.ndim == 1 else _ops.reshape(
        _arrays.searchsorted(bins, _ops.reshape(values, [-1]), side="right"), values.shape
    )


@drawable
def isin(x1, x2, assume_unique=False, invert=False):
    """Whether each element of x1 is in x2."""
    x1, x2 = together(x1, x2)
    found = _ops.reduce_any(_ops.equal(_ops.expand_dims(x1, -1), _ops.reshape(x2, [-1])), -1)
    return _ops.logical_not(found) if invert else found


@drawable
def bincount(x, weights=None, minlength=0, sparse=False):
    """How often each number occurs; of two axes, in each row."""
    x = tensor(x)
    return _counts(x, weights=weights, minlength=minlength, axis=-1 if x.ndim == 2 else None)


def unique(x, sorted=True, return_index=False, return_inverse=False, return_counts=False, axis=None, size=None, fill_value=None):
    """Each value once, in order."""
    import numpy as np

    out = np.unique(tensor(x).numpy(), return_index, return_inverse, return_counts, axis)
    return tuple(tensor(part) for part in out) if isinstance(out, tuple) else tensor(out)


@drawable
def scatter(indices, values, shape):
    """Zeros, and the values added at the indices."""
    return _arrays.scatter_nd(tensor(indices), tensor(values), shape)


@drawable
def scatter_update(inputs, indices, updates, reduction=None):
    """The tensor with the updates at the indices; "add", "max" and "min" join them with what is there."""
    kinds = {None: "update", "add": "add", "max": "max", "min": "min"}
    if reduction not in kinds:
        raise ValueError(f"scatter_update: reduction must be None, 'add', 'max' or 'min', got {reduction!r}")
    x = tensor(inputs)
    return records[f"tensor_scatter_nd_{kinds[reduction]}"](x, tensor(indices), _ops.cast(tensor(updates), x.dtype))


def _segments(name, record):
    def function(data, segment_ids, num_segments=None, sorted=False):
        ids = tensor(segment_ids)
        count = int(_ops.reduce_max(ids).numpy()) + 1 if num_segments is None else num_segments
        return records[record](tensor(data), ids, count)

    from ._convert import made

    return made(name, function, f"The {name.split('_')[1]} of the rows of each segment.")


segment_sum = _segments("segment_sum", "unsorted_segment_sum")
segment_max = _segments("segment_max", "unsorted_segment_max")
segment_min = _segments("segment_min", "unsorted_segment_min")
segment_prod = _segments("segment_prod", "unsorted_segment_prod")


@drawable
def unravel_index(indices, shape):
    """Flat positions as positions along each axis."""
    rest, out = tensor(indices), []
    for size in reversed(list(shape)):
        out.append(_ops.floormod(rest, size))
        rest = _ops.floordiv(rest, size)
    return tuple(reversed(out))


def histogram(x, bins=10, range=None):
    """How many values fall into each bin, and where the bins end."""
    import numpy as np

    counts, edges = np.histogram(tensor(x).numpy(), bins, range)
    return tensor(counts, "int32"), _tandem.to_tensor(edges.astype(np.float32))
