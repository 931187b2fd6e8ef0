"""Fourier transforms and the windows they are taken through."""
import numpy as np

import tandemflow as tf

from ..support import as_tensor, known_scalar, op, shape_of
from ..tensors import dtype_of


def _waves(rows, columns, length, dtype):
    """cos and sin of 2 pi row column / length."""
    turns = np.outer(np.arange(rows), np.arange(columns)) % length * (2 * np.pi / length)
    return tf.constant(np.cos(turns), dtype), tf.constant(np.sin(turns), dtype)


def _fitted(x, axis, length):
    """Cut off, or filled with zeros."""
    have = shape_of(x)[axis]
    if have >= length:
        return tf.gather(x, np.arange(length, dtype=np.int32), axis=axis) if have > length else x
    return tf.pad(x, [[0, length - have if i == axis else 0] for i in range(len(x.shape))])


def _transform(x, length, inverse, one_sided):
    """x [..., n, 1 or 2] over the axis before the last, as products with waves: [..., m, 2], or [..., m, 1] of the real inverse.

    In float64, as NumPy does it: what should be 0 is a difference of large numbers.
    """
    parts, dtype, x = shape_of(x)[-1], x.dtype, tf.cast(x, tf.float64)
    real_result = inverse and one_sided
    x = _fitted(x, len(x.shape) - 2, length // 2 + 1 if real_result else length)
    real, imaginary = x[..., 0], x[..., 1] if parts == 2 else None
    rows = shape_of(real)[-1]
    cos, sin = _waves(rows, length // 2 + 1 if one_sided and not inverse else length, length, x.dtype)
    if real_result:  # the other half is the conjugate of this one
        twice = np.full((rows, 1), 2.0)
        twice[0] = 1.0
        if length % 2 == 0:
            twice[-1] = 1.0
        cos, sin = cos * tf.constant(twice, x.dtype), sin * tf.constant(twice, x.dtype)
    sign = 1.0 if inverse else -1.0
    re = tf.matmul(real, cos)
    im = None if real_result else sign * tf.matmul(real, sin)
    if imaginary is not None:
        re = re - sign * tf.matmul(imaginary, sin)
        im = None if real_result else im + tf.matmul(imaginary, cos)
    y = tf.expand_dims(re, -1) if im is None else tf.stack([re, im], -1)
    return tf.cast(y / float(length) if inverse else y, dtype)


@op("DFT")
def dft(node, x, length=None, axis=None):
    x = as_tensor(x)
    rank = len(x.shape)
    at = (node.get("axis", 1) if node.opset < 20 else -2 if axis is None else int(known_scalar(axis, node, "axis"))) % rank
    inverse, one_sided = bool(node.get("inverse", 0)), bool(node.get("onesided", 0))
    if length is not None:
        length = int(known_scalar(length, node, "dft_length"))
    else:
        length = 2 * (shape_of(x)[at] - 1) if inverse and one_sided else shape_of(x)[at]
    order = [*(i for i in range(rank) if i not in (at, rank - 1)), at, rank - 1]
    y = _transform(x if order == list(range(rank)) else tf.transpose(x, order), length, inverse, one_sided)
    return tf.transpose(y, [order.index(i) for i in range(rank)])


@op("STFT")
def stft(node, x, step, window=None, length=None):
    x, step = as_tensor(x), int(known_scalar(step, node, "frame_step"))
    length = int(known_scalar(length, node, "frame_length")) if length is not None else shape_of(window)[0]
    frames = 1 + (shape_of(x)[1] - length) // step
    places = np.arange(frames)[:, None] * step + np.arange(length)
    y = tf.gather(x, places.astype(np.int32), axis=1)
    if window is not None:
        y = y * tf.reshape(as_tensor(window), [1, 1, -1, 1])
    return _transform(y, length, False, bool(node.get("onesided", 1)))


def _window(name, *shares):
    @op(name)
    def window(node, size):
        size = int(known_scalar(size, node, "size"))
        turns = np.arange(size) * (2 * np.pi / max(size if node.get("periodic", 1) else size - 1, 1))
        values = sum(share * np.cos(k * turns) for k, share in enumerate(shares))
        return np.asarray(values).astype(dtype_of(node.get("output_datatype", 1)))


_window("HannWindow", 0.5, -0.5)
_window("HammingWindow", 25 / 46, -21 / 46)
_window("BlackmanWindow", 0.42, -0.5, 0.08)


@op("MelWeightMatrix")
def mel_weight_matrix(node, *given):
    bins, length, rate, low, high = (known_scalar(v, node, name) for v, name in zip(given, ("num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz")))
    bins, length = int(bins), int(length)
    mels = 2595 * np.log10(1 + np.array([low, high]) / 700)
    hertz = 700 * (10 ** ((mels[0] + np.arange(bins + 2) * (mels[1] - mels[0]) / (bins + 2)) / 2595) - 1)
    edges = ((length + 1) * hertz // rate).astype(int)
    rows, weights = np.arange(length // 2 + 1), np.zeros((length // 2 + 1, bins))
    for k, (left, centre, right) in enumerate(zip(edges, edges[1:], edges[2:])):
        rising, falling = (rows >= left) & (rows <= centre), (rows >= centre) & (rows < right)
        weights[rising, k] = (rows[rising] - left) / (centre - left) if centre > left else 1.0
        if right > centre:
            weights[falling, k] = (right - rows[falling]) / (right - centre)
    return weights.astype(dtype_of(node.get("output_datatype", 1)))
