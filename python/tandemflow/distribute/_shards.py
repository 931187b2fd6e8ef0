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

    def shares(self, speeds):
        total = sum(speeds)
        return [f"{d} {100 * s / total:.0f} %" for d, s in zip(self.devices, speeds)]


class Tuner:
    """Finds the shards with which steps are fastest, while training goes on: results do not depend on the division.

    Speeds measured alone do not know what replicas wait for one another; so each device in turn is tried with a little more
    and a little less, and what makes steps faster is kept. When steps become much slower later, it begins anew.
    """

    FACTOR = 1.2  # by which a share is changed to try it
    GAIN = 0.97  # a step must become this much faster to count
    DRIFT = 1.4  # so much slower, for a while, and the search begins anew
    PATIENCE = 20  # stretches

    def __init__(self, shards):
        self._shards = shards
        self._begin("")

    def _begin(self, cause):
        self._cause = cause
        self._best = None  # (seconds a step, speeds)
        self._to_try = self._trials()
        self._warm = False
        self._slow = 0

    def _trials(self):
        """(device, factor) to try next; a success is tried again before going on."""
        count = len(self._shards.speeds)
        pairs = [(i, f) for i in range(1, count) for f in (self.FACTOR, 1 / self.FACTOR)]
        return pairs if count > 1 and min(self._shards.speeds) > 0 else []

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
        if self._best is None:
            self._best = (each, list(self._shards.speeds))
            return self._try_next()
        if self._to_try:
            return self._judge(each)
        self._slow = self._slow + 1 if each > self.DRIFT * self._best[0] else 0
        if self._slow < self.PATIENCE:
            return False
        self._begin(f"steps had become slower than {1e3 * self._best[0]:.2f} ms")
        return False

    def _judge(self, each):
        trial = self._to_try[0]
        if each < self.GAIN * self._best[0]:
            self._best = (each, list(self._shards.speeds))
            opposite = (trial[0], 1 / trial[1])
            self._to_try = [t for t in self._to_try if t != opposite]  # the same way once more, not back
        else:
            self._to_try.pop(0)
        return self._try_next()

    def _try_next(self):
        before = list(self._shards.speeds)
        speeds = list(self._best[1])
        if self._to_try:
            device, factor = self._to_try[0]
            speeds[device] *= factor
        text = f"by how long steps take: {', '.join(self._shards.shares(speeds))}; the best so far is {1e3 * self._best[0]:.2f} ms a step"
        self._shards.set(speeds, text + (f" ({self._cause})" if self._cause else ""))
        self._warm = speeds == before
        return speeds != before
