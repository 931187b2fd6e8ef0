"""Says where two files of answers differ.

    python -m beside_tensorflow.compare THEIRS OURS [--again FILE] [--seed S] [--special] [--only NAME…] [--show KIND…] [--each N]

Kinds: value, gradient, none (a gradient is None in one of them), dtype, shape, only_we (we alone refuse), only_they, crash,
gradient_only_we, gradient_only_they, the same three of second gradients (second, …), denormals (an operand has some). --again: TensorFlow's answers of a second run; what differs there from the first is no answer (varies).
"""
import argparse
import collections

import numpy as np

from . import calls
from .draw import Operand
from .run import answers, drawn

# Relative to the largest number of a result, for what is summed; functions near the ends of their range are less exact.
_TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-10}
# Attributes and constants of these are float32 in TensorFlow, whatever the operands.
_IN_FLOAT32 = ("leaky_relu", "gelu", "image.", "logcosh", "igamma", "math.zeta", "clip_by_norm", "nn.dropout", "local_response")
# Unique but for signs.
_UP_TO_SIGNS = ("linalg.qr", "linalg.svd")
_SMALLEST = {"float16": 6.2e-5, "bfloat16": 1.2e-38, "float32": 1.2e-38, "float64": 2.3e-308}


class Comparison:
    """How two answers to one function are compared; gradients are sums whose terms cancel, and are given more room."""

    def __init__(self, name, room=1):
        self.name, self.room = name, room

    def tolerance(self, dtype):
        less_exact = dtype == "float64" and any(part in self.name for part in _IN_FLOAT32)
        return self.room * _TOLERANCE["float32" if less_exact else dtype]

    def difference(self, theirs, ours):
        """None, or the kind of the difference and what it is."""
        if isinstance(theirs, list) or isinstance(ours, list):
            if not (isinstance(theirs, list) and isinstance(ours, list)) or len(theirs) != len(ours):
                return "shape", "another structure"
            return next((found for pair in zip(theirs, ours) if (found := self.difference(*pair))), None)
        if isinstance(theirs, tuple) and isinstance(ours, tuple):
            return self.of_arrays(*theirs, *ours)
        if theirs is None or ours is None:
            return None if theirs is ours else ("none", "None, they" if theirs is None else "None, we")
        return None if theirs == ours else ("value", f"{theirs} and {ours}")

    def of_arrays(self, dtype, theirs, other, ours):
        if dtype != other:
            return "dtype", f"{dtype} and {other}"
        if theirs.shape != ours.shape:
            return "shape", f"{theirs.shape} and {ours.shape}"
        if dtype not in _TOLERANCE:
            same = np.asarray(theirs == ours)
        else:
            same = self.close(dtype, theirs.astype(np.float64), ours.astype(np.float64))
        shown = [str(side[~same].ravel()[:4]) for side in (theirs, ours)]
        return None if np.all(same) else ("value", f"{shown[0]} and {shown[1]} at {np.argwhere(~same)[:3].tolist()}")

    def close(self, dtype, a, b):
        if self.name in _UP_TO_SIGNS:
            a, b = np.abs(a), np.abs(b)
        with np.errstate(all="ignore"):
            finite = np.isfinite(a) & np.isfinite(b)
            scale = np.max(np.abs(a[finite]), initial=0)
            # Within the tolerance of the number itself, or of the result's largest where that is no giant beside it.
            near = self.tolerance(dtype) * np.maximum(np.abs(a), min(scale, 100.0) if self.room == 1 else max(min(scale, 100.0), 0.1))
            return np.where(finite, np.abs(a - b) <= near + 4 * _SMALLEST[dtype], (a == b) | (np.isnan(a) & np.isnan(b)))


def has_denormals(value):
    """Whether an operand has a denormal number: TensorFlow takes those for zero, in most kernels."""
    if isinstance(value, Operand):
        size = np.abs(value.array.astype(np.float64)) if value.floating else np.zeros(1)
        return bool(np.any((size > 0) & (size < 0.9 * _SMALLEST.get(value.dtype, 0))))
    values = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return any(has_denormals(one) for one in values)


def verdict(name, theirs, ours):
    """(kind, text), or None where both say the same."""
    if "crash" in (ours.get("error"), theirs.get("error")):
        return ("crash" if ours.get("error") == "crash" else "only_they"), f"{theirs.get('error')} and {ours.get('error')}"
    if "error" in theirs or "error" in ours:
        if "error" in theirs and "error" in ours:
            return None
        return ("only_we", f"{ours['error']}: {ours['text']}") if "error" in ours else ("only_they", f"{theirs['error']}: {theirs['text']}")
    if found := Comparison(name).difference(theirs["value"], ours["value"]):
        return found
    for part, room in (("grads", 4), ("seconds", 16)):
        if found := _gradient_verdict(Comparison(name, room), theirs.get(part), ours.get(part), part == "seconds"):
            return found
    return None


def _gradient_verdict(comparison, theirs, ours, second):
    kind = "second" if second else "gradient"
    if isinstance(theirs, dict) or isinstance(ours, dict):
        if isinstance(theirs, dict) and isinstance(ours, dict):
            return None
        return (f"{kind}_only_we", str(ours)) if isinstance(ours, dict) else (f"{kind}_only_they", str(theirs))
    found = comparison.difference(theirs, ours)
    return (kind if found[0] != "none" else "none", f"{found[0]}: {found[1]}") if found else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("theirs")
    parser.add_argument("ours")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--special", action="store_true")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--show", nargs="*", default=["crash", "value", "gradient", "dtype", "shape", "only_we", "gradient_only_we", "second", "second_only_we"])
    parser.add_argument("--each", type=int, default=2)
    parser.add_argument("--again")
    options = parser.parse_args()
    theirs, ours = answers(options.theirs), answers(options.ours)
    again = answers(options.again) if options.again else {}
    kinds, shown, names = collections.Counter(), collections.defaultdict(list), set(calls.chosen(options.only))
    for name, turn in sorted(theirs.keys() & ours.keys()):
        if name not in names:
            continue
        call = name, turn
        found = verdict(name, theirs[call], ours[call])
        if found and call in again and verdict(name, theirs[call], again[call]):
            found = ("varies", "")
        elif found and options.special and has_denormals(drawn(name, turn, options.seed, True)):
            found = ("denormals", found[1])
        kinds[found[0] if found else "same"] += 1
        if found and found[0] in options.show:
            shown[name, found[0]].append((turn, found[1]))
    for (name, kind), cases in sorted(shown.items(), key=lambda item: (item[0][1], -len(item[1]))):
        print(f"\n{kind}: {name}, {len(cases)} times")
        for turn, text in cases[: options.each]:
            given, more = drawn(name, turn, options.seed, options.special)
            print(f"  {turn}: {str(given)[:300]} {str(more)[:200]}\n     {text[:300]}")
    print("\n" + ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()))


if __name__ == "__main__":
    main()
