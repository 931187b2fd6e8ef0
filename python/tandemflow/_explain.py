"""Why a tensor was computed where it was."""
from dataclasses import dataclass, fields

from . import _tandem


@dataclass(frozen=True)
class Explanation:
    """A decision: what ran where, with which kernel, why, and what else was considered."""

    op: str
    signature: str
    requested: str
    device: str
    kernel: str
    reason: str
    candidates: list
    text: str
    remedy: str

    def __str__(self):
        return self.text

    def __getitem__(self, name):
        return getattr(self, name)

    def keys(self):
        return [field.name for field in fields(self)]


def explain(tensor):
    """How the tensor came to be; print it for a sentence, or read its fields."""
    return Explanation(**_tandem.explain(tensor))


def last_decisions(most=16):
    """The most recent decisions of this thread, oldest first."""
    return [Explanation(**decision) for decision in _tandem.last_decisions(most)]
