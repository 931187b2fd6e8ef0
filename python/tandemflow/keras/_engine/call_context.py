"""What nested layer calls share: who was called first, and whether this is training."""
import contextlib

from ... import _replica

_state = _replica.thread_state()
building = _replica.building  # whoever calls a layer first makes its variables; others wait for them


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


@contextlib.contextmanager
def probing(size):
    """Inside, calls only find out shapes, with `size` for the open ones: what layers add to the loss there is none of a batch."""
    outer = getattr(_state, "probe", None)
    _state.probe = size
    try:
        yield
    finally:
        _state.probe = outer


def is_probing():
    return getattr(_state, "probe", None) is not None


def open_sizes(shape):
    """The shape as the program knows it: None for a size that stands for an open one."""
    probe = getattr(_state, "probe", None)
    return shape if probe is None else tuple(None if size == probe else size for size in shape)


@contextlib.contextmanager
def named(owner):
    """Variables made inside have the name of this layer or model in their path."""
    stack = _state.__dict__.setdefault("owners", [])
    inside = bool(stack) and stack[-1] is owner
    if not inside:
        stack.append(owner)
    try:
        yield
    finally:
        if not inside:
            stack.pop()


def path_of(owner, name):
    """ "sequential/dense/kernel": the layers at work, outermost first."""
    owners = _state.__dict__.get("owners", [])
    if not owners or owners[-1] is not owner:
        owners = [*owners, owner]
    return "/".join([*(o.name for o in owners), name])
