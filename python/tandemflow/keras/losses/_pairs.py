"""Targets and predictions made to fit each other."""
from ... import _ops, _tandem


def as_tensor(x, dtype=None):
    """The value as a tensor; the very same object if it is one of that dtype, so that notes about it stay valid."""
    if not isinstance(x, _tandem.Tensor):
        x = _tandem.to_tensor(x)
    return x if dtype is None or x.dtype == dtype else _ops.cast(x, dtype)


def same_rank(a, b):
    """Ranks that differ by a last axis of size 1 become the same; a vector gets that axis, others lose it."""
    if a.ndim == b.ndim + 1 and a.shape[-1] == 1:
        return (a, _tandem.expand_dims(b, -1)) if b.ndim == 1 else (_tandem.squeeze(a, [-1]), b)
    if b.ndim == a.ndim + 1 and b.shape[-1] == 1:
        return (_tandem.expand_dims(a, -1), b) if a.ndim == 1 else (a, _tandem.squeeze(b, [-1]))
    return a, b


def pair(y_true, y_pred):
    """Both as tensors of y_pred's dtype and of one rank."""
    y_pred = as_tensor(y_pred)
    return same_rank(as_tensor(y_true, y_pred.dtype), y_pred)


def smoothed(y_true, label_smoothing, classes):
    return y_true * (1.0 - label_smoothing) + label_smoothing / classes if label_smoothing else y_true


def check_axis(axis):
    if isinstance(axis, bool):
        raise ValueError(f"`axis` must be of type `int`. Received: axis={axis} of type {type(axis)}")


def kind_of_targets(y_true, y_pred):
    """ "binary", "sparse_categorical" or "categorical", by the shapes."""
    if y_pred.shape[-1] == 1:
        return "binary"
    is_sparse = len(y_true.shape) < len(y_pred.shape) or y_true.shape[-1] == 1
    return "sparse_categorical" if is_sparse else "categorical"
