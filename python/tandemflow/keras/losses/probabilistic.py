"""Losses of probabilities, one value a row.

Where the probabilities came out of a softmax or sigmoid of this step, its logits are used: more exact and cheaper.
"""
import warnings

from ... import _ops, _tandem
from ..._ops import records, reduce_mean, reduce_sum
from .._engine.floats import epsilon
from .._engine.logits import logits_of
from ._pairs import as_tensor, check_axis, kind_of_targets, pair, smoothed


def kl_divergence(y_true, y_pred):
    """sum(y_true * log(y_true / y_pred))"""
    return reduce_sum(records["kl_divergence_terms"](*pair(y_true, y_pred)), -1)


def _clipped(probabilities):
    return _ops.clip_by_value(probabilities, epsilon(), 1 - epsilon())


def _binary_terms(y_true, y_pred, from_logits):
    logits = y_pred if from_logits else logits_of(y_pred, "sigmoid")
    if logits is not None:
        return records["sigmoid_cross_entropy_with_logits"](y_true, logits)
    return records["binary_crossentropy_terms"](y_true, y_pred)


def binary_crossentropy(y_true, y_pred, from_logits=False, label_smoothing=0.0, axis=-1):
    """The mean cross entropy of 0/1 targets and probabilities, or logits."""
    y_true, y_pred = pair(y_true, y_pred)
    return reduce_mean(_binary_terms(smoothed(y_true, label_smoothing, 2), y_pred, from_logits), axis)


def binary_focal_crossentropy(
    y_true, y_pred, apply_class_balancing=False, alpha=0.25, gamma=2.0, from_logits=False, label_smoothing=0.0, axis=-1
):
    """Binary cross entropy that counts what is right already less, by (1 - p)^gamma."""
    y_true, y_pred = pair(y_true, y_pred)
    y_true = smoothed(y_true, label_smoothing, 2)
    entropy = _binary_terms(y_true, y_pred, from_logits)
    if from_logits:
        y_pred = _ops.sigmoid(y_pred)
    right = y_true * y_pred + (1.0 - y_true) * (1.0 - y_pred)
    terms = (1.0 - right) ** float(gamma) * entropy
    if apply_class_balancing:
        terms = (y_true * float(alpha) + (1.0 - y_true) * (1.0 - alpha)) * terms
    return reduce_mean(terms, axis)


def _class_pair(name, y_true, y_pred, label_smoothing, axis):
    check_axis(axis)
    y_true, y_pred = pair(y_true, y_pred)
    if y_true.shape != y_pred.shape:
        raise ValueError(
            f"Arguments `target` and `output` must have the same shape. Received: target.shape={y_true.shape}, "
            f"output.shape={y_pred.shape}; for class numbers there is sparse_{name}"
        )
    if y_pred.shape[-1] == 1:
        warnings.warn(
            f"In loss {name}, expected y_pred.shape to be (batch_size, num_classes) with num_classes > 1. Received: "
            f"y_pred.shape={y_pred.shape}. Consider using 'binary_crossentropy' if you only have 2 classes.",
            SyntaxWarning,
            stacklevel=3,
        )
    return smoothed(y_true, label_smoothing, y_true.shape[-1]), y_pred


def categorical_crossentropy(y_true, y_pred, from_logits=False, label_smoothing=0.0, axis=-1):
    """The cross entropy of one-hot targets and class probabilities, or logits."""
    y_true, y_pred = _class_pair("categorical_crossentropy", y_true, y_pred, label_smoothing, axis)
    logits = y_pred if from_logits else _softmax_logits(y_pred, axis)
    if logits is not None:
        return _ops.softmax_cross_entropy_with_logits(y_true, logits, axis)
    return -reduce_sum(y_true * _ops.log(_clipped(y_pred / reduce_sum(y_pred, axis, True))), axis)


def _softmax_logits(y_pred, axis):
    return logits_of(y_pred, "softmax") if axis in (-1, y_pred.ndim - 1) else None


def categorical_focal_crossentropy(
    y_true, y_pred, alpha=0.25, gamma=2.0, from_logits=False, label_smoothing=0.0, axis=-1
):
    """Categorical cross entropy that counts what is right already less, by alpha * (1 - p)^gamma."""
    y_true, y_pred = _class_pair("categorical_focal_crossentropy", y_true, y_pred, label_smoothing, axis)
    if from_logits:
        y_pred = records["softmax"](y_pred, axis)
    p = _clipped(y_pred / reduce_sum(y_pred, axis, True))
    weight = (1.0 - p) ** float(gamma)
    if isinstance(alpha, (int, float)):
        weight = weight * float(alpha)
    else:
        weight = weight * as_tensor(alpha, y_pred.dtype)
    return reduce_sum(weight * (-y_true * _ops.log(p)), axis)


def sparse_categorical_crossentropy(y_true, y_pred, from_logits=False, ignore_class=None, axis=-1):
    """The cross entropy of class numbers and class probabilities, or logits."""
    y_pred, labels = as_tensor(y_pred), class_numbers(y_true)
    if labels.ndim == y_pred.ndim and labels.shape[axis] == 1:
        labels = _tandem.squeeze(labels, [axis])
    logits = y_pred if from_logits else _softmax_logits(y_pred, axis)
    if logits is None:
        logits = _ops.log(_clipped(y_pred))
    if axis not in (-1, logits.ndim - 1):
        axis %= logits.ndim
        logits = _ops.transpose(logits, [i for i in range(logits.ndim) if i != axis] + [axis])
    _check_labels_fit(labels, logits)
    if ignore_class is None:
        return _ops.sparse_softmax_cross_entropy_with_logits(labels, logits)
    counted = labels != int(ignore_class)
    each = _ops.sparse_softmax_cross_entropy_with_logits(_ops.where(counted, labels, 0 * labels), logits)
    return _ops.where(counted, each, 0.0 * each)


def class_numbers(y_true):
    """The labels as integers that ops take for classes."""
    y_true = as_tensor(y_true)
    return y_true if y_true.dtype.name in ("int32", "int64") else _ops.cast(y_true, "int64")


def _check_labels_fit(labels, logits):
    if labels.shape.as_list() != logits.shape.as_list()[:-1]:
        raise ValueError(
            "Argument `output` must have rank (ndim) `target.ndim + 1`, and their leading shapes must match. Received: "
            f"target.shape={labels.shape}, output.shape={logits.shape}"
        )


def crossentropy(y_true, y_pred):
    """The cross entropy that fits the shapes: binary, sparse or categorical."""
    return globals()[f"{kind_of_targets(y_true, y_pred)}_crossentropy"](y_true, y_pred)


def categorical_generalized_cross_entropy(y_true, y_pred, q):
    """(1 - p^q) / q of the probability p of the right class: between cross entropy and absolute error."""
    y_pred = as_tensor(y_pred)
    labels = _ops.one_hot(class_numbers(y_true), y_pred.shape[-1], dtype=y_pred.dtype)
    return (1.0 - reduce_sum(y_pred * labels, -1) ** float(q)) / float(q)
