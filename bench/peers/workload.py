"""What a workload is: a name, its inputs, and how each library says it.

A workload is a class in workloads/, made once for every size it is run at. Its methods are named after libraries: `torch`,
`jax`, `numpy`, and `tf` for TensorFlow and TandemFlow, which read the same program (`tensorflow` or `tandemflow` where
they must differ). Each gets the library and the inputs as the library's tensors, and returns a function without
arguments: what is timed. What that function returns is compared between the libraries before anything is timed.
The C++ side, where there is one, is a function of the same name in workloads.cc.
"""
import numpy as np


class Workload:
    name = None
    doc = ""
    flops = 0  # of one call; with `bytes`, what the physical limit follows from
    bytes = 0  # that must be read and written at least
    tolerance = 1e-4  # of the largest value of an output
    goals = {}  # {column: the share of its time that ours may take}
    raw = False  # inputs stay NumPy arrays
    quick = True  # --quick has time for it
    long = False  # seconds a call: one call a round, no warm-up but the check

    def inputs(self, rng):
        """{name: array}, the same for all libraries."""
        return {}

    def body(self, library, module, arrays):
        """The function to time in `library`, or None where the workload does not say how."""
        own = {"tensorflow": "tf", "tandemflow": "tf"}
        make = getattr(self, library, None) or getattr(self, own.get(library, ""), None)
        return make(module, **arrays) if make else None


def normal(rng, *shape, scale=1.0):
    return (rng.standard_normal(shape) * scale).astype("float32")


def labels(rng, count, classes):
    return rng.integers(0, classes, count).astype("int32")


def rng_for(name):
    """Numbers that depend on the workload only."""
    return np.random.default_rng(list(name.encode()))
