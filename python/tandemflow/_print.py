"""tf.print."""
import struct
import sys

from . import _tandem
from .nest import _sorted_keys

# Names of streams as TensorFlow spells them.
_STREAMS = {"stdout": lambda: sys.stdout, "stderr": lambda: sys.stderr}


_ESCAPES = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "'": "\\'", "\\": "\\\\"})


def _float32(value):
    """Six digits where they say which number it is, else nine."""
    short = format(value, ".6g")
    return short if value != value or struct.pack("f", float(short)) == struct.pack("f", value) else format(value, ".9g")


def _float64(value):
    short = format(value, ".15g")
    return short if value != value or float(short) == value else format(value, ".17g")


def _number(value, of_float):
    if isinstance(value, bytes):
        return f'"{value.decode("utf-8", "replace").translate(_ESCAPES)}"'
    if isinstance(value, float):
        return of_float(value)
    return {True: "1", False: "0"}[value] if isinstance(value, bool) else str(value)


def _rows(values, most, indent, of_float):
    """Nested lists as TensorFlow prints them: the first and the last `most` of every axis."""
    if not isinstance(values, list):
        return _number(values, of_float)
    deep = bool(values) and isinstance(values[0], list)
    cut = most >= 0 and len(values) > 2 * most
    shown = [*values[:most], None, *values[len(values) - most :]] if cut else values
    texts = ["..." if item is None else _rows(item, most, indent + 1, of_float) for item in shown]
    return "[" + ("\n" * _depth(values) + " " * (indent + 1) if deep else " ").join(texts) + "]"


def _depth(values):
    """Axes below the first one."""
    return 1 + _depth(values[0]) if values and isinstance(values[0], list) else 0


def _ragged(values, most):
    """Rows of different lengths, with commas; floats have six digits, as TensorFlow prints these."""
    if isinstance(values, list):
        cut = most >= 0 and len(values) > 2 * most
        shown = [*values[:most], ..., *values[len(values) - most :]] if cut else values
        return "[" + ", ".join("..." if item is ... else _ragged(item, most) for item in shown) + "]"
    return f"{values:f}" if isinstance(values, float) else repr(values.decode("utf-8", "replace")) if isinstance(values, bytes) else str(values)


def _alone(value, most):
    """What is printed by itself: a string tensor without quotation marks."""
    is_string = isinstance(value, (_tandem.Tensor, _tandem.Variable)) and value.dtype.name == "string" and value.ndim == 0
    return value.numpy().decode("utf-8", "replace") if is_string else _text(value, most)


def _inside(value, most):
    """What stands in a list or dict."""
    return repr(value) if isinstance(value, str) else _text(value, most)


def _text(value, most):
    if hasattr(value, "row_splits") and hasattr(value, "to_list"):
        return _ragged(value.to_list(), most)
    if hasattr(value, "dense_shape") and hasattr(value, "indices"):
        parts = ", ".join(f"{name}={_text(part, most)}" for name, part in (("indices", value.indices), ("values", value.values), ("shape", value.dense_shape)))
        return f"'{type(value).__name__}({parts})'"
    if isinstance(value, (_tandem.Tensor, _tandem.Variable)):
        array = value.numpy()
        return _rows(array.tolist() if hasattr(array, "tolist") else array, most, 0, _float64 if value.dtype.name == "float64" else _float32)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_inside(value[key], most)}" for key in _sorted_keys(value)) + "}"
    if isinstance(value, (list, tuple)):
        items = ", ".join(_inside(item, most) for item in value)
        return f"[{items}]" if isinstance(value, list) else f"({items}{',' * (len(value) == 1)})"
    return value if isinstance(value, str) else repr(value)


def _stream(output_stream):
    """What to write to: a file object, or the path after file://."""
    if not isinstance(output_stream, str):
        return sys.stderr if output_stream is None else output_stream
    if output_stream.startswith("file://"):
        return output_stream[len("file://") :]
    if output_stream not in _STREAMS:
        raise ValueError(f"tf.print: no stream {output_stream!r}; use sys.stdout, sys.stderr or 'file://path'")
    return _STREAMS[output_stream]()


def _write(text, output_stream):
    stream = _stream(output_stream)
    if isinstance(stream, str):
        with open(stream, "a", encoding="utf-8") as file:
            file.write(text)
        return
    stream.write(text)
    stream.flush()


def tf_print(*inputs, output_stream=None, summarize=3, sep=" ", end="\n", name=None):
    """Prints tensors and other values to the standard error stream, as TensorFlow does; -1 for `summarize` prints all.

    In a traced function it prints each time the function runs.
    """

    def write(values):
        texts = [_alone(values[0], summarize)] if len(values) == 1 else [_text(value, summarize) for value in values]
        _write(sep.join(texts) + end, output_stream)

    if _tandem.executing_eagerly():
        return write(inputs)
    _stream(output_stream)  # a wrong one is seen at once
    slots, tensors = _with_slots(list(inputs))
    _tandem.python_call(lambda values: write(_filled(slots, values)) or [], tensors, [], None)


class _Place(int):
    """Where a tensor stands in the list of all."""


def _with_slots(value):
    """The structure with places instead of tensors, and the tensors."""
    tensors = []

    def walk(item):
        if isinstance(item, (_tandem.Tensor, _tandem.Variable)):
            tensors.append(_tandem.to_tensor(item))
            return _Place(len(tensors) - 1)
        if isinstance(item, dict):
            return {key: walk(part) for key, part in item.items()}
        if isinstance(item, (list, tuple)):
            return type(item)(map(walk, item)) if not hasattr(item, "_fields") else tuple(map(walk, item))
        return item

    return walk(value), tensors


def _filled(structure, tensors):
    if isinstance(structure, _Place):
        return tensors[structure]
    if isinstance(structure, dict):
        return {key: _filled(part, tensors) for key, part in structure.items()}
    if isinstance(structure, (list, tuple)):
        return type(structure)(_filled(part, tensors) for part in structure)
    return structure
