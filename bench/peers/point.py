"""One point of a scaling curve in a process of its own: python -m peers.point LIBRARY THREADS CURVE SIZE.

Prints {"seconds", "megabytes", "check"}: the best time of a call, and the most memory held beyond what the library itself takes.
"""
import json
import os
import resource
import sys

import numpy as np

from . import stopwatch
from .libraries import LIBRARIES, flatten
from .workload import rng_for
from .workloads.growth import CURVES


def resident_megabytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def measure(library, threads, curve, size):
    module = library.load(threads)
    workload = CURVES[curve].make(size)
    given = workload.inputs(rng_for(f"{curve}{size}"))
    before = resident_megabytes() - sum(array.nbytes for array in given.values()) / 1e6
    if not workload.raw:
        given = {key: library.tensor(array) for key, array in given.items()}
    body = workload.body(library.name, module, given)
    if body is None:
        return {"missing": True}
    outputs = [library.array(leaf) for leaf in flatten(body())]
    times = stopwatch.batches(lambda: library.wait(body()), 0.3)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    return {"seconds": min(times), "megabytes": peak - before, "check": float(sum(np.abs(out).sum() for out in outputs))}


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    library, threads, curve, size = sys.argv[1:]
    print(json.dumps(measure(LIBRARIES[library], int(threads), curve, int(size))), file=answers, flush=True)


if __name__ == "__main__":
    main()
