"""How a batch is divided: by the measured speed of the devices, and by how long steps take."""
from .. import _tandem


class Shards:
    """Speeds of the replicas as last measured, and why the shards are as they are."""

    CHANGE = 0.15  # shares move only when a speed has changed by more: every new division is traced anew

    def __init__(self, devices):
        self.devices = list(devices)
        self.speeds = [1.0] * len(devices)
        self.reason = "equal shards: nothing has been measured yet"
        self.fixed = False  # by hand

    def sizes(self, rows):
        return _tandem.shard_sizes(rows, self.speeds)

    def measured(self, speeds):
        """Takes new speeds (rows a second); says whether the shards change."""
        old, new = sum(self.speeds), sum(speeds)
        moved = max(abs(s / new - o / old) / max(o / old, 1e-9) for s, o in zip(speeds, self.speeds)) if new > 0 else 0
        if moved <= self.CHANGE:
            return False
        self.set(speeds, "by measured speed: " + ", ".join(f"{text} ({s:.0f} rows/s)" for text, s in zip(self.shares(speeds), speeds)))
        return True

    def set(self, speeds, reason):
        self.speeds, self.reason = list(speeds), reason

    def leave(self, replica, why):
        """Without one replica from now on."""
        self.speeds = [s for i, s in enumerate(self.speeds) if i != replica]
        gone = self.devices.pop(replica)
        if sum(self.speeds) <= 0:
            self.speeds = [1.0] * len(self.devices)
        self.reason = f"{', '.join(self.shares(self.speeds))}: {gone} has left the group ({why})"

    def shares(self, speeds):
        total = sum(speeds)
        return [f"{d} {100 * s / total:.0f} %" for d, s in zip(self.devices, speeds)]


class Tuner:
    """Finds the shards with which steps are fastest, while training goes on: results do not depend on the division.

    Speeds measured alone do not know what replicas wait for one another; so each device in turn is tried with more and with
    less, at first much, then little, and what makes steps faster is kept. When steps become much slower later, it begins
    anew.
    """

    FACTORS = (1.25, 1.1, 1.04)  # by which a share is changed to try it
    GAIN = 0.99  # a step must become this much faster to count
    STRETCHES = 2  # a division is judged by the faster of so many
    DRIFT = 1.4  # so much slower, for a while, and the search begins anew
    PATIENCE = 20  # stretches

    def __init__(self, shards):
        self._shards = shards
        self._begin("")

    def _begin(self, cause):
        self._cause = cause
        self._best = None  # (seconds a step, speeds)
        self._factors = list(self.FACTORS) if min(self._shards.speeds) > 0 else []
        self._to_try = []  # (device, factor); a success is tried again before going on
        self._warm, self._seen = False, []
        self._slow = 0

    @property
    def best_seconds(self):
        return None if self._best is None else self._best[0]

    @property
    def settled(self):
        return self._best is not None and not self._to_try

    def note(self, steps, seconds):
        """Takes how long a stretch of steps was; True when the shards are other ones from now on."""
        if not self._warm:  # the first stretch with new shards prepares them
            self._warm = True
            return False
        each = seconds / max(steps, 1)
        if self.settled:
            return self._watch(each)
        self._seen.append(each)
        if len(self._seen) < self.STRETCHES:
            return False
        return self._judge(min(self._seen))

    def _watch(self, each):
        self._slow = self._slow + 1 if each > self.DRIFT * self._best[0] else 0
        if self._slow >= self.PATIENCE:
            self._begin(f"steps had become slower than {1e3 * self._best[0]:.2f} ms")
        return False

    def _judge(self, each):
        if self._best is None:
            self._best = (each, list(self._shards.speeds))
        elif each < self.GAIN * self._best[0]:
            self._best = (each, list(self._shards.speeds))
            device, factor = self._to_try[0]
            self._to_try = [trial for trial in self._to_try if trial != (device, 1 / factor)]  # the same way once more, not back
        else:
            self._to_try.pop(0)
        if not self._to_try and self._factors:
            factor = self._factors.pop(0)
            self._to_try = [(i, f) for i in range(1, len(self._shards.speeds)) for f in (factor, 1 / factor)]
        return self._try_next()

    def _try_next(self):
        before = list(self._shards.speeds)
        speeds = list(self._best[1])
        if self._to_try:
            device, factor = self._to_try[0]
            speeds[device] *= factor
        text = f"by how long steps take: {', '.join(self._shards.shares(speeds))}; the best so far is {1e3 * self._best[0]:.2f} ms a step"
        self._shards.set(speeds, text + (f" ({self._cause})" if self._cause else ""))
        self._warm, self._seen = speeds == before, []
        return speeds != before
