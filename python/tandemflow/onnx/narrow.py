"""ONNX' dtypes of 8 bits and fewer that no tensor has: their values, kept exactly in a wider dtype that carries them."""
import functools
from typing import NamedTuple

import numpy as np

import tandemflow as tf

BFLOAT16 = 16


class Float(NamedTuple):
    """Sign, exponent, mantissa; `special` is what the highest codes are."""

    exponent: int
    mantissa: int
    bias: int
    special: str  # "inf": the highest exponent is inf and NaN; "nan": the last code is NaN; "negative zero": the code of -0 is; "": none is
    carrier = np.dtype(np.float32)

    @property
    def bits(self):
        return 1 + self.exponent + self.mantissa


class Integer(NamedTuple):
    bits: int
    signed: bool

    @property
    def carrier(self):
        return np.dtype(np.int8 if self.signed else np.uint8)

    @property
    def limits(self):
        return (-(2 ** (self.bits - 1)), 2 ** (self.bits - 1) - 1) if self.signed else (0, 2**self.bits - 1)


class PowerOfTwo(NamedTuple):
    """2 to the code less 127; the last code is NaN."""

    bits: int = 8
    carrier = np.dtype(np.float32)


# By ONNX' numbers: FLOAT8E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ, UINT4, INT4, FLOAT4E2M1, FLOAT8E8M0, UINT2, INT2.
FORMATS = {
    17: Float(4, 3, 7, "nan"), 18: Float(4, 3, 8, "negative zero"), 19: Float(5, 2, 15, "inf"), 20: Float(5, 2, 16, "negative zero"),
    21: Integer(4, False), 22: Integer(4, True), 23: Float(2, 1, 1, ""), 24: PowerOfTwo(), 25: Integer(2, False), 26: Integer(2, True),
}  # fmt: skip


class Narrow(NamedTuple):
    """A result of a narrow dtype: its values, and ONNX' number of the dtype."""

    value: object
    number: int


def decoded(codes, kind):
    """The values that codes, or bytes of several codes packed from the lowest bits on, stand for."""
    per_byte = 8 // kind.bits
    codes = np.asarray(codes, np.uint8)
    if per_byte > 1:
        codes = (codes[:, None] >> (np.arange(per_byte, dtype=np.uint8) * kind.bits)).ravel() & (2**kind.bits - 1)
    return _values(kind)[codes]


@functools.lru_cache(None)
def _values(kind):
    """The value of every code."""
    codes = np.arange(2**kind.bits)
    if isinstance(kind, Integer):
        return np.where(kind.signed & (codes > kind.limits[1]), codes - 2**kind.bits, codes).astype(kind.carrier)
    if isinstance(kind, PowerOfTwo):
        return np.where(codes == 255, np.nan, np.exp2(codes - 127.0)).astype(np.float32)
    half = 2 ** (kind.bits - 1)
    magnitude = np.concatenate([_magnitudes(kind)] * 2)
    values = np.where(codes >= half, -magnitude, magnitude).astype(np.float32)
    if kind.special == "negative zero":
        values[half] = np.nan
    return values


@functools.lru_cache(None)
def _magnitudes(kind):
    """The values of the codes without a sign."""
    codes = np.arange(2 ** (kind.bits - 1))
    exponent, mantissa = codes >> kind.mantissa, (codes & (2**kind.mantissa - 1)) / 2.0**kind.mantissa
    values = np.where(exponent == 0, np.exp2(1.0 - kind.bias) * mantissa, np.exp2(exponent - float(kind.bias)) * (1 + mantissa))
    if kind.special == "inf":
        values[exponent == 2**kind.exponent - 1] = np.nan
        values[(2**kind.exponent - 1) << kind.mantissa] = np.inf
    if kind.special == "nan":
        values[-1] = np.nan
    return values.astype(np.float32)


def narrowed(x, number, saturate=True, round_mode="up"):
    """The values of x in a narrow dtype: floats become the nearest ones, halfway the even one; integers lose their upper bits."""
    kind = FORMATS[number]
    if isinstance(kind, Integer):
        low = tf.bitwise.bitwise_and(tf.cast(x, tf.int32), 2**kind.bits - 1)
        return Narrow(tf.cast(tf.where(low > kind.limits[1], low - 2**kind.bits, low), tf.as_dtype(kind.carrier)), number)
    x = tf.cast(x, tf.float32)
    return Narrow(_power_of_two(x, saturate, round_mode) if isinstance(kind, PowerOfTwo) else _nearest(x, kind, saturate), number)


def _nearest(x, kind, saturate):
    finite = _magnitudes(kind)[np.isfinite(_magnitudes(kind))].astype(np.float64)
    beyond = np.inf if kind.special == "inf" else np.nan
    values = np.append(finite, finite[-1] if saturate or not kind.special else beyond)
    following = np.append(finite, 2 * finite[-1] - finite[-2])
    halfway = ((following[:-1] + following[1:]) / 2).astype(np.float32)
    # A number halfway goes up from an odd code: there the border lies just below.
    odd = np.arange(len(halfway)) % 2 == 1
    borders = np.where(odd, np.nextafter(halfway, np.float32(0)), halfway)
    place = tf.searchsorted(borders, tf.reshape(tf.abs(x), [-1]))
    size = tf.reshape(tf.gather(values.astype(np.float32), place), x.shape)
    signed = tf.where(tf.bitcast(x, tf.int32) < 0, -size, size)
    signed = signed + 0.0 if kind.special == "negative zero" else signed
    return tf.where(tf.math.is_nan(x), np.float32(np.nan if kind.special else -0.0), signed)


def _power_of_two(x, saturate, round_mode):
    """Of positive numbers; the exponent is a float's own, one more where what is below it counts."""
    bits = tf.bitcast(x, tf.int32)
    exponent, rest = tf.bitwise.right_shift(bits, 23), tf.bitwise.bitwise_and(bits, 0x7FFFFF)
    if round_mode == "up":
        more = rest > 0
    elif round_mode == "nearest":
        more = rest >= 0x400000
    else:
        more = tf.zeros_like(rest, tf.bool)
    code = exponent + tf.cast(more & (exponent < 255), tf.int32)
    highest = 254 if saturate else 255
    code = tf.where(tf.math.is_nan(x) | (x < 0), 255, tf.minimum(code, highest))
    return tf.gather(_values(PowerOfTwo()), code)


def quantized(x, zero, number):
    """x with the zero added, as the nearest values that the dtype has."""
    kind = FORMATS[number]
    if not isinstance(kind, Integer):
        return narrowed(x + tf.cast(zero, x.dtype), number)
    low, high = kind.limits
    return Narrow(tf.cast(tf.clip_by_value(tf.math.rint(x) + tf.cast(zero, x.dtype), low, high), tf.as_dtype(kind.carrier)), number)


def declared(graph):
    """ONNX' numbers of the dtypes of a graph's inputs and weights that NumPy has not, by name."""
    numbers = {tensor.name: tensor.data_type for tensor in graph.initializer}
    for info in graph.input:
        kind = info.type.tensor_type if info.type is not None else None
        if kind is not None:
            numbers[info.name] = kind.elem_type
    return {name: number for name, number in numbers.items() if number in FORMATS or number == BFLOAT16}
