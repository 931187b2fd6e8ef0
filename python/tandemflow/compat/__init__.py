"""tf.compat: names of older versions."""
from .. import _names
from . import v1  # noqa: F401


def as_bytes(bytes_or_text, encoding="utf-8"):
    """Text as bytes."""
    return bytes_or_text.encode(encoding) if isinstance(bytes_or_text, str) else bytes(bytes_or_text)


def as_text(bytes_or_text, encoding="utf-8"):
    """Bytes as text."""
    return bytes_or_text if isinstance(bytes_or_text, str) else bytes(bytes_or_text).decode(encoding)


as_str = as_text


def as_str_any(value, encoding="utf-8"):
    """Anything as text."""
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


def __getattr__(name):
    if name == "v2":  # the names of this version
        import tandemflow

        return tandemflow
    return _lazy(name)


_lazy, __dir__ = _names.lazy(__name__)
