"""How a batch is divided: by the measured speed of the devices."""


def shard_sizes(rows, speeds):
    """Rows for each replica, their sum `rows`: by speed, rounded so that the slowest finish is earliest."""
    total = sum(speeds)
    if rows <= 0 or total <= 0:
        return [0] * len(speeds)
    sizes = [int(rows * speed / total) for speed in speeds]
    for _ in range(rows - sum(sizes)):  # each remaining row goes where it is finished first
        sizes[min(range(len(speeds)), key=lambda i: (sizes[i] + 1) / speeds[i] if speeds[i] > 0 else float("inf"))] += 1
    return sizes


class Shards:
    """Speeds of the replicas as last measured, and why the shards are as they are."""

    CHANGE = 0.15  # shares move only when a speed has changed by more: every new division is traced anew

    def __init__(self, devices):
        self._devices = devices
        self.speeds = [1.0] * len(devices)
        self.reason = "equal shards: nothing has been measured yet"

    def sizes(self, rows):
        return shard_sizes(rows, self.speeds)

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
