"""Numbers kept as small integers with a scale and a zero."""
import numpy as np

import tandemflow as tf

from ..narrow import FORMATS, quantized
from ..support import as_tensor, op, shape_of
from ..tensors import dtype_of
from .linear import matmul_integer
from .windows import conv


def _along(values, x, axis, block=0):
    """One value for all, one a slice of the axis, or one a block of it, as something that broadcasts with x."""
    values, rank = as_tensor(values), len(x.shape)
    if block:
        length = shape_of(x)[axis]
        return tf.gather(tf.repeat(values, block, axis=axis), np.arange(length, dtype=np.int32), axis=axis)
    return tf.reshape(values, [-1 if i == axis else 1 for i in range(rank)]) if len(values.shape) == 1 and rank else values


def _rounded(x, zero, dtype):
    """x with the zero added, as the nearest integers that the dtype has."""
    limits = np.iinfo(dtype)
    return tf.cast(tf.clip_by_value(tf.math.rint(x) + tf.cast(zero, x.dtype), limits.min, limits.max), tf.as_dtype(dtype))


@op("QuantizeLinear")
def quantize(node, x, scale, zero=None):
    x, block = as_tensor(x), node.get("block_size", 0)
    axis = node.get("axis", 1) % max(len(x.shape), 1)
    offset = tf.zeros([], x.dtype) if zero is None else _along(zero, x, axis, block)
    shares = x / tf.cast(_along(scale, x, axis, block), x.dtype)
    number = node.get("output_dtype", 0) or (node.numbers[2] if zero is not None else None)
    if number in FORMATS:
        return quantized(shares, offset, number)
    if zero is not None:
        return _rounded(shares, offset, np.dtype(as_tensor(zero).dtype.as_numpy_dtype))
    return _rounded(shares, offset, dtype_of(number) if number else np.dtype(np.uint8))


@op("DequantizeLinear")
def dequantize(node, x, scale, zero=None):
    x, scale, block = as_tensor(x), as_tensor(scale), node.get("block_size", 0)
    axis = node.get("axis", 1) % max(len(x.shape), 1)
    numbers = tf.cast(x, scale.dtype)
    if zero is not None:
        numbers = numbers - tf.cast(_along(zero, x, axis, block), scale.dtype)
    return numbers * _along(scale, x, axis, block)


@op("DynamicQuantizeLinear")
def dynamic_quantize(node, x):
    """As eight bits that reach from the smallest to the largest value, 0 among them."""
    x = as_tensor(x)
    low, high = tf.minimum(tf.reduce_min(x), 0.0), tf.maximum(tf.reduce_max(x), 0.0)
    scale = (high - low) / 255.0
    zero = tf.math.rint(tf.clip_by_value(tf.math.divide_no_nan(-low, scale), 0.0, 255.0))
    return _rounded(tf.math.divide_no_nan(x, scale), zero, np.dtype(np.uint8)), scale, tf.cast(zero, tf.uint8)


def _scaled_back(y, a_scale, b_scale, y_scale, y_zero):
    y_zero = as_tensor(y_zero)
    factor = tf.cast(a_scale, tf.float32) * tf.cast(b_scale, tf.float32) / tf.cast(as_tensor(y_scale), tf.float32)
    return _rounded(tf.cast(y, tf.float32) * factor, y_zero, np.dtype(y_zero.dtype.as_numpy_dtype))


@op("QLinearMatMul")
def qlinear_matmul(node, a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    return _scaled_back(matmul_integer(node, a, b, a_zero, b_zero), as_tensor(a_scale), as_tensor(b_scale), y_scale, y_zero)


@op("ConvInteger")
def conv_integer(node, x, w, x_zero=None, w_zero=None):
    """Sums of products of eight bits: float64 holds them exactly."""
    x, w = (tf.cast(as_tensor(v), tf.float64) for v in (x, w))
    if x_zero is not None:
        x = x - tf.cast(as_tensor(x_zero), tf.float64)
    if w_zero is not None:
        w = w - tf.cast(_along(w_zero, w, 0), tf.float64)
    return tf.cast(conv(node, x, w), tf.int32)


@op("QLinearConv")
def qlinear_conv(node, x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias=None):
    y = conv_integer(node, x, w, x_zero, w_zero)
    if bias is not None:
        y = y + _along(bias, y, 1)
    return _scaled_back(y, as_tensor(x_scale), _along(w_scale, y, 1), y_scale, y_zero)
