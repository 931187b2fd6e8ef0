"""Times the rows of op_table.py in one library, TandemFlow or PyTorch; prints one JSON object {name: microseconds}.

    op_times.py tf|torch THREADS [NAME…]
"""
import json
import sys
import time

import numpy as np
from op_table import ROWS


def operands(make):
    """The operands the rows name, the same numbers for both libraries."""
    rng = np.random.default_rng(0)
    n = 1_000_000
    normal = rng.normal(size=(2, n)).astype("float32")
    return {
        "x": make(normal[0]), "y": make(normal[1]), "m": make(normal[0].reshape(1000, 1000)), "p": make(rng.uniform(0.1, 2, n).astype("float32")),
        "u": make(rng.uniform(-0.9, 0.9, n).astype("float32")), "i": make(rng.integers(1, 10**6, n, dtype="int32")), "j": make(rng.integers(1, 30, n, dtype="int32")),
        "b": make(normal[1] > 0), "c": make(normal[0] > 0), "bm": make((normal[1] > -9).reshape(1000, 1000)), "ids": make(rng.integers(0, 1000, 1000)),
        "column": make(rng.integers(0, 1000, (1000, 1))), "counts": make(rng.integers(0, 1000, n)), "pairs": make(rng.integers(0, 1000, (n, 2))),
        "grid": make(np.sort(normal[1][:10000])),
    }  # fmt: skip


def best_microseconds(body, at_least=0.1):
    body()
    calls, best, end = 1, 1e9, time.perf_counter() + at_least
    while True:
        begin = time.perf_counter()
        for _ in range(calls):
            body()
        each = (time.perf_counter() - begin) / calls
        best = min(best, each)
        calls = max(int(0.005 / each), 1)
        if time.perf_counter() > end:
            return best * 1e6


def main():
    library, threads, names = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    if library == "torch":
        import torch

        torch.set_num_threads(threads)
        names_in_scope = {"torch": torch, **operands(torch.from_numpy)}
    else:
        import tandemflow as tf

        names_in_scope = {"tf": tf, **operands(tf.constant)}
    times = {}
    for name, ours, theirs in ROWS:
        if names and name not in names:
            continue
        body = eval("lambda: " + (theirs if library == "torch" else ours), names_in_scope)
        times[name] = best_microseconds(body)
    print(json.dumps(times))


main()
