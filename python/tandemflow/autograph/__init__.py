"""tf.autograph: Python's control flow in traced functions. tf.function converts what it is given, and what that calls."""
from .. import _names
from . import experimental  # noqa: F401
from .convert import to_code  # noqa: F401


def to_graph(entity, recursive=True, experimental_optional_features=None):
    """The function converted, without tracing it."""
    from .convert import convert

    return convert(getattr(entity, "python_function", entity), strict=True)


def set_verbosity(level, alsologtostdout=False):
    """Conversion writes no log; taken for TensorFlow's sake."""


def trace(*args):
    """Prints its arguments while a function is traced."""
    print(*args)


__getattr__, __dir__ = _names.lazy(__name__)
