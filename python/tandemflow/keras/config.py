"""keras.config: settings for all models."""
from ._engine.data_format import image_data_format, set_image_data_format
from ._engine.floats import epsilon, floatx, set_epsilon, set_floatx
from ._engine.registry import enable_unsafe_deserialization
from .dtype_policies import dtype_policy, set_dtype_policy
from .utils.messages import is_interactive_logging_enabled, set_interactive_logging

__all__ = [
    "backend", "disable_interactive_logging", "disable_traceback_filtering", "dtype_policy", "enable_interactive_logging",
    "enable_traceback_filtering", "enable_unsafe_deserialization", "epsilon", "floatx", "image_data_format",
    "is_interactive_logging_enabled", "is_traceback_filtering_enabled", "set_dtype_policy", "set_epsilon", "set_floatx",
    "set_image_data_format",
]  # fmt: skip


def backend():
    """Keras programs choose what they do by this name; TandemFlow has TensorFlow's tensors and functions."""
    return "tensorflow"


def enable_interactive_logging():
    """Messages of training go to the console; so it is at first."""
    set_interactive_logging(True)


def disable_interactive_logging():
    """Messages of training go to the log of Python."""
    set_interactive_logging(False)


def enable_traceback_filtering():
    """Accepted; tracebacks are always whole."""


def disable_traceback_filtering():
    """Accepted; tracebacks are always whole."""


def is_traceback_filtering_enabled():
    """Whether tracebacks leave out frames of this package."""
    return False
