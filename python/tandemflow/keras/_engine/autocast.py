"""Inside, layers read their variables in the dtype they compute in."""
import contextlib

from ... import _replica, _tandem

_state = _replica.thread_state()


def is_active():
    return getattr(_state, "active", False)


@contextlib.contextmanager
def autocast(dtype):
    """None: as they are."""
    active, _state.active = is_active(), dtype is not None
    before = _tandem.set_autocast(dtype)
    try:
        yield
    finally:
        _tandem.set_autocast(before)
        _state.active = active
