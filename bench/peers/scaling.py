"""How time and memory grow with batch size, width, depth, nodes and replicas: a process for every curve and library."""
import json
import math
import subprocess

from .figures import slope
from .libraries import TITLES

AGREE = 1e-2  # of the sum of the outputs' magnitudes


def run_curve(command, environment, timeout=300):
    """The answers of peers.point, a size each; where it ended early, the last one says why."""
    try:
        done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, timeout=timeout)
        text, why = done.stdout, done.returncode and (done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"])[-1][:200]
    except subprocess.TimeoutExpired as slow:
        text, why = (slow.stdout or b"").decode(), f"took more than {timeout} s"
    answers = [json.loads(line) for line in text.splitlines()]
    return answers + [{"error": why}] if why else answers


def run_sizes(curve, run):
    """`run(sizes)` gives the answers for some sizes: all at once, or one after the other until one fails."""
    answers = []
    for sizes in [[size] for size in curve.sizes] if curve.alone else [curve.sizes]:
        answers += run(sizes)
        if not answers or "seconds" not in answers[-1]:
            break
    return answers


def collect(curve, answers):
    """One curve from {column: its answers}; a column that does not reach the last size has a reason instead of figures."""
    found = {"doc": curve.doc, "axis": curve.axis, "sizes": curve.sizes, "seconds": {}, "megabytes": {}, "slopes": {}, "why": {}}
    for column, given in answers.items():
        if given and given[-1].get("missing"):
            found["why"][column] = "not written for this library"
        elif given and "error" in given[-1]:
            found["why"][column] = f"at {curve.sizes[len(given) - 1]}: {given[-1]['error']}"
        elif len(given) < len(curve.sizes):
            found["why"][column] = f"{len(given)} of {len(curve.sizes)} sizes were answered"
    whole = {column: given for column, given in answers.items() if column not in found["why"]}
    for column, given in whole.items():
        if complaint := disagreement(column, whole, curve.sizes):
            found["why"][column] = complaint
            continue
        for what in ("seconds", "megabytes"):
            found[what][column] = [max(answer[what], 1e-9) for answer in given]
        found["slopes"][column] = {what: slope(curve.sizes, found[what][column]) for what in ("seconds", "megabytes")}
    return found


def disagreement(column, answers, sizes):
    """Why `column` is wrong: another answer than the others, who agree among themselves; else None."""
    for number, size in enumerate(sizes):
        others = [given[number]["check"] for name, given in answers.items() if name != column]
        ours = answers[column][number]["check"]
        agree = len(others) > 1 and all(math.isclose(other, others[0], rel_tol=AGREE) for other in others)
        if agree and not math.isclose(ours, others[0], rel_tol=AGREE):
            return f"wrong: at {size} the outputs add up to {ours:.6g}, the others' to {others[0]:.6g}"
    return None


def lines(scaling):
    text = []
    for name, curve in scaling.items():
        text.append(f"{name}: {curve['doc']}; {curve['axis']} {', '.join(map(str, curve['sizes']))}")
        for column, slopes in curve["slopes"].items():
            times = ", ".join(f"{seconds * 1e3:.3g}" for seconds in curve["seconds"][column])
            memory = ", ".join(f"{value:.3g}" for value in curve["megabytes"][column])
            text.append(f"  {TITLES[column]:12} {times} ms (slope {slopes['seconds']:.2f}); {memory} MB (slope {slopes['megabytes']:.2f})")
        text += [f"  {TITLES[column]:12} {why}" for column, why in curve["why"].items()]
    return text
