"""tf.random.experimental: names from before they moved, and the state of generators."""
import numpy as np

from . import _dtypes, _ops, _tandem
from . import random as _random
from ._generator import Generator, get_global_generator, set_global_generator  # noqa: F401
from .random import Algorithm  # noqa: F401

stateless_split, stateless_fold_in = _random.split, _random.fold_in
stateless_shuffle = _random.experimental_stateless_shuffle


def create_rng_state(seed, alg):
    """The state of a generator of the seed: counter and key of Philox (three numbers), or two numbers of ThreeFry."""
    size = 2 if str(getattr(alg, "value", alg)).lower() in ("2", "threefry") else 3
    words = _tandem.as_ints(_ops.reshape(_tandem.to_tensor(seed, _dtypes.int64), [-1]))
    one = not np.ndim(seed)
    return _tandem.to_tensor((words + [0] * size if one else [0] * (size - len(words)) + words)[:size], _dtypes.int64)
