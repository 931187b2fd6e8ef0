"""tf.dtypes: dtypes, and tensors of another one."""
from . import _names
from ._dtypes import DType, as_dtype, bfloat16, bool, complex64, complex128, double, float16, float32, float64, half, int8, int16, int32, int64, string, uint8, uint16, uint32, uint64  # noqa: F401
from ._ops import cast  # noqa: F401


def saturate_cast(value, dtype, name=None):
    """Another dtype; what does not fit its range becomes the nearest value that does."""
    from . import _ops, _tandem

    value, wanted = _tandem.to_tensor(value), as_dtype(dtype)
    if wanted.is_integer and value.dtype != wanted:
        low, high = int(wanted.min), int(wanted.max)
        if value.dtype.is_integer:
            low, high = max(low, int(value.dtype.min)), min(high, int(value.dtype.max))
        elif value.dtype.is_floating:  # the limit itself might be rounded up, beyond the range
            digits = {"float16": 11, "bfloat16": 8, "float32": 24}.get(value.dtype.name, 53)
            spare = max(0, high.bit_length() - digits)
            high = min(high >> spare << spare, int(value.dtype.max))
            low = max(low, int(value.dtype.min))
        value = _ops.minimum(_ops.maximum(value, low), high)
    return cast(value, wanted)


__getattr__, __dir__ = _names.lazy(__name__, _names.places_of(_complex="complex"))
