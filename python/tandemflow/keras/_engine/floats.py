"""The dtype that floats have unless told otherwise, and the small number that keeps divisors and logarithms from zero."""
from ... import _dtypes

_floatx = "float32"
_epsilon = 1e-7
_ALLOWED = ("bfloat16", "float16", "float32", "float64")


def floatx():
    """The name of the default float dtype."""
    return _floatx


def set_floatx(value):
    global _floatx
    name = value.name if isinstance(value, _dtypes.DType) else str(value)
    if name not in _ALLOWED:
        raise ValueError(f"Unknown `floatx` value: {value}. Expected one of {_ALLOWED}")
    _floatx = name


def epsilon():
    """The fuzz factor of numeric expressions."""
    return _epsilon


def set_epsilon(value):
    global _epsilon
    _epsilon = float(value)
