"""tf.print."""
import sys

from . import _tandem

# Names of streams as TensorFlow spells them.
_STREAMS = {"stdout": lambda: sys.stdout, "stderr": lambda: sys.stderr}


def _number(value):
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float):
        return format(value, ".6g")
    return {True: "1", False: "0"}[value] if isinstance(value, bool) else str(value)


def _rows(values, most, indent):
    """Nested lists as TensorFlow prints them: the first and the last `most` of every axis."""
    if not isinstance(values, list):
        return _number(values)
    deep = bool(values) and isinstance(values[0], list)
    cut = most >= 0 and len(values) > 2 * most
    shown = [*values[:most], None, *values[len(values) - most :]] if cut else values
    texts = ["..." if item is None else _rows(item, most, indent + 1) for item in shown]
    return "[" + ("\n" * _depth(values) + " " * (indent + 1) if deep else " ").join(texts) + "]"


def _depth(values):
    """Axes below the first one."""
    return 1 + _depth(values[0]) if values and isinstance(values[0], list) else 0


def _text(value, most):
    if isinstance(value, (_tandem.Tensor, _tandem.Variable)):
        array = value.numpy()
        return _rows(array.tolist() if hasattr(array, "tolist") else array, most, 0)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_text(item, most)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        items = ", ".join(_text(item, most) for item in value)
        return f"[{items}]" if isinstance(value, list) else f"({items})"
    return str(value)


def tf_print(*inputs, output_stream=None, summarize=3, sep=" ", end="\n", name=None):
    """Prints tensors and other values to the standard error stream, as TensorFlow does; -1 for `summarize` prints all.

    It prints at once and is no part of a graph: in a traced function it is refused, return the tensor and print it there.
    """
    if not _tandem.executing_eagerly():
        raise NotImplementedError(
            "tf.print cannot be part of a traced function; return the tensor and print it outside, call Python's print to "
            "see symbolic tensors once while tracing, or run with tf.config.run_functions_eagerly(True)"
        )
    text = sep.join(_text(value, summarize) for value in inputs) + end
    if isinstance(output_stream, str):
        if output_stream.startswith("file://"):
            with open(output_stream[len("file://") :], "a", encoding="utf-8") as file:
                file.write(text)
            return
        if output_stream not in _STREAMS:
            raise ValueError(f"tf.print: no stream {output_stream!r}; use sys.stdout, sys.stderr or 'file://path'")
        output_stream = _STREAMS[output_stream]()
    stream = sys.stderr if output_stream is None else output_stream
    stream.write(text)
    stream.flush()
