"""tf.random.experimental: names from before they moved, and the state of generators."""
from . import random as _random
from ._generator import Generator, get_global_generator, set_global_generator  # noqa: F401
from .random import Algorithm  # noqa: F401

stateless_split, stateless_fold_in = _random.split, _random.fold_in
stateless_shuffle = _random.experimental_stateless_shuffle


def create_rng_state(seed, alg):
    """The state with which a generator of the seed begins."""
    return Generator.from_seed(seed, alg=alg).state
