"""How a batch is divided: by the measured speed of the devices."""
from .. import _tandem


class Shards:
    """Speeds of the replicas as last measured, and why the shards are as they are."""

    CHANGE = 0.15  # shares move only when a speed has changed by more: every new division is traced anew

    def __init__(self, devices):
        self._devices = devices
        self.speeds = [1.0] * len(devices)
        self.reason = "equal shards: nothing has been measured yet"

    def sizes(self, rows):
        return _tandem.shard_sizes(rows, self.speeds)

    def measured(self, speeds):
        """Takes new speeds (rows a second); says whether the shards change."""
        old, new = sum(self.speeds), sum(speeds)
        moved = max(abs(s / new - o / old) / max(o / old, 1e-9) for s, o in zip(speeds, self.speeds)) if new > 0 else 0
        if moved <= self.CHANGE:
            return False
        self.speeds = list(speeds)
        shares = ", ".join(f"{d} {100 * s / new:.0f} % ({s:.0f} rows/s)" for d, s in zip(self._devices, speeds))
        self.reason = f"by measured speed: {shares}"
        return True
