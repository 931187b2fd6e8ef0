"""What is computed from measured times: pure functions, no clock."""
import math
from statistics import median

OURS = "tandemflow"


def summary(rounds):
    """`rounds`: for each round the times of its batches, in seconds."""
    return {
        "best": min(min(times) for times in rounds),
        "median": median(median(times) for times in rounds),
        "rounds": [min(times) for times in rounds],
    }


def ratio(ours, theirs, by="best"):
    """Best against best, or median against median; None where one is missing."""
    return ours[by] / theirs[by] if ours and theirs else None


def fastest(columns, names):
    """The quickest of `names` in {name: summary}, or None."""
    timed = [name for name in names if columns.get(name)]
    return min(timed, key=lambda name: columns[name]["best"], default=None)


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def spread(values):
    """Standard deviation as the median deviation estimates it: a single disturbed round does not count."""
    middle = median(values)
    return 1.4826 * median(abs(value - middle) for value in values)


def slope(xs, ys):
    """Of log y against log x by least squares: 1 means twice the size takes twice as long."""
    xs, ys = [math.log(x) for x in xs], [math.log(y) for y in ys]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    across = sum((x - mean_x) ** 2 for x in xs)
    if not across:
        return None
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)) / across


def highest(measured):
    """The limits of a machine from several measurements, which others may have disturbed: the most that was ever reached."""
    measured = [limits for limits in measured if "gflops" in limits]
    if not measured:
        return {}
    copies = zip(*(limits["copy"] for limits in measured))
    return {**measured[0], "gflops": max(limits["gflops"] for limits in measured),
            "copy": [max(entries, key=lambda entry: entry["gb_per_s"]) for entries in copies]}


def limit_seconds(flops, bytes_, limits):
    """The least time that the machine's measured peaks allow, or None where nothing is known.

    Bytes move at the bandwidth of the smallest measured copy that holds them: caches are faster than memory.
    """
    seconds = 0.0
    if flops and limits.get("gflops"):
        seconds = flops / (limits["gflops"] * 1e9)
    if bytes_ and limits.get("copy"):
        fitting = [entry for entry in limits["copy"] if entry["bytes"] >= bytes_] or [limits["copy"][-1]]
        seconds = max(seconds, bytes_ / (fitting[0]["gb_per_s"] * 1e9))
    return seconds or None
