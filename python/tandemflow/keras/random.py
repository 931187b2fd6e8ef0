"""keras.random: random tensors. An int as seed gives the same numbers each time, a SeedGenerator goes on."""
import builtins

import numpy as np

from .. import _dtypes, _names, _network, _ops, _tandem
from .. import random as _random
from ._engine.floats import floatx
from ._engine.lifted import lifted
from ._engine.operation import drawable
from ._engine.registry import Family


class SeedGenerator:
    """A seed that is another one each time it is asked; its state is a variable."""

    _keras_module = "keras.random"

    def __init__(self, seed=None, name=None, **kwargs):
        if kwargs:
            raise ValueError(f"Unrecognized keyword arguments: {kwargs}")
        if seed is None:
            seed = builtins.int(np.random.default_rng().integers(2**31))
        if not isinstance(seed, builtins.int) or seed < 0:
            raise ValueError(f"Argument `seed` must be a non-negative integer. Received: seed={seed}")
        self._initial_seed, self.name = seed, name or "seed_generator"
        with lifted():
            self.state = _tandem.Variable(_tandem.to_tensor(np.array([seed, 0], np.int64)), trainable=False, name="seed_generator_state")

    def next(self, ordered=True):
        """The seed now, two numbers; the next one is another."""
        now = _ops.identity(self.state.value() if callable(getattr(self.state, "value", None)) else _tandem.to_tensor(self.state))
        self.state.assign(_tandem.to_tensor(self.state) + _tandem.to_tensor(np.array([0, 1], np.int64)))
        return now

    def get_config(self):
        return {"seed": self._initial_seed, "name": self.name}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


def _source(seed):
    """Where numbers come from: the sequence of tf.random.set_seed, or a seed of one's own."""
    if seed is None:
        return _random._Sequence(None)
    if isinstance(seed, SeedGenerator):
        return _Following(seed)
    if isinstance(seed, builtins.int):
        return _random._Stateless([seed, 0])
    return _random._Stateless(seed)


class _Following(_random._Sequence):
    """The sequence of a SeedGenerator: in a trace its draws go on with every run, outside its state counts them."""

    def __init__(self, generator):
        super().__init__(generator._initial_seed + 1)
        self._generator = generator

    def _stateless(self):
        return _random._Stateless(self._generator.next())

    def normal(self, *args, **kwargs):
        return self._stateless().normal(*args, **kwargs) if _tandem.executing_eagerly() else super().normal(*args, **kwargs)

    def uniform(self, *args, **kwargs):
        return self._stateless().uniform(*args, **kwargs) if _tandem.executing_eagerly() else super().uniform(*args, **kwargs)


def _dtype(dtype):
    return _dtypes.as_dtype(dtype or floatx())


def normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    """Normally distributed numbers."""
    return _random.bell(_source(seed), shape, mean, stddev, _dtype(dtype))


def uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
    """Evenly distributed numbers in [minval, maxval)."""
    dtype = _dtype(dtype)
    if not dtype.is_floating:
        raise ValueError(f"`keras.random.uniform` requires a floating point `dtype`. Received: dtype={dtype.name}")
    return _random.evenly(_source(seed), shape, minval, maxval, dtype)


def randint(shape, minval, maxval, dtype="int32", seed=None):
    """Evenly distributed integers in [minval, maxval)."""
    dtype = _dtypes.as_dtype(dtype)
    if not dtype.is_integer:
        raise ValueError(f"`keras.random.randint` requires an integer `dtype`. Received: dtype={dtype.name}")
    return _source(seed).uniform(shape, minval, maxval, dtype)


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    """Normally distributed numbers within two standard deviations of the mean."""
    return _random._truncated(_source(seed), shape, mean, stddev, _dtype(dtype))


@drawable
def categorical(logits, num_samples, dtype="int32", seed=None):
    """Classes drawn with the probabilities softmax(logits)."""
    return _random._categorical(_source(seed), _tandem.to_tensor(logits), num_samples, _dtypes.as_dtype(dtype))


def dropout(inputs, rate, noise_shape=None, seed=None):
    """Zeroes elements with the probability `rate` and scales the others up."""
    x = _tandem.to_tensor(inputs)
    if seed is None:
        return _network.dropout(x, rate, noise_shape)
    shape = x.shape.as_list() if noise_shape is None else [size if n is None else n for n, size in zip(noise_shape, x.shape.as_list())]
    noise = _source(seed).uniform(shape, dtype=x.dtype)
    return _ops.records["dropout"](x, noise, _tandem.to_tensor(float(rate), x.dtype))


def shuffle(x, axis=0, seed=None):
    """The slices along an axis in random order."""
    x = _tandem.to_tensor(x)
    axis %= x.ndim
    order = _ops.records["argsort"](_source(seed).uniform([x.shape[axis]]), "ascending")
    return _ops.gather(x, order, axis=axis)


def gamma(shape, alpha, dtype=None, seed=None):
    """Gamma distributed numbers of the shape given."""
    dtype = _dtype(dtype)
    alpha = _ops.broadcast_to(_ops.cast(_tandem.to_tensor(alpha), dtype), list(shape))
    return _random._gamma(_source(seed), list(shape), alpha, _tandem.to_tensor(1.0, dtype), dtype)


def beta(shape, alpha, beta, dtype=None, seed=None):
    """Beta distributed numbers."""
    seeds = [seed + i for i in builtins.range(4)] if isinstance(seed, builtins.int) else [seed] * 4
    first, second = _log_gamma_draw(shape, alpha, seeds[:2]), _log_gamma_draw(shape, beta, seeds[2:])
    return _ops.cast(_ops.sigmoid(first - second), _dtype(dtype))


def _log_gamma_draw(shape, alpha, seeds):
    """The logarithm of a gamma distributed number: below about 0.01 the number itself is often too small for a float."""
    alpha = _ops.cast(_tandem.to_tensor(alpha), "float32")
    larger = gamma(shape, alpha + 1.0, "float32", seeds[0])
    return _ops.log(larger) + _ops.log1p(-uniform(shape, dtype="float32", seed=seeds[1])) / alpha


def binomial(shape, counts, probabilities, dtype=None, seed=None):
    """How often of `counts` times something of the given probability happens."""
    most = builtins.int(np.max(_tandem.to_tensor(counts).numpy()))
    counts = _ops.broadcast_to(_ops.cast(_tandem.to_tensor(counts), "float32"), list(shape))
    probabilities = _ops.broadcast_to(_ops.cast(_tandem.to_tensor(probabilities), "float32"), list(shape))
    draws = _source(seed).uniform([most, *shape])
    happened = _ops.logical_and(draws < probabilities, _ops.reshape(_ops.cast(_ops.range(most), "float32"), [most] + [1] * len(shape)) < counts)
    return _ops.cast(_ops.reduce_sum(_ops.cast(happened, "float32"), 0), _dtype(dtype))


family = Family("seed generator", "keras.random", [SeedGenerator])


__getattr__, __dir__ = _names.lazy(__name__)
