"""The protobuf encoding, for messages described by their fields: what ONNX files and checkpoints are made of."""
import struct

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
_FORMATS = {"float": "<f", "fixed32": "<I", "double": "<d"}
_MOST_NESTING = 100  # as in Google's readers


class Field:
    """`kind`: "int", "fixed32", "float", "double", "bytes", "str", or a message class; it may be repeated."""

    def __init__(self, number, kind, repeated=False):
        self.number, self.kind, self.repeated = number, kind, repeated

    def empty(self):
        if self.repeated:
            return []
        return {"int": 0, "fixed32": 0, "float": 0.0, "double": 0.0, "bytes": b"", "str": ""}.get(self.kind)


class Message:
    """Subclasses list their fields by name; every field has a value, empty if the file has none."""

    fields = {}
    one_of = False  # whether at most one field is given, which is then written even if its value is 0 or empty

    def __init__(self, **values):
        self._given = set(values) if self.one_of else ()
        for name, field in type(self).fields.items():
            setattr(self, name, values.pop(name, None) if name in values else field.empty())
        if values:
            raise TypeError(f"{type(self).__name__} has no field {', '.join(values)}")

    @classmethod
    def parse(cls, data, depth=0):
        """Raises ValueError where the bytes are no such message."""
        if depth > _MOST_NESTING:
            raise ValueError(f"messages are nested more than {_MOST_NESTING} deep: the file is of another kind, or damaged")
        message, by_number = cls(), {field.number: (name, field) for name, field in cls.fields.items()}
        data, at = memoryview(data), 0
        while at < len(data):
            key, at = _read_varint(data, at, cls)
            value, at = _read_value(data, at, key & 7, cls)
            if key >> 3 in by_number:
                message._take(*by_number[key >> 3], key & 7, value, depth)
        return message

    def _take(self, name, field, wire, value, depth):
        if field.repeated and wire == _BYTES and field.kind in ("int", "float", "double"):
            getattr(self, name).extend(_unpacked(value, field.kind, type(self)))
            return
        value = _decoded(value, wire, field.kind, type(self), name, depth)
        if field.repeated:
            getattr(self, name).append(value)
        else:
            setattr(self, name, value)

    def to_bytes(self):
        return b"".join(
            _encoded(field, value)
            for name, field in type(self).fields.items()
            for value in ([getattr(self, name)] if name in self._given else _values_to_write(field, getattr(self, name)))
        )


def _values_to_write(field, value):
    if not field.repeated:
        return [] if value is None or value == field.empty() else [value]
    if field.kind == "int" and value:
        return [b"".join(varint(v) for v in value)]  # packed
    if field.kind in ("float", "double") and value:
        return [struct.pack(f"<{len(value)}{'f' if field.kind == 'float' else 'd'}", *value)]
    return value


def _encoded(field, value):
    if isinstance(value, Message):
        value = value.to_bytes()
    elif isinstance(value, str):
        value = value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return varint(field.number << 3 | _BYTES) + varint(len(value)) + bytes(value)
    if field.kind in ("float", "fixed32"):
        return varint(field.number << 3 | _FOUR) + struct.pack(_FORMATS[field.kind], value)
    if field.kind == "double":
        return varint(field.number << 3 | _EIGHT) + struct.pack(_FORMATS["double"], value)
    return varint(field.number << 3 | _VARINT) + varint(value)


def varint(value):
    """A number in as few bytes as it needs, seven bits each."""
    value &= 2**64 - 1  # negative numbers have ten bytes
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def read_varint(data, at):
    """A number of as few bytes as it needs, and where the next one begins; None where it has no end."""
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
    return None


def _read_varint(data, at, cls):
    if found := read_varint(data, at):
        return found
    raise ValueError(f"the file is damaged or cut off: a number of {cls.__name__} has no end")


def _read_value(data, at, wire, cls):
    if wire == _VARINT:
        return _read_varint(data, at, cls)
    if wire == _BYTES:
        size, at = _read_varint(data, at, cls)
    elif wire in (_EIGHT, _FOUR):
        size = 8 if wire == _EIGHT else 4
    else:
        raise ValueError(f"{cls.__name__} has a field of the unknown kind {wire}: the file is of another kind, or damaged")
    if at + size > len(data):
        raise ValueError(f"the file is cut off: {cls.__name__} needs {size} bytes more, {len(data) - at} are left")
    return data[at : at + size], at + size


def _signed(value):
    value &= 2**64 - 1
    return value - 2**64 if value >= 2**63 else value


def _unpacked(data, kind, cls):
    if kind != "int":
        size = 4 if kind == "float" else 8
        if len(data) % size:
            raise ValueError(f"{cls.__name__} has a list of {len(data)} bytes, which is no multiple of {size}")
        return struct.unpack(f"<{len(data) // size}{'f' if size == 4 else 'd'}", data)
    values, at = [], 0
    while at < len(data):
        value, at = _read_varint(data, at, cls)
        values.append(_signed(value))
    return values


def _decoded(value, wire, kind, cls, name, depth):
    wanted = {"int": _VARINT, "float": _FOUR, "fixed32": _FOUR, "double": _EIGHT}.get(kind, _BYTES)
    if wire != wanted:
        raise ValueError(f"field {name} of {cls.__name__} has the wrong kind: the file is of another kind, or damaged")
    if kind == "int":
        return _signed(value)
    if kind in _FORMATS:
        return struct.unpack(_FORMATS[kind], value)[0]
    if kind == "bytes":
        return bytes(value)
    if kind == "str":
        return bytes(value).decode("utf-8", "replace")
    return kind.parse(value, depth + 1)
