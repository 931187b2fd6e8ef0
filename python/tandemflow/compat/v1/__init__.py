"""tf.compat.v1: what programs of the current version still take from there. Sessions and placeholders are not here."""
from ... import _names
from . import logging  # noqa: F401


def enable_eager_execution(*args, **kwargs):
    """Ops run eagerly anyway."""


enable_v2_behavior = enable_resource_variables = enable_v2_tensorshape = enable_eager_execution


def executing_eagerly_outside_functions():
    """Always."""
    return True


def set_random_seed(seed):
    """tf.random.set_seed."""
    from ... import random

    random.set_seed(seed)


def disable_eager_execution():
    """Refused: there are no sessions."""
    raise RuntimeError("there are no sessions here: write a tf.function where a graph is wanted")


disable_v2_behavior = disable_eager_execution
__getattr__, __dir__ = _names.lazy(__name__)
