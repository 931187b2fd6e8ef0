"""tf.dtypes: dtypes, and tensors of another one."""
from . import _names
from ._dtypes import DType, as_dtype, bfloat16, bool, complex64, complex128, double, float16, float32, float64, half, int8, int16, int32, int64, string, uint8, uint16, uint32, uint64  # noqa: F401
from ._ops import cast  # noqa: F401


_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}  # binary


def _is_real(dtype):
    return dtype.is_integer or dtype.name in _DIGITS


def _cut(limit, digits):
    """The integer without what is beyond so many digits."""
    spare = max(0, abs(limit).bit_length() - digits)
    kept = abs(limit) >> spare << spare
    return kept if limit >= 0 else -kept


def saturate_cast(value, dtype, name=None):
    """Another dtype; what does not fit its range becomes the nearest value that does."""
    from . import _ops, _tandem

    value, wanted = _tandem.to_tensor(value), as_dtype(dtype)
    if _is_real(value.dtype) and _is_real(wanted) and (value.dtype.is_floating or value.dtype != wanted):
        low, high = (max(int(value.dtype.min), int(wanted.min)), min(int(value.dtype.max), int(wanted.max)))
        if value.dtype.is_floating:  # the limits themselves might be rounded, beyond the range
            low, high = (float(_cut(limit, _DIGITS[value.dtype.name])) for limit in (low, high))
        value = _ops.minimum(_ops.maximum(value, low), high)
    return cast(value, wanted)


__getattr__, __dir__ = _names.lazy(__name__, _names.places_of(_complex="complex"))
