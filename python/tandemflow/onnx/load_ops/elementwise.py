"""Ops on each element by itself."""
import numpy as np

import tandemflow as tf

from ..support import as_tensor, known, known_scalar, op
from ..narrow import BFLOAT16, FORMATS, narrowed
from ..tensors import dtype_of


def _plain(name, function):
    op(name)(lambda node, *inputs: function(*(as_tensor(value) for value in inputs)))


for _name, _function in {
    "Abs": tf.abs, "Acos": tf.acos, "Acosh": tf.acosh, "Asin": tf.asin, "Asinh": tf.asinh, "Atan": tf.atan, "Atanh": tf.atanh,
    "Ceil": tf.math.ceil, "Cos": tf.cos, "Cosh": tf.cosh, "Erf": tf.math.erf, "Exp": tf.exp, "Floor": tf.floor, "Log": tf.math.log,
    "Neg": tf.negative, "Reciprocal": tf.math.reciprocal, "Relu": tf.nn.relu, "Round": tf.math.rint, "Sigmoid": tf.sigmoid, "Sign": tf.sign,
    "Sin": tf.sin, "Sinh": tf.sinh, "Softplus": tf.nn.softplus, "Softsign": tf.nn.softsign, "Sqrt": tf.sqrt, "Tan": tf.tan, "Tanh": tf.tanh,
    "HardSwish": tf.keras.activations.hard_silu, "IsNaN": tf.math.is_nan,
    "Mish": tf.keras.activations.mish, "Identity": tf.identity,
    "Add": tf.add, "Sub": tf.subtract, "Mul": tf.multiply, "And": tf.logical_and, "Or": tf.logical_or, "Xor": tf.math.logical_xor,
    "Not": tf.logical_not, "Less": tf.less, "LessOrEqual": tf.less_equal, "Greater": tf.greater,
    "GreaterOrEqual": tf.greater_equal, "Where": tf.where, "BitwiseAnd": tf.bitwise.bitwise_and, "BitwiseOr": tf.bitwise.bitwise_or,
    "BitwiseXor": tf.bitwise.bitwise_xor, "BitwiseNot": tf.bitwise.invert,
}.items():  # fmt: skip
    _plain(_name, _function)


@op("Equal")
def equal(node, a, b):
    a, b = as_tensor(a), as_tensor(b)
    if a.dtype == tf.string:
        return np.equal(known(a, node, "a string"), known(b, node, "a string"))
    return tf.equal(a, b)


def _is_integer(x):
    return not x.dtype.is_floating


@op("Div")
def div(node, a, b):
    """Of integers: towards zero."""
    a, b = as_tensor(a), as_tensor(b)
    return tf.truncatediv(a, b) if _is_integer(a) else a / b


@op("Pow")
def power(node, x, y):
    x, y = as_tensor(x), as_tensor(y)
    if x.dtype == y.dtype:
        return tf.pow(x, y)
    wide = tf.float64 if _is_integer(x) else x.dtype
    return tf.cast(tf.pow(tf.cast(x, wide), tf.cast(y, wide)), x.dtype)


@op("Mod")
def mod(node, a, b):
    a, b = as_tensor(a), as_tensor(b)
    if not node.get("fmod", 0):
        return tf.math.floormod(a, b)
    return tf.truncatemod(a, b)


def _folded(name, combine, finish=lambda total, count: total):
    @op(name)
    def fold(node, first, *rest):
        total = as_tensor(first)
        for value in rest:
            total = combine(total, as_tensor(value))
        return finish(total, len(rest) + 1)


_folded("Max", tf.maximum)
_folded("Min", tf.minimum)
_folded("Sum", tf.add)
_folded("Mean", tf.add, lambda total, count: total / count)


@op("Cast")
def cast(node, x):
    return _cast(node, as_tensor(x), node["to"])


@op("CastLike")
def cast_like(node, x, like):
    number = node.numbers[1]
    return tf.cast(as_tensor(x), as_tensor(like).dtype) if number is None else _cast(node, as_tensor(x), number)


def _cast(node, x, number):
    if number in FORMATS:
        return narrowed(x, number, bool(node.get("saturate", 1)), node.get("round_mode", "up"))
    dtype = tf.bfloat16 if number == BFLOAT16 else dtype_of(number)
    if dtype == np.object_:
        return tf.strings.as_string(x)
    if x.dtype == tf.string:
        return tf.strings.to_number(x, tf.as_dtype(dtype))
    return tf.cast(x, tf.as_dtype(dtype))


@op("Clip")
def clip(node, x, low=None, high=None):
    x = as_tensor(x)
    low = node.get("min") if low is None else low
    high = node.get("max") if high is None else high
    if low is not None:
        x = tf.maximum(x, as_tensor(low, x.dtype))
    return x if high is None else tf.minimum(x, as_tensor(high, x.dtype))


@op("LeakyRelu")
def leaky_relu(node, x):
    return tf.nn.leaky_relu(as_tensor(x), node.get("alpha", 0.01))


@op("PRelu")
def prelu(node, x, slope):
    x = as_tensor(x)
    return tf.where(x < 0, as_tensor(slope) * x, x)


@op("Elu")
def elu(node, x):
    x = as_tensor(x)
    return tf.where(x < 0, node.get("alpha", 1.0) * tf.math.expm1(tf.minimum(x, 0.0)), x)


@op("Celu")
def celu(node, x):
    x, alpha = as_tensor(x), node.get("alpha", 1.0)
    return tf.maximum(x, 0.0) + tf.minimum(alpha * tf.math.expm1(x / alpha), 0.0)


@op("Selu")
def selu(node, x):
    x, alpha, gamma = as_tensor(x), node.get("alpha", 1.67326319217681884765625), node.get("gamma", 1.05070102214813232421875)
    return gamma * tf.where(x > 0, x, alpha * tf.math.expm1(tf.minimum(x, 0.0)))


@op("Gelu")
def gelu(node, x):
    return tf.nn.gelu(as_tensor(x), approximate=node.get("approximate", "none") == "tanh")


@op("HardSigmoid")
def hard_sigmoid(node, x):
    return tf.clip_by_value(node.get("alpha", 0.2) * as_tensor(x) + node.get("beta", 0.5), 0.0, 1.0)


@op("Swish")
def swish(node, x):
    x = as_tensor(x)
    return x * tf.sigmoid(node.get("alpha", 1.0) * x)


@op("ThresholdedRelu")
def thresholded_relu(node, x):
    x = as_tensor(x)
    return tf.where(x > node.get("alpha", 1.0), x, tf.zeros_like(x))


@op("Shrink")
def shrink(node, x):
    x, bias, limit = as_tensor(x), node.get("bias", 0.0), node.get("lambd", 0.5)
    return tf.where(x < -limit, x + bias, tf.where(x > limit, x - bias, tf.zeros_like(x)))


@op("IsInf")
def is_inf(node, x):
    x = as_tensor(x)
    signs = (node.get("detect_positive", 1), node.get("detect_negative", 1))
    found = tf.math.is_inf(x)
    if signs == (1, 1):
        return found
    return tf.logical_and(found, tf.logical_or(tf.logical_and(x > 0, signs[0] == 1), tf.logical_and(x < 0, signs[1] == 1)))


@op("BitShift")
def bit_shift(node, x, y):
    """By the width or more, and by a negative number, no bit is left; of a negative number moved down, its sign."""
    x, y = as_tensor(x), as_tensor(y)
    beyond = tf.logical_or(y >= tf.constant(8 * x.dtype.size, y.dtype), y < tf.zeros_like(y))
    if node["direction"] == "LEFT":
        return tf.where(beyond, tf.zeros_like(x), tf.bitwise.left_shift(x, y))
    return tf.where(beyond, tf.where(x < tf.zeros_like(x), tf.bitwise.invert(tf.zeros_like(x)), tf.zeros_like(x)), tf.bitwise.right_shift(x, y))


@op("Dropout")
def dropout(node, x, ratio=None, training=None):
    """As in inference; training mode draws numbers of its own."""
    x = as_tensor(x)
    if training is None or not known_scalar(training, node, "training_mode"):
        return x, tf.ones_like(x, dtype=tf.bool)
    rate = 0.5 if ratio is None else float(known_scalar(ratio, node, "ratio"))
    kept = tf.nn.dropout(tf.ones_like(x), rate)
    return x * kept, kept != 0
