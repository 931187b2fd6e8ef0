"""Inside, layers read their variables in the dtype they compute in."""
import contextlib

from ... import _tandem


@contextlib.contextmanager
def autocast(dtype):
    before = _tandem.set_autocast(dtype)
    try:
        yield
    finally:
        _tandem.set_autocast(before)
