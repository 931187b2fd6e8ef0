"""keras.backend: settings and small helpers; functions of Keras 2's backend are in keras.ops and tf."""
import collections

from .. import _dtypes, _names
from ._engine.data_format import image_data_format, set_image_data_format
from ._engine.floats import epsilon, floatx, set_epsilon, set_floatx
from ._engine.keras_tensor import is_keras_tensor
from ._engine.naming import clear_session
from .config import backend

_uids = collections.Counter()


def get_uid(prefix=""):
    """1 for the first call with a prefix, 2 for the second, …"""
    _uids[prefix] += 1
    return _uids[prefix]


def reset_uids():
    """Names of layers count from the beginning again."""
    _uids.clear()


def standardize_dtype(dtype):
    """The name of a dtype; None: floatx()."""
    return floatx() if dtype is None else _dtypes.as_dtype(dtype).name


def is_float_dtype(dtype):
    """Whether a dtype's name is that of floats."""
    return _dtypes.as_dtype(dtype).is_floating


def is_int_dtype(dtype):
    """Whether a dtype's name is that of integers."""
    return _dtypes.as_dtype(dtype).is_integer


def result_type(*dtypes):
    """The dtype that values of these dtypes have together."""
    from .ops._convert import common_dtype

    return common_dtype(*(_dtypes.as_dtype(standardize_dtype(getattr(dtype, "dtype", dtype))) for dtype in dtypes)) if dtypes else floatx()


def cast_to_floatx(x):
    """A NumPy array or a tensor in the default float dtype."""
    from .. import _ops, _tandem

    if isinstance(x, (_tandem.Tensor, _tandem.Variable)):
        return _ops.cast(x, floatx())
    import numpy as np

    return np.asarray(x, dtype=floatx())


def __getattr__(name):
    from ._backend_functions import functions

    if name in functions:
        return functions[name]
    raise AttributeError(_names.complaint(__name__, name, [*__all__, *functions]))


__all__ = [
    "backend", "cast_to_floatx", "clear_session", "epsilon", "floatx", "get_uid", "image_data_format", "is_float_dtype",
    "is_int_dtype", "is_keras_tensor", "reset_uids", "result_type", "set_epsilon", "set_floatx", "set_image_data_format",
    "standardize_dtype",
]  # fmt: skip
