"""Numbers of 4 and 8 bits: two in a byte, with a scale and a zero of their own, or as a quantised model would see them."""
import math

import numpy as np

from ... import _ops, _tandem, quantization


def _byte(dtype):
    if dtype not in ("int8", "uint8"):
        raise ValueError(f"Expected dtype to be 'int8' or 'uint8', but got '{dtype}'.")
    return np.dtype(dtype)


def pack_int4(arr, axis=0, dtype="int8"):
    """(bytes, their shape, length of the axis before): neighbours along the axis share a byte, the first in its low half."""
    kind = _byte(dtype)
    values = np.asarray(arr)
    if values.dtype != kind:
        raise TypeError(f"Expected {dtype} tensor for packing, got {values.dtype.name}.")
    values = np.moveaxis(values, axis, 0)
    length = len(values)
    values = np.concatenate([values, np.zeros((length % 2, *values.shape[1:]), kind)]).view(np.uint8)
    packed = np.moveaxis(((values[::2] & 15) | (values[1::2] & 15) << 4).view(kind), 0, axis)
    return _tandem.to_tensor(np.ascontiguousarray(packed)), tuple(packed.shape), length


def unpack_int4(packed, orig_len, axis=0, dtype="int8"):
    """The way back of pack_int4: -8 to 7 as int8, 0 to 15 as uint8."""
    kind = _byte(dtype)
    values = np.asarray(packed)
    if values.dtype.name not in ("int8", "uint8"):
        raise TypeError(f"Expected int8 or uint8 tensor for unpacking, got {values.dtype.name}")
    values = np.moveaxis(values.view(np.uint8), axis, 0)
    halves = np.stack([values & 15, values >> 4], 1).reshape(-1, *values.shape[1:])[:orig_len]
    halves = (halves ^ 8).view(np.int8) - np.int8(8) if dtype == "int8" else halves
    return _tandem.to_tensor(np.ascontiguousarray(np.moveaxis(halves.astype(kind), 0, axis)))


def abs_max_quantize_grouped_with_zero_point(inputs, block_size, value_range=(-8, 7), dtype="int8", epsilon=1e-7, to_numpy=False):
    """(whole numbers [rows, columns], scale, zero): each block of rows of a column has a scale and a zero of its own."""
    inputs = _tandem.to_tensor(inputs)
    rows, columns = inputs.shape.as_list()
    low, high = value_range
    blocks = math.ceil(rows / block_size)
    padded = _ops.reshape(_ops.pad(inputs, [[0, blocks * block_size - rows], [0, 0]]), [blocks, block_size, columns])
    least, most = _ops.reduce_min(padded, 1, True), _ops.reduce_max(padded, 1, True)
    constant = _ops.cast(_ops.equal(least, most), inputs.dtype)  # one value only: a range around it
    least, most = least - constant, most + constant
    scale = (most - least + epsilon) / float(high - low)
    zero = _ops.clip_by_value(_ops.round(-least / scale) + float(low), float(low), float(high))
    whole = _ops.clip_by_value(_ops.round(padded / scale) + zero, float(low), float(high))
    whole = _ops.reshape(_ops.cast(whole, dtype), [blocks * block_size, columns])[:rows]
    return whole, _ops.squeeze(scale, [1]), _ops.cast(_ops.squeeze(zero, [1]), "int8")


def fake_quant_with_min_max_vars(inputs, min_vals, max_vals, num_bits=8, narrow_range=False, axis=None):
    """The inputs in 2 ** num_bits steps between the values, which get gradients too; along an axis each channel has its own."""
    inputs = _tandem.to_tensor(inputs)
    low, high = (_ops.cast(_tandem.to_tensor(value), "float32") for value in (min_vals, max_vals))
    x = _ops.cast(inputs, "float32")
    if axis is None:
        out = quantization.fake_quant_with_min_max_vars(x, _ops.reshape(low, []), _ops.reshape(high, []), num_bits, narrow_range)
        return _ops.cast(out, inputs.dtype)
    order = list(range(x.ndim))
    order[axis], order[-1] = order[-1], order[axis]  # channels last and back are the same exchange
    out = quantization.fake_quant_with_min_max_vars_per_channel(_ops.transpose(x, order), low, high, num_bits, narrow_range)
    return _ops.cast(_ops.transpose(out, order), inputs.dtype)


def compute_float8_scale(amax, scale, dtype_max, margin=0):
    """The scale with which the largest absolute value becomes the largest of the dtype; the old one where there is none."""
    amax, scale = _tandem.to_tensor(amax), _tandem.to_tensor(scale)
    factor = float(dtype_max) / amax / float(2**margin)
    usable = _ops.logical_and(amax > 0.0, _ops.is_finite(amax))
    return 1.0 / _ops.where(usable, factor, 1.0 / scale)


def compute_float8_amax_history(x, amax_history):
    """The largest absolute values of the last steps, this one's first."""
    history = _tandem.to_tensor(amax_history)
    newest = _ops.cast(_ops.reduce_max(_ops.abs(_tandem.to_tensor(x))), history.dtype)
    return _ops.concat([_ops.reshape(newest, [1]), history[2:], history[:1]], 0)
