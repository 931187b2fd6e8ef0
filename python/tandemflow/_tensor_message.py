"""tf.io.serialize_tensor and parse_tensor: tensors as TensorFlow's TensorProto messages."""
import math

from . import _dtypes, _tandem
from ._protobuf import Field, Message
from ._shape import TensorShape
from ._tensor_bundle import NAMES, NUMBERS, Dim, ShapeMessage, array_of
from .errors import InvalidArgumentError


class TensorMessage(Message):
    """The values are bytes in tensor_content, or numbers in the list of their dtype; the last number stands for all that follow."""

    fields = {
        "dtype": Field(1, "int"), "tensor_shape": Field(2, ShapeMessage), "tensor_content": Field(4, "bytes"),
        "float_val": Field(5, "float", repeated=True), "double_val": Field(6, "double", repeated=True), "int_val": Field(7, "int", repeated=True),
        "string_val": Field(8, "bytes", repeated=True), "int64_val": Field(10, "int", repeated=True), "bool_val": Field(11, "int", repeated=True),
        "half_val": Field(13, "int", repeated=True), "uint32_val": Field(16, "int", repeated=True), "uint64_val": Field(17, "int", repeated=True),
    }  # fmt: skip

    def SerializeToString(self):  # noqa: N802  protobuf's name
        return self.to_bytes()


_LISTS = {"float32": "float_val", "float64": "double_val", "int64": "int64_val", "bool": "bool_val", "uint32": "uint32_val", "uint64": "uint64_val"}
_HALVES = ("float16", "bfloat16")  # numbers in the lists are their bits


def message_bytes(tensor):
    name, sizes = tensor.dtype.name, tensor.shape.as_list()
    message = TensorMessage(dtype=NUMBERS[name], tensor_shape=ShapeMessage(dim=[Dim(size=size) for size in sizes]))
    if name == "string":
        message.string_val = array_of(tensor).ravel().tolist()
    else:
        message.tensor_content = array_of(tensor).tobytes()
    return message.to_bytes()


def tensor_of_message(message):
    """The tensor of a TensorMessage."""
    import numpy

    from . import _ops

    name = NAMES.get(message.dtype)
    if name is None:
        raise InvalidArgumentError(f"parse_tensor: TensorFlow's dtype {message.dtype} is not supported")
    sizes = [dim.size for dim in message.tensor_shape.dim] if message.tensor_shape else []
    count = math.prod(sizes)
    if name == "string":
        strings = (message.string_val + [b""] * count)[:count]
        return _ops.reshape(_tandem.to_tensor(strings, _dtypes.string), sizes)
    stored = numpy.dtype("uint16" if name in _HALVES else _dtypes.as_dtype(name).as_numpy_dtype)
    if message.tensor_content:
        if len(message.tensor_content) != count * stored.itemsize:
            raise InvalidArgumentError(f"parse_tensor: {len(message.tensor_content)} bytes do not make a tensor of {name} with shape {sizes}")
        values = numpy.frombuffer(message.tensor_content, stored)
    else:
        listed = getattr(message, "half_val" if name in _HALVES else _LISTS.get(name, "int_val"))
        values = numpy.zeros(count, stored)
        values[: len(listed)] = numpy.array(listed[:count]).astype(stored)
        if listed and len(listed) < count:
            values[len(listed) :] = values[len(listed) - 1]
    if name == "bfloat16":
        return _ops.cast(_tandem.to_tensor((values.astype(numpy.uint32) << 16).view(numpy.float32).reshape(sizes)), name)
    return _tandem.to_tensor((values.view(numpy.float16) if name == "float16" else values).reshape(sizes).copy())


def make_tensor_proto(values, dtype=None, shape=None, verify_shape=False, allow_broadcast=False):
    """A tensor as a message; SerializeToString() gives its bytes."""
    from . import _ops

    return TensorMessage.parse(message_bytes(_ops.constant(values, dtype, shape)))


def make_ndarray(tensor):
    """The array of a message that make_tensor_proto made."""
    return tensor_of_message(tensor).numpy()


def serialize_tensor(tensor, name=None):
    """The tensor as a string that parse_tensor and TensorFlow read."""

    def run(values):
        return [_tandem.to_tensor(message_bytes(values[0]))]

    tensors = [_tandem.to_tensor(tensor)]
    return run(tensors)[0] if _tandem.executing_eagerly() else _tandem.python_call(run, tensors, [(TensorShape([]), _dtypes.string)], None)[0]


def parse_tensor(serialized, out_type, name=None):
    """What serialize_tensor wrote, here or in TensorFlow."""
    data, wanted = _tandem.to_tensor(serialized).numpy(), _dtypes.as_dtype(out_type)
    try:
        tensor = tensor_of_message(TensorMessage.parse(data))
    except ValueError as error:
        if isinstance(error, InvalidArgumentError):
            raise
        raise InvalidArgumentError(f"Could not parse `serialized` as TensorProto, the string has {len(data)} bytes: {error}") from None
    if tensor.dtype != wanted:
        raise InvalidArgumentError(f"Type mismatch between parsed tensor ({tensor.dtype.name}) and dtype ({wanted.name})")
    return tensor
