"""What the replicas of one run do together."""
from .. import _ops
from .._device import device


class Meeting:
    """Lives for one `strategy.run`: gathers what each replica brings, and acts when the last has come."""

    def __init__(self, replicas, home):
        self._replicas, self._home = replicas, home
        self._calls = []  # for each meeting point: what was brought so far
        self._at = 0  # which point the replica in progress comes to next

    def next_replica(self):
        self._at = 0

    def apply_together(self, apply, pairs):
        pairs = list(pairs)
        if self._at == len(self._calls):
            self._calls.append([])
        brought = self._calls[self._at]
        self._at += 1
        brought.append(pairs)
        if len(brought) < self._replicas:
            return None
        with device(self._home):
            total = [(_sum([p[i][0] for p in brought]), pairs[i][1]) for i in range(len(pairs))]
            return apply(total)


def _sum(gradients):
    present = [g for g in gradients if g is not None]
    if not present:
        return None
    return present[0] if len(present) == 1 else _ops.add_n(present)
