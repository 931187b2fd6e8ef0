"""Arrays in ONNX files."""
import os

import numpy as np

from .messages import Tensor
from .narrow import BFLOAT16, FORMATS, decoded

# ONNX' numbers of dtypes that NumPy has; arrays of bfloat16 are of float32, those of narrower dtypes of one that carries them.
NUMPY_DTYPES = {
    1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 8: np.object_, 9: np.bool_,
    10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64,
}  # fmt: skip
_NUMBERS = {np.dtype(dtype): number for number, dtype in NUMPY_DTYPES.items()}
_STRING = 8
_EXTERNAL = 1


def dtype_number(dtype):
    return _NUMBERS[np.dtype(dtype)]


def dtype_of(number):
    """The NumPy dtype of ONNX' number."""
    if number == BFLOAT16:
        return np.dtype(np.float32)
    if number in FORMATS:
        return FORMATS[number].carrier
    if number not in NUMPY_DTYPES:
        raise ValueError(f"ONNX dtype {number} is not supported")
    return np.dtype(NUMPY_DTYPES[number])


def to_array(tensor, folder=None):
    """The values of a tensor; `folder` is where files beside the model are looked for."""
    shape = [int(size) for size in tensor.dims]
    if any(size < 0 for size in shape):
        raise ValueError(f"tensor '{tensor.name}' has the impossible shape {shape}")
    if tensor.data_type == _STRING:
        return _shaped(np.array([s.decode("utf-8", "replace") for s in tensor.string_data], dtype=np.object_), shape, tensor)
    raw = _external(tensor, folder) if tensor.data_location == _EXTERNAL else tensor.raw_data
    if tensor.data_type in FORMATS:
        codes = np.frombuffer(raw, np.uint8) if raw else np.array(tensor.int32_data, np.int64).astype(np.uint8)
        return _shaped(decoded(codes, FORMATS[tensor.data_type])[: int(np.prod(shape, dtype=object))], shape, tensor)
    if tensor.data_type == BFLOAT16:
        halves = np.frombuffer(raw, "<u2") if raw else _halves(tensor)
        return _shaped((halves.astype(np.uint32) << 16).view(np.float32), shape, tensor)
    dtype = dtype_of(tensor.data_type)
    if raw:
        if len(raw) % dtype.itemsize:
            raise ValueError(f"tensor '{tensor.name}' has {len(raw)} bytes, which is no multiple of {dtype.itemsize}")
        return _shaped(np.frombuffer(raw, dtype.newbyteorder("<")).astype(dtype), shape, tensor)
    return _shaped(_listed(tensor, dtype), shape, tensor)


def _listed(tensor, dtype):
    if dtype == np.float16:
        return _halves(tensor).view(np.float16)
    values = {
        "f4": tensor.float_data, "f8": tensor.double_data, "i8": tensor.int64_data, "u8": tensor.uint64_data, "u4": tensor.uint64_data,
    }.get(dtype.str[1:], tensor.int32_data)  # fmt: skip
    return np.array(values).astype(dtype)


def _halves(tensor):
    """Bits of 16-bit floats: the lower half of each number."""
    return np.array(tensor.int32_data, np.int64).astype(np.uint16)


def _shaped(values, shape, tensor):
    if values.size != int(np.prod(shape, dtype=object)):
        raise ValueError(f"tensor '{tensor.name}' has {values.size} values, but its shape is {shape}")
    return values.reshape(shape)


def _external(tensor, folder):
    """Bytes from a file beside the model, never from elsewhere."""
    where = {entry.key: entry.value for entry in tensor.external_data}
    name = where.get("location", "")
    if folder is None or not name or os.path.isabs(name) or ".." in name.replace("\\", "/").split("/"):
        raise ValueError(f"tensor '{tensor.name}' is kept in the file '{name}', which is not beside the model")
    with open(os.path.join(folder, name), "rb") as file:
        file.seek(int(where.get("offset", 0)))
        return file.read(int(where["length"])) if "length" in where else file.read()


def from_array(array, name=""):
    """A tensor message with these values."""
    array = np.asarray(array)
    if array.dtype == np.object_:
        return Tensor(name=name, dims=list(array.shape), data_type=_STRING, string_data=[str(s).encode() for s in array.ravel()])
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return Tensor(name=name, dims=list(array.shape), data_type=dtype_number(array.dtype), raw_data=little.tobytes())
