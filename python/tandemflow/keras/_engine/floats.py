"""The dtype that floats have unless told otherwise, and the small number that keeps divisors and logarithms from zero."""
from ... import _dtypes

_floatx = "float32"
_epsilon = 1e-7
_ALLOWED = ("bfloat16", "float16", "float32", "float64")


def floatx():
    """The name of the default float dtype."""
    return _floatx


def set_floatx(value):
    """Sets the dtype of layers that are not told another: 'float16', 'float32' or 'float64'."""
    global _floatx
    name = value.name if isinstance(value, _dtypes.DType) else str(value)
    if name not in _ALLOWED:
        raise ValueError(f"Unknown `floatx` value: {value}. Expected one of {_ALLOWED}")
    _floatx = name


def epsilon():
    """The fuzz factor of numeric expressions."""
    return _epsilon


def set_epsilon(value):
    """Sets the small number that losses and metrics keep away from zero with."""
    global _epsilon
    _epsilon = float(value)


def standardize_dtype(dtype):
    """The name of a dtype, however it is given; of None the default."""
    if dtype is None:
        return floatx()
    return {bool: "bool", int: "int64", float: "float32", str: "string"}.get(dtype) or _dtypes.as_dtype(dtype).name
