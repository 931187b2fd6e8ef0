"""keras.ops: elementwise functions."""
import math as _math

from ... import _ops
from ._convert import drawable, floats, made, records, tensor, together, together_as_floats

# Keras' name -> the record; integers become floats first.
_OF_FLOATS = {
    "exp": "exp", "expm1": "expm1", "log": "log", "log1p": "log1p", "sqrt": "sqrt", "rsqrt": "rsqrt", "sin": "sin",
    "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "erf": "erf", "erfc": "erfc",
    "reciprocal": "reciprocal", "floor": "floor", "ceil": "ceil",
}  # fmt: skip
_OF_ANY = {"negative": "negative", "sign": "sign"}
_PAIRS = {
    "add": "add", "subtract": "subtract", "multiply": "multiply", "maximum": "maximum", "minimum": "minimum",
    "equal": "equal", "not_equal": "not_equal", "less": "less", "less_equal": "less_equal", "greater": "greater",
    "greater_equal": "greater_equal",
}  # fmt: skip
_BITS = {
    "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor", "left_shift": "left_shift",
    "right_shift": "right_shift", "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift",
}  # fmt: skip
_PAIRS_OF_FLOATS = {"divide": "divide", "true_divide": "divide", "arctan2": "atan2", "divide_no_nan": "divide_no_nan"}
_LOGICAL = ("logical_and", "logical_or", "logical_xor")


def _of_one(op, convert):
    return lambda x: op(convert(x))


def _of_two(op, convert):
    return lambda x1, x2: op(*convert(x1, x2))


def _of_bits(op):
    return lambda x, y: op(*together(x, y))


def _as_bools(*values):
    return [tensor(value, "bool") for value in values]


def _define():
    scope = globals()

    def define(name, record, function):
        scope[name] = made(name, function, records[record].__doc__)

    for name, record in _OF_FLOATS.items():
        define(name, record, _of_one(records[record], floats))
    for name, record in _OF_ANY.items():
        define(name, record, _of_one(records[record], tensor))
    for name, record in _PAIRS.items():
        define(name, record, _of_two(records[record], together))
    for name, record in _PAIRS_OF_FLOATS.items():
        define(name, record, _of_two(records[record], together_as_floats))
    for name, record in _BITS.items():
        define(name, record, _of_bits(records[record]))
    for name in _LOGICAL:
        define(name, name, _of_two(records[name], _as_bools))


_define()


@drawable
def abs(x):
    """The absolute value."""
    x = tensor(x)
    return x if x.dtype.name == "bool" else records["abs"](x)


@drawable
def square(x):
    """x * x; bools are 0 and 1."""
    x = tensor(x)
    return records["square"](_ops.cast(x, "int32") if x.dtype.name == "bool" else x)


absolute = made("absolute", lambda x: abs(x), abs.__doc__)


@drawable
def power(x1, x2):
    """x1 to the power of x2."""
    x1, x2 = together(x1, x2)
    return records["pow"](x1, x2)


@drawable
def mod(x1, x2):
    """The remainder with the sign of x2."""
    return _ops.floormod(*together(x1, x2))


@drawable
def fmod(x1, x2):
    """The remainder with the sign of x1."""
    x1, x2 = together(x1, x2)
    quotient = x1 / x2 if x1.dtype.is_floating else _ops.truncatediv(x1, x2)
    return x1 - (trunc(quotient) if x1.dtype.is_floating else quotient) * x2


@drawable
def floor_divide(x1, x2):
    """floor(x1 / x2)"""
    return _ops.floordiv(*together(x1, x2))


@drawable
def logical_not(x):
    """Whether x is false."""
    return records["logical_not"](tensor(x, "bool"))


@drawable
def bitwise_not(x):
    """Every bit turned around."""
    return records["invert"](tensor(x))


bitwise_invert = bitwise_not


@drawable
def round(x, decimals=0):
    """To the nearest number with so many decimals, half to even."""
    x = tensor(x)
    if not x.dtype.is_floating:
        return x
    scale = 10.0**decimals
    return records["rint"](x) if decimals == 0 else records["rint"](x * scale) / scale


@drawable
def trunc(x):
    """Without what stands behind the point."""
    x = tensor(x)
    return x if not x.dtype.is_floating else records["sign"](x) * records["floor"](records["abs"](x))


@drawable
def clip(x, x_min, x_max):
    """Not below x_min, not above x_max."""
    x, low, high = together(x, x_min, x_max)
    return _ops.minimum(_ops.maximum(x, low), high)


def _by(name, doc, formula):
    globals()[name] = made(name, lambda x: formula(floats(x)), doc)


_by("log2", "The logarithm to base 2.", lambda x: records["log"](x) / _math.log(2.0))
_by("log10", "The logarithm to base 10.", lambda x: records["log"](x) / _math.log(10.0))
_by("exp2", "2 to the power of x.", lambda x: records["exp"](x * _math.log(2.0)))
_by("deg2rad", "Degrees as radians.", lambda x: x * (_math.pi / 180))
_by("rad2deg", "Radians as degrees.", lambda x: x * (180 / _math.pi))
_by("cbrt", "The cubic root.", lambda x: records["sign"](x) * records["abs"](x) ** (1 / 3))
_by("fabs", "The absolute value, as a float.", records["abs"])
_by("isnan", "Whether x is no number.", records["is_nan"])
_by("isinf", "Whether x is infinite.", records["is_inf"])
_by("isfinite", "Whether x is finite.", records["is_finite"])
_by("isposinf", "Whether x is positively infinite.", lambda x: _ops.logical_and(records["is_inf"](x), x > 0))
_by("isneginf", "Whether x is negatively infinite.", lambda x: _ops.logical_and(records["is_inf"](x), x < 0))
_by("sinc", "sin(pi x) / (pi x), 1 at 0.", lambda x: _sinc(x))
_by("signbit", "Whether x is negative.", lambda x: _ops.logical_or(x < 0, _ops.logical_and(_ops.equal(x, 0.0), 1.0 / x < 0)))


def _sinc(x):
    zero = _ops.equal(x, 0.0)
    y = _ops.where(zero, _ops.ones_like(x), x) * _math.pi
    return _ops.where(zero, _ops.ones_like(x), records["sin"](y) / y)


@drawable
def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    """x with numbers in place of NaN and infinities."""
    x = tensor(x)
    if not x.dtype.is_floating:
        return x
    largest = float(x.dtype.max)
    posinf, neginf = largest if posinf is None else posinf, -largest if neginf is None else neginf
    ones = _ops.ones_like(x)
    x = _ops.where(records["is_nan"](x), ones * nan, x)
    infinite = records["is_inf"](x)
    x = _ops.where(_ops.logical_and(infinite, x > 0), ones * posinf, x)
    return _ops.where(_ops.logical_and(infinite, x < 0), ones * neginf, x)


@drawable
def logaddexp(x1, x2):
    """log(exp(x1) + exp(x2)), without overflow."""
    x1, x2 = together_as_floats(x1, x2)
    return _ops.maximum(x1, x2) + records["log1p"](records["exp"](-records["abs"](x1 - x2)))


@drawable
def logaddexp2(x1, x2):
    """log2(2^x1 + 2^x2)"""
    x1, x2 = together_as_floats(x1, x2)
    return _ops.maximum(x1, x2) + log2(1.0 + exp2(-records["abs"](x1 - x2)))  # noqa: F821


@drawable
def hypot(x1, x2):
    """sqrt(x1^2 + x2^2), without overflow."""
    x1, x2 = (records["abs"](x) for x in together_as_floats(x1, x2))
    large, small = _ops.maximum(x1, x2), _ops.minimum(x1, x2)
    ratio = records["divide_no_nan"](small, large)
    return large * records["sqrt"](1.0 + ratio * ratio)


@drawable
def heaviside(x1, x2):
    """0 below 0, 1 above, x2 at 0."""
    x1, x2 = together_as_floats(x1, x2)
    step = _ops.cast(x1 > 0, x1.dtype)
    return _ops.where(_ops.equal(x1, 0.0), x2 + _ops.zeros_like(x1), step)


@drawable
def fmax(x1, x2):
    """The larger; a number if only one is NaN."""
    x1, x2 = together_as_floats(x1, x2)
    return _ops.where(records["is_nan"](x1), x2, _ops.where(records["is_nan"](x2), x1, _ops.maximum(x1, x2)))


@drawable
def fmin(x1, x2):
    """The smaller; a number if only one is NaN."""
    x1, x2 = together_as_floats(x1, x2)
    return _ops.where(records["is_nan"](x1), x2, _ops.where(records["is_nan"](x2), x1, _ops.minimum(x1, x2)))


@drawable
def isclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Whether the numbers are nearly the same."""
    x1, x2 = together_as_floats(x1, x2)
    near = records["abs"](x1 - x2) <= atol + rtol * records["abs"](x2)
    out = _ops.logical_or(_ops.equal(x1, x2), _ops.logical_and(near, records["is_finite"](x2)))
    return _ops.logical_or(out, _ops.logical_and(records["is_nan"](x1), records["is_nan"](x2))) if equal_nan else out


@drawable
def erfinv(x):
    """The inverse of erf."""
    x = floats(x)
    w = -records["log"]((1.0 - x) * (1.0 + x))
    near, far = w - 2.5, records["sqrt"](w) - 3.0
    return x * _ops.where(w < 5.0, _polynomial(near, _NEAR), _polynomial(far, _FAR))


# M. Giles: "Approximating the erfinv function", single precision.
_NEAR = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941)
_FAR = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682)


def _polynomial(x, coefficients):
    out = coefficients[0]
    for c in coefficients[1:]:
        out = out * x + c
    return out
