"""Whose outputs agree: what is timed must compute the same thing."""
import numpy as np


def difference(ours, theirs):
    """How far two lists of arrays are apart, as a share of the largest value; a text when they cannot be compared."""
    if len(ours) != len(theirs):
        return f"{len(ours)} outputs instead of {len(theirs)}"
    worst = 0.0
    for number, (a, b) in enumerate(zip(ours, theirs)):
        a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        if a.size != b.size:
            return f"output {number} has shape {list(a.shape)} instead of {list(b.shape)}"
        if not np.isfinite(a).all():
            return f"output {number} has values that are not finite"
        if a.size:
            scale = max(np.abs(b).max(), 1e-30)
            worst = max(worst, np.abs(a.ravel() - b.ravel()).max() / scale)
    return worst


def agree(ours, theirs, tolerance):
    apart = difference(ours, theirs)
    return not isinstance(apart, str) and apart <= tolerance


def reference(outputs, tolerance):
    """The column that most others agree with; of several such, the last, so that ours is judged by a peer."""
    return max(
        reversed(list(outputs)),
        key=lambda name: sum(agree(other, outputs[name], tolerance) for other in outputs.values()),
    )


def wrong(outputs, tolerance):
    """{column: in which way its outputs differ from those of the others}."""
    if len(outputs) < 2:
        return {}
    right = reference(outputs, tolerance)
    complaints = {}
    for name, arrays in outputs.items():
        apart = difference(arrays, outputs[right])
        if isinstance(apart, str):
            complaints[name] = f"wrong: {apart} ({right})"
        elif apart > tolerance:
            complaints[name] = f"wrong: differs from {right} by {apart:.2g} of the largest value, allowed is {tolerance:.0e}"
    return complaints
