"""What the replicas of one run do together."""
import contextlib

from .._device import device
from .._replica import updated_on
from ._reduce import added


class Meeting:
    """Lives for one `strategy.run`: gathers what each replica brings, and acts when the last has come."""

    def __init__(self, replicas, strategy):
        self._replicas, self._strategy = replicas, strategy
        self._calls = []  # for each meeting point: what was brought so far
        self._at = 0  # which point the replica in progress comes to next

    def next_replica(self):
        self._at = 0

    def _brought(self, value):
        """What all replicas have brought to this point; None while some are missing."""
        if self._at == len(self._calls):
            self._calls.append([])
        brought = self._calls[self._at]
        self._at += 1
        brought.append(value)
        return brought if len(brought) == self._replicas else None

    def apply_together(self, apply, pairs):
        """apply(pairs) with the sums of the gradients."""
        brought = self._brought(list(pairs))
        if brought is None:
            return
        variables = [variable for _, variable in brought[0]]
        homes = self._strategy.homes_of(variables)
        with self._at_home(), updated_on(variables, homes):
            of_all = zip(*([gradient for gradient, _ in pairs] for pairs in brought))
            totals = [_sum(gradients, homes[k] if len(homes) > 1 else None) for k, gradients in enumerate(of_all)]
            apply(list(zip(totals, variables)))

    def update_together(self, update, values, rows):
        """update(*averages), weighted by rows."""
        brought = self._brought((list(values), rows))
        if brought is None:
            return
        if self._replicas == 1:
            update(*values)
            return
        total = max(sum(rows for _, rows in brought), 1)
        with self._at_home():
            of_all = zip(*([v * (rows / total) for v in values] for values, rows in brought))
            update(*(added(list(parts)) for parts in of_all))

    def _at_home(self):
        return device(self._strategy.home) if self._replicas > 1 else contextlib.nullcontext()


def _sum(gradients, home):
    present = [g for g in gradients if g is not None]
    if not present:
        return None
    with device(home) if home is not None else contextlib.nullcontext():
        return added(present)
