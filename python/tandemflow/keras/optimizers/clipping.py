"""Gradients made smaller."""
from ... import _ops


def clip_by_norm(gradient, norm):
    """Not longer than `norm`."""
    length = _ops.sqrt(_ops.reduce_sum(_ops.square(gradient)))
    return gradient * (float(norm) / _ops.maximum(length, float(norm)))


def global_norm(gradients):
    """The length of all gradients as one vector."""
    return _ops.sqrt(_ops.add_n([_ops.reduce_sum(_ops.square(gradient)) for gradient in gradients]))


def clip_by_global_norm(gradients, norm):
    """All scaled by one factor, so that together they are not longer than `norm`; NaN if one is not finite."""
    length = global_norm(gradients)
    scale = float(norm) * _ops.minimum(1.0 / length, 1.0 / norm) + (length - length)
    return [gradient * scale for gradient in gradients]
