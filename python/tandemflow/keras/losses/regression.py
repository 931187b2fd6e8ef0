"""Losses of numbers, one value a row."""
from ... import _ops, _tandem
from ..._ops import records, reduce_max, reduce_mean, reduce_sum, square
from .._engine.floats import epsilon
from ._pairs import pair


def mean_squared_error(y_true, y_pred):
    """mean((y_true - y_pred)^2)"""
    return reduce_mean(records["squared_difference"](*pair(y_true, y_pred)), -1)


def mean_absolute_error(y_true, y_pred):
    """mean(|y_true - y_pred|)"""
    y_true, y_pred = pair(y_true, y_pred)
    return reduce_mean(_ops.abs(y_true - y_pred), -1)


def mean_absolute_percentage_error(y_true, y_pred):
    """100 * mean(|(y_true - y_pred) / y_true|)"""
    y_true, y_pred = pair(y_true, y_pred)
    return reduce_mean(_ops.abs((y_true - y_pred) / _ops.maximum(_ops.abs(y_true), epsilon())), -1) * 100.0


def mean_squared_logarithmic_error(y_true, y_pred):
    """mean((log(y_true + 1) - log(y_pred + 1))^2)"""
    # In float32 at least: Keras' epsilon is none in half a float's digits.
    both = (_ops.cast(y, "float32") if y.dtype.size == 2 else y for y in pair(y_true, y_pred))
    y_true, y_pred = (_ops.log(_ops.maximum(y, epsilon()) + 1.0) for y in both)
    return reduce_mean(square(y_pred - y_true), -1)


def huber(y_true, y_pred, delta=1.0):
    """mean(e^2 / 2) for errors e up to delta, and straight beyond."""
    y_true, y_pred = pair(y_true, y_pred)
    if not delta > 0:
        raise ValueError(f"huber: delta must be positive, got {delta}")
    return reduce_mean(records["huber_terms"](y_true, y_pred, _tandem.to_tensor(float(delta), y_pred.dtype)), -1)


def log_cosh(y_true, y_pred):
    """mean(log(cosh(y_pred - y_true)))"""
    return reduce_mean(records["log_cosh_terms"](*pair(y_true, y_pred)), -1)


def poisson(y_true, y_pred):
    """mean(y_pred - y_true * log(y_pred))"""
    return reduce_mean(records["poisson_terms"](*pair(y_true, y_pred)), -1)


def cosine_similarity(y_true, y_pred, axis=-1):
    """-sum(y_true * y_pred) of vectors of length 1: -1 for the same direction."""
    y_true, y_pred = pair(y_true, y_pred)
    return -reduce_sum(unit(y_true, axis) * unit(y_pred, axis), axis)


def unit(x, axis):
    """Vectors along the axis, made of length 1."""
    return x * _ops.rsqrt(_ops.maximum(reduce_sum(x * x, axis, True), 1e-12))


def _hinge_terms(y_true, y_pred):
    """0 and 1 count as -1 and 1, if there is nothing else among the labels."""
    y_true, y_pred = pair(y_true, y_pred)
    binary = _ops.cast(_ops.reduce_all(_ops.equal(square(y_true), y_true)), y_true.dtype)  # numbers that are their square
    return records["hinge_terms"](y_true, y_pred, binary)


def hinge(y_true, y_pred):
    """mean(max(1 - y_true * y_pred, 0)) for labels -1 and 1, or 0 and 1."""
    return reduce_mean(_hinge_terms(y_true, y_pred), -1)


def squared_hinge(y_true, y_pred):
    """mean(max(1 - y_true * y_pred, 0)^2) for labels -1 and 1, or 0 and 1."""
    return reduce_mean(square(_hinge_terms(y_true, y_pred)), -1)


def categorical_hinge(y_true, y_pred):
    """max(largest wrong score - right score + 1, 0)"""
    y_true, y_pred = pair(y_true, y_pred)
    right, wrong = reduce_sum(y_true * y_pred, -1), reduce_max((1.0 - y_true) * y_pred, -1)
    return _ops.maximum(wrong - right + 1.0, 0.0)
