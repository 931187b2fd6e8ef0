"""Ops that run at once, also while a step is traced: for variables that outlive the trace."""
import contextlib

from ... import _replica, _tandem


def lifted():
    """Where ops run at once anyway a device scope stays in force; random numbers are those of all replicas."""
    if not _tandem.executing_eagerly():
        return _tandem.LiftOut()
    return contextlib.nullcontext() if _replica.current() is None else _tandem.Draws()
