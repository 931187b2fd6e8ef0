"""keras.ops: sums, means, extremes and their relatives over axes."""
import builtins

import numpy

from ... import _arrays, _ops
from ._convert import axes_of, drawable, floats, like, made, numbers, one_axis, records, tensor, together


def _axes(axis):
    return list(axis) if isinstance(axis, tuple) else axis


@drawable
def sum(x, axis=None, keepdims=False):
    """The sum over axes; bools are counted."""
    x = tensor(x)
    return _ops.reduce_sum(_ops.cast(x, "int32") if x.dtype.name == "bool" else x, _axes(axis), keepdims)


@drawable
def prod(x, axis=None, keepdims=False, dtype=None):
    """The product over axes."""
    x = tensor(x, dtype)
    return _ops.reduce_prod(_ops.cast(x, "int32") if x.dtype.name == "bool" else x, _axes(axis), keepdims)


@drawable
def mean(x, axis=None, keepdims=False):
    """The mean over axes."""
    return _ops.reduce_mean(floats(x), _axes(axis), keepdims)


@drawable
def var(x, axis=None, keepdims=False):
    """The variance over axes."""
    return _arrays.reduce_variance(floats(x), _axes(axis), keepdims)


@drawable
def std(x, axis=None, keepdims=False):
    """The standard deviation over axes."""
    return _ops.sqrt(_arrays.reduce_variance(floats(x), _axes(axis), keepdims))


@drawable
def moments(x, axes, keepdims=False, synchronized=False):
    """Mean and variance over axes."""
    x = floats(x)
    return _ops.reduce_mean(x, _axes(axes), keepdims), _arrays.reduce_variance(x, _axes(axes), keepdims)


def _extreme(name, record, doc, meet):
    def function(x, axis=None, keepdims=False, initial=None):
        out = like(records[record](numbers(x), _axes(axis), keepdims), x)
        return out if initial is None else meet(*together(out, initial))

    return made(name, function, doc)


max = _extreme("max", "reduce_max", "The largest over axes.", _ops.maximum)
min = _extreme("min", "reduce_min", "The smallest over axes.", _ops.minimum)
amax = made("amax", lambda x, axis=None, keepdims=False: max(x, axis, keepdims), "The largest over axes.")
amin = made("amin", lambda x, axis=None, keepdims=False: min(x, axis, keepdims), "The smallest over axes.")


@drawable
def ptp(x, axis=None, keepdims=False):
    """The largest less the smallest."""
    x = tensor(x)
    return _ops.reduce_max(x, _axes(axis), keepdims) - _ops.reduce_min(x, _axes(axis), keepdims)


@drawable
def all(x, axis=None, keepdims=False):
    """Whether all are true."""
    return _ops.reduce_all(tensor(x, "bool"), _axes(axis), keepdims)


@drawable
def any(x, axis=None, keepdims=False):
    """Whether one is true."""
    return _ops.reduce_any(tensor(x, "bool"), _axes(axis), keepdims)


@drawable
def count_nonzero(x, axis=None):
    """How many are not 0."""
    x = tensor(x)
    return _ops.reduce_sum(_ops.cast(_ops.not_equal(x, _ops.zeros_like(x)), "int32"), _axes(axis))


@drawable
def logsumexp(x, axis=None, keepdims=False):
    """log(sum(exp(x))), without overflow."""
    return _arrays.reduce_logsumexp(floats(x), _axes(axis), keepdims)


@drawable
def average(x, axis=None, weights=None):
    """The mean, weighted."""
    x = floats(x)
    if weights is None:
        return _ops.reduce_mean(x, _axes(axis))
    weights = _ops.cast(tensor(weights), x.dtype)
    if weights.ndim == 1 and x.ndim > 1:
        weights = _ops.reshape(weights, [-1 if i == one_axis(axis, x.ndim) else 1 for i in range(x.ndim)])
    spread = weights + _ops.zeros_like(x)
    return _ops.reduce_sum(x * spread, _axes(axis)) / _ops.reduce_sum(spread, _axes(axis))


def _where_is(name, record, doc):
    def function(x, axis=None, keepdims=False):
        x = numbers(x)
        rank = x.ndim
        if axis is None:
            out = records[record](_ops.reshape(x, [-1]), 0, "int32")
            return _ops.reshape(out, [1] * rank) if keepdims else out
        out = records[record](x, one_axis(axis, rank), "int32")
        return _ops.expand_dims(out, one_axis(axis, rank)) if keepdims else out

    return made(name, function, doc)


argmax = _where_is("argmax", "argmax", "Where the largest stands.")
argmin = _where_is("argmin", "argmin", "Where the smallest stands.")


def _running(name, record, doc):
    def function(x, axis=None, dtype=None):
        x = tensor(x, dtype)
        x = _ops.cast(x, "int32") if x.dtype.name == "bool" else x
        return records[record](_ops.reshape(x, [-1]), 0) if axis is None else records[record](x, one_axis(axis, x.ndim))

    return made(name, function, doc)


cumsum = _running("cumsum", "cumsum", "The sums of all up to each.")
cumprod = _running("cumprod", "cumprod", "The products of all up to each.")


@drawable
def median(x, axis=None, keepdims=False):
    """The value in the middle."""
    return quantile(x, 0.5, axis, keepdims=keepdims)


@drawable
def quantile(x, q, axis=None, method="linear", keepdims=False):
    """The value below which the share q lies, between two values by `method`."""
    if method not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise ValueError(f"quantile: method must be linear, lower, higher, midpoint or nearest, got {method!r}")
    x = floats(x)
    shares = numpy.asarray(q.numpy() if hasattr(q, "numpy") else q, "float64")  # also where a function is traced
    axes = sorted(axes_of(axis, x.ndim))
    rest = [i for i in range(x.ndim) if i not in axes]
    sizes = x.shape.as_list()
    rows = _ops.reshape(_ops.transpose(x, rest + axes), [sizes[i] for i in rest] + [-1])
    ordered = records["sort"](rows, "ascending")
    parts = [_between(ordered, float(share), method) for share in shares.reshape(-1)]
    if keepdims:
        parts = [_ops.reshape(part, [1 if i in axes else sizes[i] for i in range(x.ndim)]) for part in parts]
    return parts[0] if shares.ndim == 0 else _ops.stack(parts, 0)


def _between(ordered, share, method):
    place = share * (ordered.shape[-1] - 1)
    low = int(place)
    high = builtins.min(low + 1, ordered.shape[-1] - 1)
    weight = place - low
    if method == "nearest":
        weight = float(builtins.round(place) - low)
    elif method != "linear" and weight:
        weight = {"lower": 0.0, "higher": 1.0, "midpoint": 0.5}[method]
    return ordered[..., low] * (1.0 - weight) + ordered[..., high] * weight


@drawable
def diff(a, n=1, axis=-1):
    """The differences of neighbours, n times."""
    a = tensor(a)
    axis = one_axis(axis, a.ndim)
    for _ in range(n):
        key = [slice(None)] * a.ndim
        after, before = list(key), list(key)
        after[axis], before[axis] = slice(1, None), slice(0, a.shape[axis] - 1)
        a = a[tuple(after)] - a[tuple(before)]
    return a


@drawable
def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The integral by trapezoids."""
    y = floats(y)
    axis = one_axis(axis, y.ndim)
    key = [slice(None)] * y.ndim
    after, before = list(key), list(key)
    after[axis], before[axis] = slice(1, None), slice(0, y.shape[axis] - 1)
    width = dx if x is None else diff(_ops.cast(tensor(x), y.dtype), axis=-1)
    if x is not None and width.ndim == 1:
        width = _ops.reshape(width, [-1 if i == axis else 1 for i in range(y.ndim)])
    return _ops.reduce_sum((y[tuple(after)] + y[tuple(before)]) * width / 2.0, axis)


@drawable
def allclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Whether all are nearly the same."""
    from .elementwise import isclose

    return _ops.reduce_all(isclose(x1, x2, rtol, atol, equal_nan))


def _ignoring_nan(name, reduce, neutral, doc):
    def function(x, axis=None, keepdims=False):
        x = floats(x)
        return reduce(_ops.where(_ops.is_nan(x), _ops.ones_like(x) * neutral, x), _axes(axis), keepdims)

    return made(name, function, doc)


nansum = _ignoring_nan("nansum", _ops.reduce_sum, 0.0, "The sum without NaN.")
nanprod = _ignoring_nan("nanprod", _ops.reduce_prod, 1.0, "The product without NaN.")
nanmax = _ignoring_nan("nanmax", _ops.reduce_max, float("-inf"), "The largest without NaN.")
nanmin = _ignoring_nan("nanmin", _ops.reduce_min, float("inf"), "The smallest without NaN.")


@drawable
def nanmean(x, axis=None, keepdims=False):
    """The mean without NaN."""
    x = floats(x)
    count = _ops.reduce_sum(_ops.cast(_ops.logical_not(_ops.is_nan(x)), x.dtype), _axes(axis), keepdims)
    return nansum(x, axis, keepdims) / count


@drawable
def nanvar(x, axis=None, keepdims=False):
    """The variance without NaN."""
    x = floats(x)
    return nanmean(_ops.square(x - nanmean(x, axis, True)), axis, keepdims)


@drawable
def nanstd(x, axis=None, keepdims=False):
    """The standard deviation without NaN."""
    return _ops.sqrt(nanvar(x, axis, keepdims))
