"""How much of TensorFlow is there, weighted by use: which of the names in names.json resolve, and which work.

A name works when its example (name_examples.py) gives in TandemFlow what it gives in TensorFlow.
"""
import json
import math
import subprocess
from pathlib import Path

NAMES = Path(__file__).with_name("names.json")
TOLERANCE = 1e-3


def symbols():
    """[(name, files that use it)]."""
    return [tuple(entry) for entry in json.loads(NAMES.read_text())["symbols"]]


def try_names(command, names, environment, timeout=600):
    """{name: answer}. An example that ends the process costs its own name only: the next process goes on after it."""
    answers, left = {}, list(names)
    while left:
        done = subprocess.run([*map(str, command)], input="\n".join(left), env=environment, capture_output=True, text=True, timeout=timeout)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        answers |= dict(zip(left, lines))
        left = left[len(lines):]
        if left and not lines and done.returncode and "Error" in done.stderr.rstrip().rpartition("\n")[2]:
            raise RuntimeError(done.stderr.strip().splitlines()[-1])  # it did not even start
        if left:
            answers[left.pop(0)] = {"resolves": True, "error": f"ended the process (code {done.returncode})"}
    return answers


def same(ours, theirs):
    """Equal structure, equal words, numbers within TOLERANCE."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    numbers = (int, float)
    if isinstance(ours, numbers) and isinstance(theirs, numbers):
        return math.isclose(ours, theirs, rel_tol=TOLERANCE, abs_tol=TOLERANCE) or (math.isnan(ours) and math.isnan(theirs))
    return ours == theirs


def verdict(ours, theirs):
    """Why a name does not count as working, or None when it does. `theirs` is None where there is no TensorFlow to ask."""
    if not ours["resolves"]:
        return "is not there"
    if "error" in ours:
        return ours["error"]
    if "value" not in ours:
        return "no example"
    if theirs is None or "value" not in theirs:
        return "TensorFlow gave nothing to compare with" + (f": {theirs['error']}" if theirs and "error" in theirs else "")
    return None if same(ours["value"], theirs["value"]) else f"gives {ours['value']}, TensorFlow {theirs['value']}"[:300]


def weigh(entries, ours, theirs):
    """The shares, and what is missing with its weight, most used first."""
    total = sum(count for _, count in entries)
    verdicts = {name: verdict(ours[name], (theirs or {}).get(name)) for name, _ in entries}
    resolving = [(name, count) for name, count in entries if ours[name]["resolves"]]
    working = [(name, count) for name, count in entries if verdicts[name] is None]
    return {
        "names": len(entries), "names_resolve": len(resolving), "names_work": len(working),
        "resolve": sum(count for _, count in resolving) / total, "work": sum(count for _, count in working) / total,
        "missing": [[name, count, verdicts[name]] for name, count in sorted(entries, key=lambda e: -e[1]) if verdicts[name]],
    }
