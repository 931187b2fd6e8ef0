"""Times the rows of op_table.py in one library, TandemFlow or PyTorch; prints one JSON object {name: microseconds}.

    op_times.py tf|torch THREADS [NAME…]

A row NAME_grad is the same call with the gradients by its operands of float32, where the library has them.
"""
import json
import re
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


class Tandem:
    """A call, and a call with gradients, in TandemFlow."""

    def __init__(self, threads):
        import tandemflow as tf

        self.tf = tf
        self.scope = {"tf": tf, **operands(tf.constant)}

    def is_source(self, value):
        return isinstance(value, self.tf.Tensor) and value.dtype == self.tf.float32

    def with_gradients(self, expression, sources):
        tf = self.tf
        call, watched = eval("lambda: " + expression, self.scope), [self.scope[name] for name in sources]
        targets = [y for y in _flat(call()) if y.dtype.is_floating]
        weights = [tf.ones_like(y) for y in targets]

        def body():
            with tf.GradientTape() as tape:
                tape.watch(watched)
                results = [y for y in _flat(call()) if y.dtype.is_floating]
            return tape.gradient(results, watched, output_gradients=weights)

        return body if targets and all(grad is not None for grad in body()) else None


class Torch:
    """The same in PyTorch."""

    def __init__(self, threads):
        import torch

        torch.set_num_threads(threads)
        self.torch = torch
        self.scope = {"torch": torch, **torch_functions(torch), **operands(torch.from_numpy)}

    def is_source(self, value):
        return isinstance(value, self.torch.Tensor) and value.dtype == self.torch.float32

    def with_gradients(self, expression, sources):
        torch = self.torch
        leaves = {name: self.scope[name].clone().requires_grad_() for name in sources}
        call = eval("lambda: " + expression, {**self.scope, **leaves})
        targets = [y for y in _flat(call()) if y.requires_grad]
        weights = [torch.ones_like(y) for y in targets]

        def body():
            for leaf in leaves.values():
                leaf.grad = None
            torch.autograd.backward([y for y in _flat(call()) if y.requires_grad], weights)
            return [leaf.grad for leaf in leaves.values()]

        return body if targets and all(grad is not None for grad in body()) else None


def _flat(results):
    return list(results) if isinstance(results, (list, tuple)) else [results]


def gradients_of(library, expression):
    """What to time, or None where there are no gradients by every operand."""
    sources = [name for name in sorted(set(re.findall(r"\b[a-z_]+\b", expression))) if library.is_source(library.scope.get(name))]
    try:
        return library.with_gradients(expression, sources) if sources else None
    except Exception:  # noqa: BLE001 - each library has gradients of its own
        return None


def main():
    kind, threads, names = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    library, times = (Torch if kind == "torch" else Tandem)(threads), {}
    for name, ours, theirs in ROWS:
        expression = theirs if kind == "torch" else ours
        if not names or name in names:
            times[name] = best_microseconds(eval("lambda: " + expression, library.scope))
        if (not names or f"{name}_grad" in names or name in names) and (body := gradients_of(library, expression)):
            times[f"{name}_grad"] = best_microseconds(body)
    print(json.dumps(times))


main()
