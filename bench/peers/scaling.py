"""How time and memory grow with batch size, width, depth, nodes and replicas: a process for every point."""
import json
import math
import subprocess

from .figures import slope
from .libraries import TITLES

AGREE = 1e-2  # of the sum of the outputs' magnitudes


def run_point(command, environment, timeout=300):
    """{"seconds", "megabytes", "check"} or {"error"}."""
    try:
        done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"error": f"took more than {timeout} s"}
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"])[-1][:200]}
    return json.loads(done.stdout)


def collect(curve, columns, point):
    """One curve. `point(column, size)` measures; the first problem of a column ends it, and is kept as its reason."""
    found = {"doc": curve.doc, "axis": curve.axis, "sizes": curve.sizes, "seconds": {}, "megabytes": {}, "slopes": {}, "why": {}}
    answers = {size: {} for size in curve.sizes}
    for size in curve.sizes:
        for column in columns:
            if column in found["why"]:
                continue
            answer = point(column, size)
            if answer.get("missing"):
                found["why"][column] = "not written for this library"
            elif "error" in answer:
                found["why"][column] = f"at {size}: {answer['error']}"
            else:
                answers[size][column] = answer
    for column in columns:
        if column not in found["why"] and (complaint := disagreement(column, answers)):
            found["why"][column] = complaint
        if column in found["why"]:
            continue
        for what in ("seconds", "megabytes"):
            found[what][column] = [max(answers[size][column][what], 1e-9) for size in curve.sizes]
        found["slopes"][column] = {what: slope(curve.sizes, found[what][column]) for what in ("seconds", "megabytes")}
    return found


def disagreement(column, answers):
    """Why `column` is wrong: another answer than the others, who agree among themselves; else None."""
    for size, given in answers.items():
        others = [answer["check"] for name, answer in given.items() if name != column]
        ours = given[column]["check"]
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
