"""keras.ops: what NumPy has and few need: divisors, parts of complex numbers, splits by name, statistics that leave NaN out."""
import math

import numpy as np

from ... import _complex, _ops
from ._convert import drawable, floats, one_axis, records, tensor, together, together_as_floats
from .creation import linspace
from .elementwise import nan_to_num
from .reductions import argmax, argmin, cumprod, cumsum, quantile
from .search import argsort
from .shapes import split

_EUCLIDS_STEPS = {"int8": 13, "uint8": 14, "int16": 24, "uint16": 25, "int32": 47, "uint32": 48, "int64": 92, "uint64": 94}


@drawable
def gcd(x1, x2):
    """The greatest common divisor."""
    a, b = together(x1, x2)
    a, b = _ops.abs(a), _ops.abs(b)
    zero, one = _ops.zeros_like(b), _ops.ones_like(b)
    for _ in range(_EUCLIDS_STEPS[a.dtype.name]):  # Fibonacci's numbers need the most
        done = _ops.equal(b, zero)
        a, b = _ops.where(done, a, b), _ops.where(done, zero, _ops.floormod(a, _ops.where(done, one, b)))
    return a


@drawable
def lcm(x1, x2):
    """The least common multiple."""
    a, b = together(x1, x2)
    divisor = gcd(a, b)
    return _ops.abs(_ops.floordiv(a, _ops.maximum(divisor, _ops.ones_like(divisor))) * b)


@drawable
def ldexp(x1, x2):
    """x1 times two to the power x2."""
    x, exponent = together_as_floats(x1, x2)
    return x * _ops.pow(_ops.ones_like(exponent) * 2, exponent)


def _is_complex(x):
    return isinstance(x, (_complex.ComplexTensor, complex)) or isinstance(x, np.ndarray) and x.dtype.kind == "c"


@drawable
def real(x):
    """The real part; of real numbers the numbers themselves."""
    return _complex.real(x) if _is_complex(x) else tensor(x)


@drawable
def imag(x):
    """The imaginary part; of real numbers zero."""
    return _complex.imag(x) if _is_complex(x) else _ops.zeros_like(tensor(x))


@drawable
def conjugate(x):
    """With the other sign of the imaginary part; of real numbers the numbers themselves."""
    return _complex.conj(x) if _is_complex(x) else tensor(x)


conj = conjugate


@drawable
def isreal(x):
    """True: all numbers here are real."""
    return _ops.ones_like(tensor(x), dtype="bool")


@drawable
def angle(x):
    """The direction in the plane: of real numbers 0, or pi for negative ones."""
    if _is_complex(x):
        return _complex.angle(x)
    x = floats(x)
    return _ops.where(x < 0, _ops.ones_like(x) * math.pi, _ops.zeros_like(x))


def vsplit(x, indices_or_sections):
    """Parts along the first axis."""
    return split(x, indices_or_sections, 0)


def hsplit(x, indices_or_sections):
    """Parts along the second axis, or the only one."""
    return split(x, indices_or_sections, 0 if len(x.shape) == 1 else 1)


def dsplit(x, indices_or_sections):
    """Parts along the third axis."""
    return split(x, indices_or_sections, 2)


@drawable
def vander(x, N=None, increasing=False):
    """A row of powers for each number."""
    x = tensor(x)
    powers = np.arange(x.shape[0] if N is None else N)
    powers = powers if increasing else powers[::-1]
    return _ops.pow(_ops.expand_dims(x, -1), tensor(powers.copy(), x.dtype))


def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    """`num` numbers, each the same multiple of the one before."""
    start, stop = np.asarray(start, "float64"), np.asarray(stop, "float64")
    if np.any(start * stop <= 0):
        raise ValueError(f"geomspace: start and stop must have one sign and not be zero, got {start} and {stop}")
    out = _ops.exp(linspace(np.log(np.abs(start)), np.log(np.abs(stop)), num, endpoint, dtype="float64", axis=axis)) * np.sign(start)
    return _ops.cast(out, dtype or "float32")


def kaiser(x, beta):
    """The Kaiser window of x points."""
    return tensor(np.kaiser(int(x), float(beta)), "float32")


@drawable
def percentile(x, q, axis=None, method="linear", keepdims=False):
    """The value below which q of a hundred lie."""
    return quantile(x, np.asarray(q.numpy() if hasattr(q, "numpy") else q, "float64") / 100, axis, method, keepdims)


@drawable
def argpartition(x, kth, axis=-1):
    """Places in an order in which the kth stands where sorting puts it, smaller ones before it; here all are sorted."""
    return _ops.cast(argsort(x, axis), "int32")


@drawable
def correlate(x1, x2, mode="valid"):
    """The products of two sequences, one moved along the other, added up."""
    x, y = together_as_floats(x1, x2)
    n, m = x.shape[0], y.shape[0]
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"correlate: mode must be full, same or valid, got {mode!r}")
    if n < m:  # the longer stands still, and the result is turned around
        return _ops.reshape(correlate(y, x, mode), [-1])[::-1]
    around = {"full": (m - 1, m - 1), "same": (m // 2, (m - 1) // 2), "valid": (0, 0)}[mode]
    x = _ops.pad(x, [around])
    places = np.arange(x.shape[0] - m + 1)[:, None] + np.arange(m)
    return _ops.reduce_sum(_ops.gather(x, tensor(places.astype("int32"))) * y, -1)


def _without_nan(x, value):
    x = floats(x)
    return _ops.where(_ops.is_nan(x), _ops.ones_like(x) * value, x)


@drawable
def nancumsum(x, axis=None, dtype=None):
    """Sums up to each place; NaN counts as zero."""
    return cumsum(nan_to_num(x, posinf=math.inf, neginf=-math.inf), axis, dtype)


@drawable
def nancumprod(x, axis=None, dtype=None):
    """Products up to each place; NaN counts as one."""
    return cumprod(_without_nan(x, 1.0), axis, dtype)


@drawable
def nanargmax(x, axis=None, keepdims=False):
    """Where the largest number is; NaN is left out."""
    return argmax(_without_nan(x, -math.inf), axis, keepdims)


@drawable
def nanargmin(x, axis=None, keepdims=False):
    """Where the smallest number is; NaN is left out."""
    return argmin(_without_nan(x, math.inf), axis, keepdims)


@drawable
def nanquantile(x, q, axis=None, method="linear", keepdims=False):
    """The value below which the share q lies, of those that are not NaN."""
    x, share = floats(x), float(q)
    if axis is None:
        x, axis, shape = _ops.reshape(x, [-1]), 0, [1] * x.ndim
    else:
        axis = one_axis(axis, x.ndim)
        shape = [1 if i == axis else size for i, size in enumerate(x.shape.as_list())]
    order = [i for i in range(x.ndim) if i != axis] + [axis]
    rows = _ops.transpose(x, order)
    count = _ops.reduce_sum(_ops.cast(_ops.logical_not(_ops.is_nan(rows)), "int32"), -1, keepdims=True)
    ordered = records["sort"](_without_nan(rows, math.inf), "ascending")
    out = _ops.squeeze(_between_counted(ordered, count, share, method), [-1])
    return _ops.reshape(out, shape) if keepdims else out


def _between_counted(ordered, count, share, method):
    """As quantile does it, where each row has `count` numbers."""
    place = _ops.cast(_ops.maximum(count - 1, 0), ordered.dtype) * share
    low, high = _ops.floor(place), _ops.ceil(place)
    if method not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise ValueError(f"nanquantile: method must be linear, lower, higher, midpoint or nearest, got {method!r}")
    weight = {"linear": place - low, "lower": 0.0, "higher": 1.0, "midpoint": 0.5, "nearest": _ops.round(place) - low}[method]
    values = [_ops.gather(ordered, _ops.cast(at, "int32"), axis=-1, batch_dims=ordered.ndim - 1) for at in (low, high)]
    between = values[0] + _ops.where(_ops.equal(low, high), _ops.zeros_like(place), values[1] - values[0]) * weight
    return _ops.where(_ops.equal(count, 0), _ops.ones_like(between) * math.nan, between)


def nanpercentile(x, q, axis=None, method="linear", keepdims=False):
    """The value below which q of a hundred lie, of those that are not NaN."""
    return nanquantile(x, q / 100, axis, method, keepdims)


def nanmedian(x, axis=None, keepdims=False):
    """The number in the middle, of those that are not NaN."""
    return nanquantile(x, 0.5, axis, "linear", keepdims)
