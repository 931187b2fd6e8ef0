"""Names of layers and models: "dense", "dense_1", …"""
import re

from ... import _replica

_state = _replica.thread_state()


def snake_case(name):
    """Conv2D -> conv2d, MaxPooling2D -> max_pooling2d, LSTM -> lstm, PReLU -> p_re_lu."""
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def unique_name(prefix):
    """The prefix, with a number from the second time on."""
    counts = _state.__dict__.setdefault("counts", {})
    count = counts[prefix] = counts.get(prefix, -1) + 1
    return f"{prefix}_{count}" if count else prefix


def clear_session(free_memory=True):
    """Names of layers count from the beginning again."""
    _state.__dict__.clear()
