"""tf.experimental.numpy.random: random numbers with NumPy's names."""
from .. import _dtypes, _ops
from .. import random as _random


def seed(s):
    _random.set_seed(s)


def randn(*args):
    return _random.normal(list(args), dtype=_dtypes.float64)


def standard_normal(size=None):
    return _random.normal([] if size is None else size if hasattr(size, "__len__") else [size], dtype=_dtypes.float64)


def uniform(low=0.0, high=1.0, size=None):
    sizes = [] if size is None else size if hasattr(size, "__len__") else [size]
    return _random.uniform(sizes, dtype=_dtypes.float64) * (high - low) + low


def random(size=None):
    return uniform(0.0, 1.0, size)


def rand(*size):
    return uniform(0.0, 1.0, size)


def randint(low, high=None, size=None, dtype=_dtypes.int64):
    low, high = (0, low) if high is None else (low, high)
    sizes = [] if size is None else size if hasattr(size, "__len__") else [size]
    return _ops.cast(_random.uniform(sizes, int(low), int(high), _dtypes.int64), dtype)


def poisson(lam=1.0, size=None):
    return _random.poisson([] if size is None else size if hasattr(size, "__len__") else [size], lam, _dtypes.int64)
