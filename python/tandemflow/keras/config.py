"""keras.config: settings for all models."""
from .. import _names
from ._engine.data_format import image_data_format, set_image_data_format
from ._engine.floats import epsilon, floatx, set_epsilon, set_floatx
from ._engine.registry import enable_unsafe_deserialization
from .dtype_policies import dtype_policy, set_dtype_policy
from .utils.messages import is_interactive_logging_enabled, set_interactive_logging

__all__ = [
    "backend", "disable_flash_attention", "disable_interactive_logging", "disable_traceback_filtering", "dtype_policy", "enable_flash_attention",
    "enable_interactive_logging",
    "enable_traceback_filtering", "enable_unsafe_deserialization", "epsilon", "floatx", "image_data_format",
    "is_flash_attention_enabled", "is_interactive_logging_enabled", "is_nnx_enabled", "is_traceback_filtering_enabled", "max_epochs",
    "max_steps_per_epoch", "set_dtype_policy", "set_epsilon", "set_floatx", "set_image_data_format", "set_max_epochs", "set_max_steps_per_epoch",
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


_limits = {"max_epochs": None, "max_steps_per_epoch": None}


def max_epochs():
    """How many epochs fit runs at most; None: as many as it is told."""
    return _limits["max_epochs"]


def set_max_epochs(max_epochs):
    """Makes every fit end after so many epochs: for trying programs out."""
    _limits["max_epochs"] = max_epochs


def max_steps_per_epoch():
    """How many steps an epoch has at most; None: all."""
    return _limits["max_steps_per_epoch"]


def set_max_steps_per_epoch(max_steps_per_epoch):
    """Makes every epoch, evaluation and prediction end after so many steps: for trying programs out."""
    _limits["max_steps_per_epoch"] = max_steps_per_epoch


def limited(name, wanted):
    """What is wanted, or the limit of this name where it is less."""
    limit = _limits[name]
    return limit if limit and (not wanted or limit < wanted) else wanted


def is_nnx_enabled():
    """Whether variables are those of Flax NNX; never here."""
    return False


def enable_flash_attention():
    """Accepted; attention keeps no matrix of scores wherever it can."""


def disable_flash_attention():
    """Accepted; attention keeps no matrix of scores wherever it can."""


def is_flash_attention_enabled():
    """Whether attention without a matrix of scores is asked for by name; it is used wherever it can be."""
    return False


def enable_traceback_filtering():
    """Accepted; tracebacks are always whole."""


def disable_traceback_filtering():
    """Accepted; tracebacks are always whole."""


def is_traceback_filtering_enabled():
    """Whether tracebacks leave out frames of this package."""
    return False


__getattr__, __dir__ = _names.lazy(__name__)
