"""What went into a softmax or sigmoid: losses of probabilities use it, because it is more exact and cheaper.

Notes are taken only inside a `with remembered():` block, as a training step is, and forgotten at its end.
"""
import contextlib

from ... import _replica

_state = _replica.thread_state()


@contextlib.contextmanager
def remembered():
    before = _state.__dict__.get("notes")
    _state.notes = {}
    try:
        yield
    finally:
        _state.notes = before


def remember(probabilities, logits, kind):
    """`kind` is "softmax" (over the last axis) or "sigmoid"."""
    notes = _state.__dict__.get("notes")
    if notes is not None:
        notes[id(probabilities)] = (probabilities, logits, kind)  # kept alive: its id is not given to another
    return probabilities


def logits_of(probabilities, kind):
    """The logits, or None."""
    note = (_state.__dict__.get("notes") or {}).get(id(probabilities))
    return note[1] if note and note[2] == kind else None
