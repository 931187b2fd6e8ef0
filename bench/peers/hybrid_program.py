"""Programs run on the CPU alone, on the GPU alone, on both by hand, and without a word about devices.

    python -m peers.hybrid_program ROUNDS SECONDS

Started with TANDEM_OPENCL_CPU_AS_GPU=1 and a core for each device (hybrid.py). Prints {program: {mode: [seconds a round]}},
and {"why": …} for a mode whose result differs from the CPU's.
"""
import contextlib
import json
import os
import sys

import numpy as np

from . import stopwatch
from .workload import normal, rng_for

CPU, GPU = "/CPU:0", "/GPU:0"
# Where the first and the second half of a program run; None: nothing is said.
MODES = {"cpu": (CPU, CPU), "gpu": (GPU, GPU), "both": (CPU, GPU), "automatic": (None, None)}


class Programs:
    """Each takes the devices of its two halves and returns what is timed: a function that ends with the values on the host."""

    def __init__(self, tf):
        self.tf = tf
        self.rng = rng_for("hybrid")

    def on(self, device):
        return self.tf.device(device) if device else contextlib.nullcontext()

    def constant(self, *shape, scale=1.0):
        return self.tf.constant(normal(self.rng, *shape, scale=scale))

    def two_chains(self, devices):
        """Two chains of matmuls that need nothing of each other until the end: two devices can share them."""
        tf, halves = self.tf, [self.constant(384, 384) for _ in devices]
        w = self.constant(384, 384, scale=384**-0.5)

        @tf.function
        def run(halves):
            ends = []
            for device, x in zip(reversed(devices), halves):  # the GPU's first: it works on its own
                with self.on(device):
                    for _ in range(8):
                        x = tf.matmul(x, w)
                    ends.append(x)
            with self.on(devices[0]):
                return ends[0] + ends[1]

        return lambda: run(halves).numpy()

    def one_chain(self, devices):
        """Matmuls one after the other: only one device can work at a time."""
        tf, first, w = self.tf, self.constant(384, 384), self.constant(384, 384, scale=384**-0.5)

        @tf.function
        def run(x):
            for device in devices:
                with self.on(device):
                    for _ in range(4):
                        x = tf.matmul(x, w)
            return x

        return lambda: run(first).numpy()

    def small_ops(self, devices):
        """Too small to pay for a launch."""
        tf, first, w = self.tf, self.constant(16, 16), self.constant(16, 16, scale=0.5)

        @tf.function
        def run(x):
            for device in devices:
                with self.on(device):
                    for _ in range(5):
                        x = tf.tanh(tf.matmul(x, w))
            return x

        return lambda: run(first).numpy()

    def two_elementwise(self, devices):
        """Two halves of a large elementwise computation."""
        tf, parts = self.tf, [self.constant(1 << 19) for _ in devices]

        @tf.function
        def run(parts):
            sums = []
            for device, x in zip(reversed(devices), parts):
                with self.on(device):
                    sums.append(tf.reduce_sum(tf.sin(x) * tf.exp(tf.cos(x)) + tf.math.log1p(tf.abs(x))))
            with self.on(devices[0]):
                return sums[0] + sums[1]

        return lambda: run(parts).numpy()


PROGRAMS = [name for name in vars(Programs) if name not in ("on", "constant") and not name.startswith("_")]


def measure(tf, rounds, seconds):
    bodies, found = {}, {name: {} for name in PROGRAMS}
    for name in PROGRAMS:
        for mode, devices in MODES.items():
            bodies[name, mode] = getattr(Programs(tf), name)(list(devices))
            values = bodies[name, mode]()
            if mode == "cpu":
                right = values
            apart = float(np.abs(values - right).max() / np.abs(right).max())
            found[name][mode] = [] if apart <= 1e-4 else {"why": f"wrong: differs from the CPU by {apart:.2g}"}
    for _ in range(rounds):
        for (name, mode), body in bodies.items():
            if isinstance(found[name][mode], list):
                found[name][mode].append(min(stopwatch.batches(body, seconds)))
    return found


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import tandemflow as tf

    if not tf.config.list_logical_devices("GPU"):
        sys.exit("no OpenCL device serves as /GPU:0; `tandem devices` says why")
    print(json.dumps(measure(tf, int(sys.argv[1]), float(sys.argv[2]))), file=answers, flush=True)


if __name__ == "__main__":
    main()
