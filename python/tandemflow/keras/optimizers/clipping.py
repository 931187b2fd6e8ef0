"""Gradients made smaller."""
from ... import _ops


def clip_factors(squares, norm, global_norm):
    """What each gradient is multiplied by, given the sums of their squares: no longer than `norm`, or all together than `global_norm`.

    One that is not finite makes all NaN where they are clipped together.
    """
    if norm:
        return [float(norm) / _ops.maximum(_ops.sqrt(square), float(norm)) for square in squares]
    length = _ops.sqrt(_ops.add_n(squares))
    return [float(global_norm) * _ops.minimum(1.0 / length, 1.0 / global_norm) + (length - length)] * len(squares)
