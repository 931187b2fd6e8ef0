"""A scaling curve of one library in a process of its own: python -m peers.point LIBRARY THREADS CURVE SIZE…

Prints {"seconds", "megabytes", "check"} a line for every size: the best time of a call, and the most memory held so far beyond
what the library itself takes; {"missing"} or {"error"} where there is nothing to measure, and then no more.
"""
import json
import os
import sys

import numpy as np

from . import stopwatch
from .libraries import LIBRARIES, flatten
from .workload import rng_for
from .workloads.growth import CURVES


def resident_megabytes(most=False):
    """Now, or at `most` so far. Not getrusage's maximum: that begins with what the process that started this one held."""
    key = "VmHWM:" if most else "VmRSS:"
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key)) * 1024 / 1e6


def measure(library, module, base, workload, name):
    """One point; `base`: megabytes before the first one."""
    given = workload.inputs(rng_for(name))
    if not workload.raw:
        given = {key: library.tensor(array) for key, array in given.items()}
    body = workload.body(library.name, module, given)
    if body is None:
        return {"missing": True}
    outputs = [library.array(leaf) for leaf in flatten(body())]
    times = stopwatch.batches(lambda: library.wait(body()), 0.3)
    return {"seconds": min(times), "megabytes": resident_megabytes(most=True) - base, "check": float(sum(np.abs(out).sum() for out in outputs))}


def points(library, threads, name, sizes):
    module, curve = library.load(threads), CURVES[name]
    base = resident_megabytes()
    for size in sizes:
        try:
            answer = measure(library, module, base, curve.make(size), f"{name}{size}")
        except Exception as error:  # kept as the reason why the curve ends
            answer = {"error": f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"[:200]}
        yield answer
        if "seconds" not in answer:
            return


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    library, threads, name, *sizes = sys.argv[1:]
    for answer in points(LIBRARIES[library], int(threads), name, map(int, sizes)):
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
