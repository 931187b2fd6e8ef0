"""Losses of whole masks and of whole batches of embeddings."""
from ... import _arrays, _ops
from ..._ops import reduce_sum
from .._engine.floats import epsilon
from ._pairs import as_tensor, pair


def _axes(axis):
    return list(axis) if isinstance(axis, tuple) else axis


def dice(y_true, y_pred, axis=None):
    """1 - 2 * |both| / (|one| + |other|) of masks; over all axes unless told otherwise."""
    y_true, y_pred = pair(y_true, y_pred)
    axis = _axes(axis)
    both = reduce_sum(y_true * y_pred, axis)
    return 1.0 - 2.0 * both / (reduce_sum(y_true, axis) + reduce_sum(y_pred, axis) + epsilon())


def tversky(y_true, y_pred, alpha=0.5, beta=0.5, axis=None):
    """1 - |both| / (|both| + alpha * |only true| + beta * |only predicted|) of masks."""
    y_true, y_pred = pair(y_true, y_pred)
    axis = _axes(axis)
    both = reduce_sum(y_true * y_pred, axis)
    only_true = reduce_sum((1.0 - y_pred) * y_true, axis)
    only_predicted = reduce_sum(y_pred * (1.0 - y_true), axis)
    return 1.0 - both / (both + only_true * float(alpha) + only_predicted * float(beta) + epsilon())


def circle(y_true, y_pred, ref_labels=None, ref_embeddings=None, remove_diagonal=True, gamma=80, margin=0.4):
    """Embeddings of length 1: those of one class near each other, those of different ones apart.

    Y. Sun et al.: "Circle Loss: A Unified Perspective of Pair Similarity Optimization".
    """
    y_pred = as_tensor(y_pred)
    labels = as_tensor(y_true, "int32")
    others = y_pred if ref_embeddings is None else as_tensor(ref_embeddings, y_pred.dtype)
    other_labels = labels if ref_labels is None else as_tensor(ref_labels, "int32")
    distances = _ops.maximum(1.0 - _ops.matmul(y_pred, others, transpose_b=True), 0.0)
    alike, different = _pair_masks(labels, other_labels, remove_diagonal)
    # The weight of a pair is how far it is from where it should be.
    pull = _ops.where(alike, _ops.maximum(margin + distances, 0.0), 0.0 * distances)
    push = _ops.where(different, _ops.maximum(1.0 + margin - distances, 0.0), 0.0 * distances)
    near = _log_sum_exp(alike, -float(gamma) * pull * (margin - distances))
    far = _log_sum_exp(different, float(gamma) * push * (1.0 - margin - distances))
    return _ops.softplus(near + far)


def _pair_masks(labels, other_labels, remove_diagonal):
    labels = _ops.reshape(labels, [-1, 1])
    alike = _ops.equal(labels, _ops.reshape(other_labels, [1, -1]))
    different = _ops.logical_not(alike)
    if remove_diagonal:
        itself = _ops.cast(_ops.eye(*alike.shape), "bool")
        alike = _ops.logical_and(alike, _ops.logical_not(itself))
    return alike, different


def _log_sum_exp(mask, values):
    """Over the last axis, of what the mask lets through; nothing gives -inf."""
    lowest = _ops.zeros_like(values) - float("inf")
    return _arrays.reduce_logsumexp(_ops.where(mask, values, lowest), 1)
