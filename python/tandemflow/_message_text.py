"""Messages of data files as protobuf prints them: a field a line, what is inside another indented."""
import struct

_ESCAPES = {9: "\\t", 10: "\\n", 13: "\\r", 34: '\\"', 39: "\\'", 92: "\\\\"}


def number(value):
    """A float32 in as few digits as tell it from others, six or nine."""
    short = f"{value:.6g}"
    return short if struct.pack("f", float(short)) == struct.pack("f", value) else f"{struct.unpack('f', struct.pack('f', value))[0]:.9g}"


def quoted(value):
    """Bytes between quotation marks; what is no plain letter by its octal number."""
    return '"' + "".join(_ESCAPES.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}") for byte in value) + '"'


def block(name, inner):
    """A field that is a message."""
    return f"{name} {{\n" + "".join(f"  {line}\n" for line in inner.splitlines()) + "}\n"


def entries(name, mapping):
    """A field that is a mapping of names to messages."""
    return "".join(block(name, f"key: {quoted(key.encode())}\n" + block("value", repr(value))) for key, value in sorted(mapping.items()))
