"""tf.nn.experimental: dropout by numbers of one's own choice."""
from . import _tandem
from ._ops import records
from .random import stateless_uniform


def general_dropout(x, rate, uniform_sampler, noise_shape=None, name=None):
    """As tf.nn.dropout, by what uniform_sampler(shape=, dtype=) draws."""
    x, rate = _tandem.to_tensor(x), float(rate)
    if not 0 <= rate < 1:
        raise ValueError(f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={rate}")
    if rate == 0:
        return x
    shape = x.shape if noise_shape is None else _tandem.as_ints(noise_shape)
    return records["dropout"](x, uniform_sampler(shape=shape, dtype=x.dtype), _tandem.to_tensor(rate, x.dtype))


def stateless_dropout(x, rate, seed, rng_alg=None, noise_shape=None, name=None):
    """As tf.nn.dropout, by the seed alone."""
    return general_dropout(x, rate, lambda shape, dtype: stateless_uniform(shape, seed, dtype=dtype), noise_shape)
