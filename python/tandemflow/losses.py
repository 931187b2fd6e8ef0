"""tf.losses: the losses of Keras by its names and numerics, one value a row."""
from . import _tandem
from ._ops import (
    abs,
    cast,
    equal,
    log,
    maximum,
    minimum,
    records,
    reduce_max,
    reduce_mean,
    reduce_sum,
    rsqrt,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
    square,
    transpose,
    where,
)

_FUZZ = 1e-7  # probabilities are kept this far from 0 and 1 before their logarithm is taken


def _pair(y_true, y_pred):
    y_pred = _tandem.to_tensor(y_pred)
    y_true = _tandem.to_tensor_beside(y_true, y_pred.dtype)
    y_true = y_true if y_true.dtype == y_pred.dtype else cast(y_true, y_pred.dtype)
    if y_true.ndim == y_pred.ndim - 1 and y_pred.shape[-1] == 1:
        y_true = _tandem.expand_dims(y_true, -1)
    elif y_pred.ndim == y_true.ndim - 1 and y_true.shape[-1] == 1:
        y_pred = _tandem.expand_dims(y_pred, -1)
    return y_true, y_pred


def _clip(x, low, high):
    return minimum(maximum(x, low), high)


def _smoothed(y_true, label_smoothing, classes):
    return y_true * (1.0 - label_smoothing) + label_smoothing / classes if label_smoothing else y_true


def mean_squared_error(y_true, y_pred):
    """mean((y_true - y_pred)^2)"""
    y_true, y_pred = _pair(y_true, y_pred)
    return reduce_mean(square(y_true - y_pred), -1)


def mean_absolute_error(y_true, y_pred):
    """mean(|y_true - y_pred|)"""
    y_true, y_pred = _pair(y_true, y_pred)
    return reduce_mean(abs(y_true - y_pred), -1)


def mean_absolute_percentage_error(y_true, y_pred):
    """100 * mean(|(y_true - y_pred) / y_true|)"""
    y_true, y_pred = _pair(y_true, y_pred)
    return reduce_mean(abs((y_true - y_pred) / maximum(abs(y_true), _FUZZ)), -1) * 100.0


def mean_squared_logarithmic_error(y_true, y_pred):
    """mean((log(y_true + 1) - log(y_pred + 1))^2)"""
    y_true, y_pred = _pair(y_true, y_pred)
    return reduce_mean(square(log(maximum(y_pred, _FUZZ) + 1.0) - log(maximum(y_true, _FUZZ) + 1.0)), -1)


def huber(y_true, y_pred, delta=1.0):
    """mean(e^2 / 2) for errors e up to delta, and straight beyond."""
    y_true, y_pred = _pair(y_true, y_pred)
    if not delta > 0:
        raise ValueError(f"huber: delta must be positive, got {delta}")
    return reduce_mean(records["huber_terms"](y_true, y_pred, _tandem.to_tensor(float(delta), y_pred.dtype)), -1)


def log_cosh(y_true, y_pred):
    """mean(log(cosh(y_pred - y_true)))"""
    return reduce_mean(records["log_cosh_terms"](*_pair(y_true, y_pred)), -1)


def poisson(y_true, y_pred):
    """mean(y_pred - y_true * log(y_pred))"""
    return reduce_mean(records["poisson_terms"](*_pair(y_true, y_pred)), -1)


def kl_divergence(y_true, y_pred):
    """sum(y_true * log(y_true / y_pred))"""
    return reduce_sum(records["kl_divergence_terms"](*_pair(y_true, y_pred)), -1)


def _signed(y_true):
    """0 and 1 as -1 and 1, if there is nothing else among the labels."""
    binary = equal(reduce_mean(cast(equal(y_true, 0.0), y_true.dtype) + cast(equal(y_true, 1.0), y_true.dtype)), 1.0)
    return where(binary, 2.0 * y_true - 1.0, y_true)


def hinge(y_true, y_pred):
    """mean(max(1 - y_true * y_pred, 0)) for labels -1 and 1, or 0 and 1."""
    y_true, y_pred = _pair(y_true, y_pred)
    return reduce_mean(maximum(1.0 - _signed(y_true) * y_pred, 0.0), -1)


def squared_hinge(y_true, y_pred):
    """mean(max(1 - y_true * y_pred, 0)^2) for labels -1 and 1, or 0 and 1."""
    y_true, y_pred = _pair(y_true, y_pred)
    return reduce_mean(square(maximum(1.0 - _signed(y_true) * y_pred, 0.0)), -1)


def categorical_hinge(y_true, y_pred):
    """max(largest wrong score - right score + 1, 0)"""
    y_true, y_pred = _pair(y_true, y_pred)
    right, wrong = reduce_sum(y_true * y_pred, -1), reduce_max((1.0 - y_true) * y_pred, -1)
    return maximum(wrong - right + 1.0, 0.0)


def cosine_similarity(y_true, y_pred, axis=-1):
    """-sum(y_true * y_pred) of vectors of length 1: -1 for the same direction."""
    y_true, y_pred = _pair(y_true, y_pred)

    def unit(x):
        return x * rsqrt(maximum(reduce_sum(x * x, axis, True), 1e-12))

    return -reduce_sum(unit(y_true) * unit(y_pred), axis)


def binary_crossentropy(y_true, y_pred, from_logits=False, label_smoothing=0.0, axis=-1):
    """The mean cross entropy of 0/1 targets and probabilities, or logits."""
    y_true, y_pred = _pair(y_true, y_pred)
    terms = "sigmoid_cross_entropy_with_logits" if from_logits else "binary_crossentropy_terms"
    return reduce_mean(records[terms](_smoothed(y_true, label_smoothing, 2), y_pred), axis)


def categorical_crossentropy(y_true, y_pred, from_logits=False, label_smoothing=0.0, axis=-1):
    """The cross entropy of one-hot targets and class probabilities, or logits."""
    y_true, y_pred = _pair(y_true, y_pred)
    y_true = _smoothed(y_true, label_smoothing, y_pred.shape[-1])
    if from_logits:
        return softmax_cross_entropy_with_logits(y_true, y_pred, axis)
    p = _clip(y_pred / reduce_sum(y_pred, axis, True), _FUZZ, 1 - _FUZZ)
    return -reduce_sum(y_true * log(p), axis)


def sparse_categorical_crossentropy(y_true, y_pred, from_logits=False, ignore_class=None, axis=-1):
    """The cross entropy of class numbers and class probabilities, or logits."""
    y_pred, y_true = _tandem.to_tensor(y_pred), _tandem.to_tensor(y_true)
    if y_true.dtype.name not in ("int32", "int64"):
        y_true = cast(y_true, "int64")
    if y_true.ndim == y_pred.ndim and y_true.shape[-1] == 1:
        y_true = _tandem.squeeze(y_true, [-1])
    if axis not in (-1, y_pred.ndim - 1):
        axis %= y_pred.ndim
        y_pred = transpose(y_pred, [i for i in range(y_pred.ndim) if i != axis] + [axis])
    logits = y_pred if from_logits else log(_clip(y_pred, _FUZZ, 1 - _FUZZ))
    if ignore_class is None:
        return sparse_softmax_cross_entropy_with_logits(y_true, logits)
    counted = y_true != ignore_class
    each = sparse_softmax_cross_entropy_with_logits(where(counted, y_true, 0 * y_true), logits)
    return where(counted, each, 0.0 * each)


mse = MSE = mean_squared_error
mae = MAE = mean_absolute_error
mape = MAPE = mean_absolute_percentage_error
msle = MSLE = mean_squared_logarithmic_error
kld = KLD = kl_divergence
logcosh = log_cosh
