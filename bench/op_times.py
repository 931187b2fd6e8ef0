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
    small, rows = normal[0].reshape(100, 100, 100), normal[0].reshape(100_000, 10)
    spd = small @ small.transpose(0, 2, 1) + np.eye(100, dtype="float32")
    large = np.eye(1000, dtype="float32") * 100 + normal[0].reshape(1000, 1000) @ normal[0].reshape(1000, 1000).T
    pictures = rng.integers(0, 256, (5, 256, 256, 3), dtype="uint8")
    classes = rng.integers(0, 10, 100_000)
    chances = np.exp(rows) / np.exp(rows).sum(1, keepdims=True)
    return {
        "small": make(small), "spd": make(spd), "large": make(large), "wi": make(rng.integers(0, 100, (512, 512), dtype="int32")), "in_order": make(np.sort(rng.integers(0, 1000, 1000))),
        "rows": make(rows), "other_rows": make(normal[1].reshape(100_000, 10)), "hot": make(np.eye(10, dtype="float32")[classes]), "chances": make(chances), "classes": make(classes), "words": make(rng.integers(0, 100_000, 100_000)),
        "orders": make(rng.integers(0, 1000, (1000, 1000))), "pictures": make(pictures), "photos": make((pictures / 255).astype("float32")),
        "x": make(normal[0]), "y": make(normal[1]), "m": make(normal[0].reshape(1000, 1000)), "p": make(rng.uniform(0.1, 2, n).astype("float32")),
        "u": make(rng.uniform(-0.9, 0.9, n).astype("float32")), "i": make(rng.integers(1, 10**6, n, dtype="int32")), "j": make(rng.integers(1, 30, n, dtype="int32")),
        "b": make(normal[1] > 0), "c": make(normal[0] > 0), "bm": make((normal[1] > -9).reshape(1000, 1000)), "ids": make(rng.integers(0, 1000, 1000)),
        "column": make(rng.integers(0, 1000, (1000, 1))), "counts": make(rng.integers(0, 1000, n)), "pairs": make(rng.integers(0, 1000, (n, 2))),
        "grid": make(np.sort(normal[1][:10000])),
    }  # fmt: skip


def torch_functions(torch):
    """What TandemFlow has one function for, in PyTorch's ops."""

    def clip_by_global_norm(x, y):
        scale = (1.0 / torch.sqrt(torch.dot(x, x) + torch.dot(y, y))).clamp(max=1.0)
        return [x * scale, y * scale]

    def adjust_contrast(images):
        mean = images.mean((1, 2), keepdim=True)
        return (images - mean) * 2.0 + mean

    def standardized(images):
        deviation, mean = torch.std_mean(images, (1, 2, 3), correction=0, keepdim=True)
        return (images - mean) / deviation.clamp(min=1 / 443.4)

    return {f.__name__: f for f in (clip_by_global_norm, adjust_contrast, standardized)}


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
        names_in_scope = {"torch": torch, **torch_functions(torch), **operands(torch.from_numpy)}
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
