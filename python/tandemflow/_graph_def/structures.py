"""Structures of arguments and results as SavedModels describe them."""
import collections

from .. import _dtypes
from .._specs import TensorSpec
from .._tensor_bundle import NAMES, NUMBERS
from ..errors import UnimplementedError
from . import messages as m


def dtype_of(number):
    """The dtype of TensorFlow's number; references to variables have 100 more."""
    name = NAMES.get(number % 100)
    if name is None:
        raise UnimplementedError(f"TensorFlow's dtype {number} is not supported")
    return _dtypes.as_dtype(name)


def _named_tuple(message):
    kind = collections.namedtuple(message.name, [pair.key for pair in message.values])
    return kind(*[value_of(pair.value) for pair in message.values])


def _refused(message):
    raise UnimplementedError(f"a function takes or gives a {message.type_spec_class_name or 'composite tensor'}, which is not read")


_READERS = {
    "tensor_spec_value": lambda m: TensorSpec(m.shape.sizes() if m.shape else [], dtype_of(m.dtype), m.name or None),
    "tuple_value": lambda m: tuple(map(value_of, m.values)),
    "list_value": lambda m: list(map(value_of, m.values)),
    "dict_value": lambda m: {pair.key: value_of(pair.value) for pair in m.fields},
    "named_tuple_value": _named_tuple,
    "type_spec_value": _refused,
    "none_value": lambda m: None,
    "tensor_shape_value": lambda m: m.sizes(),
}


def value_of(message):
    """The structure, with a tf.TensorSpec for each tensor."""
    if message is None:
        return None
    for name, read in _READERS.items():
        if (part := getattr(message, name)) is not None:
            return read(part)
    if message.tensor_dtype_value:
        return dtype_of(message.tensor_dtype_value)
    return message.plain


def is_spec(value):
    return isinstance(value, TensorSpec)


def parts_of(value):
    """The items of a structure in the order in which tensors are flattened; None for a leaf."""
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    return list(value) if isinstance(value, (list, tuple)) else None


def specs_in(structure):
    """The tf.TensorSpecs of a structure, in order."""
    parts = parts_of(structure)
    if parts is None:
        return [structure] if is_spec(structure) else []
    return [spec for part in parts for spec in specs_in(part)]


def filled(structure, tensors):
    """The structure with the tensors, an iterator, in the places of the specs."""
    if isinstance(structure, dict):
        made = {key: filled(structure[key], tensors) for key in sorted(structure)}
        return {key: made[key] for key in structure}
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*[filled(part, tensors) for part in structure])
    if isinstance(structure, (list, tuple)):
        return type(structure)(filled(part, tensors) for part in structure)
    return next(tensors) if is_spec(structure) else structure


def message_of(value):
    """The structure as a message: what value_of reads."""
    if value is None:
        return m.Structure(none_value=m.Nothing())
    if isinstance(value, TensorSpec):
        return m.Structure(tensor_spec_value=m.SpecMessage(name=value.name or "", shape=m.Shape.of(value.shape), dtype=NUMBERS[value.dtype.name]))
    if isinstance(value, dict):
        return m.Structure(dict_value=m.Dictionary(fields=_pairs(value.items())))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return m.Structure(named_tuple_value=m.NamedTuple(name=type(value).__name__, values=_pairs(zip(value._fields, value))))
    if isinstance(value, (list, tuple)):
        parts = m.Structures(values=[message_of(part) for part in value])
        return m.Structure(list_value=parts) if isinstance(value, list) else m.Structure(tuple_value=parts)
    if isinstance(value, bool):
        return m.Structure(bool_value=int(value))
    if isinstance(value, int):
        return m.Structure(int64_value=value << 1 if value >= 0 else (-value << 1) - 1)
    if isinstance(value, float):
        return m.Structure(float64_value=value)
    if isinstance(value, str):
        return m.Structure(string_value=value)
    raise UnimplementedError(f"an argument or result of type {type(value).__name__}")


def _pairs(items):
    return [m.Pair(key=key, value=message_of(value)) for key, value in items]
