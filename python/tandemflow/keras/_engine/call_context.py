"""What nested layer calls share: who was called first, and whether this is training."""
import threading

_state = threading.local()


class CallContext:
    """Lives as long as the outermost layer's call."""

    __slots__ = ("entry_layer", "training")

    def __init__(self, entry_layer, training):
        self.entry_layer = entry_layer
        self.training = training


def current():
    """The context of the call in progress, or None."""
    return getattr(_state, "context", None)


def set_current(context):
    _state.context = context


def training_phase():
    """Whether the layers that run now train; None outside of calls."""
    context = current()
    return None if context is None else context.training
