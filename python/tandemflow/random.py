"""tf.random: the same numbers for the same seed, whatever the device and the number of threads."""
import builtins
import enum
import math

import numpy as np

from . import _dtypes, _names, _ops, _tandem
from ._one_pass import in_one_pass
from .errors import InvalidArgumentError

_MASK = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15  # spreads the draws of one call over the keys


def set_seed(seed):
    """Begins the sequence of random numbers anew."""
    _tandem.set_seed(int(seed) & _MASK)


class _Sequence:
    """Draws that follow tf.random.set_seed; each is the next of the sequence."""

    def __init__(self, seed):
        self._seed = int(seed or 0)

    def normal(self, shape, mean=0.0, stddev=1.0, dtype=_dtypes.float32):
        return _tandem.random_normal(shape, float(mean), float(stddev), dtype, self._seed)

    def uniform(self, shape, low=0.0, high=1.0, dtype=_dtypes.float32):
        return _tandem.random_uniform(shape, float(low), float(high), dtype, self._seed)


class _Stateless:
    """Draws that depend on a seed of two numbers only."""

    def __init__(self, seed):
        words = _tandem.as_ints(seed)
        if len(words) != 2:
            raise InvalidArgumentError(f"seed must have shape [2], got {len(words)} numbers")
        # The smallest number tells graphs to draw anew (tandem/op/drawn_words.h).
        self._key, self._counter, self._draws = words[0], max(words[1], 1 - 2**63), 0

    def _words(self):
        key = (self._key ^ (self._draws * _GOLDEN)) & _MASK
        self._draws += 1
        return key - 2**64 if key >= 2**63 else key, self._counter

    def normal(self, shape, mean=0.0, stddev=1.0, dtype=_dtypes.float32):
        return _ops.records["random_normal"](shape, float(mean), float(stddev), dtype, *self._words())

    def uniform(self, shape, low=0.0, high=1.0, dtype=_dtypes.float32):
        return _ops.records["random_uniform"](shape, float(low), float(high), dtype, *self._words())


def _is_number(value):
    """Whether a parameter is known now; what is drawn broadcasts with others, which have gradients."""
    return isinstance(value, (int, float, np.generic, np.ndarray)) and not np.ndim(value)


def bell(source, shape, mean, stddev, dtype):
    """Normally distributed numbers."""
    if _is_number(mean) and _is_number(stddev):
        return source.normal(shape, mean, stddev, dtype)
    return source.normal(shape, dtype=dtype) * _tandem.to_tensor_beside(stddev, dtype) + _tandem.to_tensor_beside(mean, dtype)


def evenly(source, shape, minval, maxval, dtype):
    """Numbers in [minval, maxval); maxval is 1 for floats and must be given for integers."""
    wanted = _dtypes.as_dtype(dtype)
    if wanted.is_integer:
        return _whole_numbers(source, shape, minval, maxval, wanted)
    maxval = 1 if maxval is None else maxval
    if minval is None:
        raise ValueError(f"uniform: minval must be a number, got None; of floats like {wanted.name} it is 0 unless given")
    if _is_number(minval) and _is_number(maxval):
        drawn = source.uniform(shape, minval, maxval, wanted)
        # What has few digits may be rounded up to maxval, which does not belong to it.
        return _ops.minimum(drawn, _tandem.to_tensor(_below(float(maxval), wanted), wanted)) if wanted.size == 2 else drawn
    low, high = _tandem.to_tensor_beside(minval, wanted), _tandem.to_tensor_beside(maxval, wanted)
    drawn = source.uniform(shape, dtype=wanted) * (high - low) + low
    return _ops.where(drawn < high, drawn, low) if wanted.size == 2 else drawn


def _below(number, dtype):
    """The largest number of 16 bits below this one."""
    if dtype == _dtypes.float16:
        near = np.float16(number)
        return float(near if near < number else np.nextafter(near, np.float16(-np.inf)))
    bits = int(np.nextafter(np.float32(number), np.float32(-np.inf)).view(np.uint32))
    away = 2**16 - 1 if bits >> 31 else 0  # a negative number is cut to what is farther from zero
    return float(np.uint32(bits + away & 0xFFFF0000).view(np.float32))


def _whole_numbers(source, shape, minval, maxval, dtype):
    if maxval is None and minval is not None:
        raise ValueError("Must specify maxval for integer dtype")
    low, high = (0, 2**64) if maxval is None else (int(0 if minval is None else minval), int(maxval))
    if not 0 < high - low:
        raise InvalidArgumentError(f"uniform: Need minval < maxval, got {low} >= {high}")
    if high - low < 2**32 and max(abs(low), abs(high)) < 2**53:
        return source.uniform(shape, low, high, dtype)
    # From four words of 16 bits each, which wrap as integers do.
    words = _ops.cast(source.uniform([*_tandem.as_ints(shape), 4], 0, 2**16, _dtypes.int32), _dtypes.int64)
    drawn = _ops.reduce_sum(words * np.array([1, 2**16, 2**32, 2**48]), -1)
    if high - low < 2**63:
        drawn = _ops.floormod(_ops.records["bitwise_and"](drawn, _tandem.to_tensor(2**63 - 1, _dtypes.int64)), _tandem.to_tensor(high - low, _dtypes.int64))
    low = low - 2**64 if low >= 2**63 else low
    return _ops.cast(drawn + _tandem.to_tensor(low, _dtypes.int64), dtype)


# --- How each distribution is drawn, from either source. Those that reject draw a fixed number of times, enough that what
# is left over (a share below 1e-9) does not show; so nothing depends on the values, and devices agree. ---


def _truncated(source, shape, mean, stddev, dtype):
    z = source.normal(shape, dtype=dtype)
    for _ in builtins.range(6):
        z = _ops.where(_ops.abs(z) > 2, source.normal(shape, dtype=dtype), z)
    return _ops.clip_by_value(z, -2, 2) * stddev + mean


def _categorical(source, logits, num_samples, dtype):
    logits = _tandem.to_tensor(logits)
    if logits.ndim != 2:
        raise InvalidArgumentError(f"categorical: logits must be [batch, classes], got {logits.shape}")
    batch, classes = logits.shape
    if not classes:
        raise InvalidArgumentError(f"categorical: needs at least one class, got logits {logits.shape}")
    below = _ops.cumsum(_ops.softmax(_ops.cast(logits, _dtypes.float64)), 1)
    drawn = source.uniform([batch, int(num_samples)], dtype=_dtypes.float64) * below[:, -1:]
    places = _ops.records["searchsorted"](below, drawn, "right", _dtypes.int64)
    return _ops.cast(_ops.minimum(places, classes - 1), dtype)


def _shuffled(source, value):
    value = _tandem.to_tensor(value)
    if value.ndim == 0:
        return value
    keys = source.uniform([value.shape[0]], -(2**31), 2**31 - 1, _dtypes.int32)
    return _ops.gather(value, _ops.records["argsort"](keys, "ascending"))


def _parameter(values, dtype, shape):
    """A parameter as a tensor, and the shape of samples of the given shape for each of its values."""
    tensor = _ops.cast(_tandem.to_tensor(values), dtype)
    return tensor, _tandem.as_ints(shape) + tensor.shape.as_list()


def _gamma(source, full, alpha, beta, dtype):
    """G. Marsaglia, W. W. Tsang: "A Simple Method for Generating Gamma Variables"; alpha below 1 by a power of uniform."""
    small = alpha < 1
    d = _ops.where(small, alpha + 1, alpha) - 1 / 3
    c = 1 / (3 * _ops.sqrt(d))
    kept = _ops.ones(full, dtype)  # times d, the result
    done = _ops.zeros(full, _dtypes.bool)
    for _ in builtins.range(9):
        x = source.normal(full, dtype=dtype)
        root = 1 + c * x
        v = root * root * root
        u = 1 - source.uniform(full, dtype=dtype)
        positive = v > 0
        safe = _ops.where(positive, v, _ops.ones_like(v))
        fits = _ops.logical_and(positive, _ops.log(u) < 0.5 * x * x + d * (1 - safe + _ops.log(safe)))
        kept = _ops.where(done, kept, _ops.where(fits, safe, kept))
        done = _ops.logical_or(done, fits)
    power = _ops.where(small, (1 - source.uniform(full, dtype=dtype)) ** (1 / alpha), _ops.ones_like(kept))
    power = _ops.where(alpha < 0, math.nan, power)
    return d * kept * power / beta


def _poisson(source, full, lam, dtype):
    """By counting: a uniform number is compared with the sums of the probabilities. A large mean is the sum of small ones."""
    rates = lam.numpy().astype("float64")
    if (rates < 0).any() or not np.isfinite(rates).all():
        raise ValueError("poisson: lam must be finite and not negative")
    parts = max(1, int(np.ceil(rates.max(initial=0.0) / 20)))
    rate = rates / parts
    most = int(rate.max(initial=0.0) + 12 * np.sqrt(rate.max(initial=0.0)) + 12)
    spread = _tandem.to_tensor(np.broadcast_to(rate, full).copy())
    total = _ops.zeros(full, _dtypes.float64)
    for _ in builtins.range(parts):
        total = total + _tandem.poisson_counts(source.uniform(full, dtype=_dtypes.float64), spread, most)
    return _ops.cast(total, dtype)


# --- tf.random. ---


def normal(shape, mean=0.0, stddev=1.0, dtype=_dtypes.float32, seed=None, name=None):
    """Normally distributed numbers."""
    return bell(_Sequence(seed), shape, mean, stddev, dtype)


def uniform(shape, minval=0, maxval=None, dtype=_dtypes.float32, seed=None, name=None):
    """Evenly distributed numbers in [minval, maxval); maxval is 1 for floats and must be given for integers."""
    return evenly(_Sequence(seed), shape, minval, maxval, dtype)


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=_dtypes.float32, seed=None, name=None):
    """Normally distributed numbers within two standard deviations of the mean."""
    return _truncated(_Sequence(seed), shape, mean, stddev, dtype)


def categorical(logits, num_samples, dtype=_dtypes.int64, seed=None, name=None):
    """Classes drawn with the probabilities softmax(logits): [batch, num_samples]."""
    return _categorical(_Sequence(seed), logits, num_samples, dtype or _dtypes.int64)


def shuffle(value, seed=None, name=None):
    """The rows of the tensor in random order."""
    return _shuffled(_Sequence(seed), value)


def bernoulli(shape, probs=0.5, dtype=_dtypes.float32, seed=None, name=None):
    """1 with the probability given, else 0."""
    return _ops.cast(_Sequence(seed).uniform(shape) < probs, dtype)


def gamma(shape, alpha, beta=None, dtype=_dtypes.float32, seed=None, name=None):
    """Gamma distributed numbers: so many for each alpha, whose shape follows."""
    beta = _ops.cast(_tandem.to_tensor(1.0 if beta is None else beta), dtype)
    alpha, full = _parameter(_ops.cast(_tandem.to_tensor(alpha), dtype) + _ops.zeros_like(beta), dtype, shape)
    if seed is None:  # each seed would be a trace of its own
        return _gamma_of_sequence(alpha, beta, tuple(full), _dtypes.as_dtype(dtype))
    return _gamma(_Sequence(seed), full, alpha, beta, dtype)


_gamma_of_sequence = in_one_pass(
    lambda alpha, beta, full, dtype: _gamma(_Sequence(None), list(full), alpha, beta, dtype), elements=lambda alpha, beta, full, dtype: math.prod(full)
)


def poisson(shape, lam, dtype=_dtypes.float32, seed=None, name=None):
    """Poisson distributed numbers: so many for each lam, whose shape follows."""
    lam, full = _parameter(lam, _dtypes.float64, shape)
    return _poisson(_Sequence(seed), full, lam, dtype)


# --- Stateless: the seed says all. ---


def stateless_normal(shape, seed, mean=0.0, stddev=1.0, dtype=_dtypes.float32, name=None, alg="auto_select"):
    """Normally distributed numbers that depend on the seed only."""
    return bell(_Stateless(seed), shape, mean, stddev, dtype)


def stateless_uniform(shape, seed, minval=0, maxval=None, dtype=_dtypes.float32, name=None, alg="auto_select"):
    """Evenly distributed numbers that depend on the seed only; integers without bounds are any of their dtype."""
    return evenly(_Stateless(seed), shape, minval, maxval, dtype)


def stateless_truncated_normal(shape, seed, mean=0.0, stddev=1.0, dtype=_dtypes.float32, name=None, alg="auto_select"):
    """Normally distributed numbers within two standard deviations that depend on the seed only."""
    return _truncated(_Stateless(seed), shape, mean, stddev, dtype)


def stateless_categorical(logits, num_samples, seed, dtype=_dtypes.int64, name=None):
    """Classes drawn with the probabilities softmax(logits); they depend on the seed only."""
    return _categorical(_Stateless(seed), logits, num_samples, dtype)


def experimental_stateless_shuffle(value, seed, alg="auto_select", name=None):
    """The rows of the tensor in an order that depends on the seed only."""
    return _shuffled(_Stateless(seed), value)


def stateless_gamma(shape, seed, alpha, beta=None, dtype=_dtypes.float32, name=None):
    """Gamma distributed numbers of the full shape that depend on the seed only."""
    alpha = _ops.cast(_tandem.to_tensor(alpha), dtype)
    beta = _ops.cast(_tandem.to_tensor(1.0 if beta is None else beta), dtype)
    return _gamma(_Stateless(seed), _tandem.as_ints(shape), alpha, beta, dtype)


def stateless_poisson(shape, seed, lam, dtype=_dtypes.int32, name=None):
    """Poisson distributed numbers of the full shape that depend on the seed only."""
    return _poisson(_Stateless(seed), _tandem.as_ints(shape), _ops.cast(_tandem.to_tensor(lam), _dtypes.float64), dtype)


def split(seed, num=2, alg="auto_select"):
    """Seeds made of one: [num, 2]."""
    return _Stateless(seed).uniform([int(num), 2], -(2**31), 2**31 - 1, _seed_dtype(seed))


def fold_in(seed, data, alg="auto_select"):
    """A seed made of one and a number."""
    first, second = _tandem.as_ints(seed)
    mixed = (second ^ (int(data) + 1) * _GOLDEN) & _MASK
    return _Stateless([first, mixed - 2**64 if mixed >= 2**63 else mixed]).uniform([2], -(2**31), 2**31 - 1, _seed_dtype(seed))


def _seed_dtype(seed):
    """New seeds have the dtype of the one they are made of."""
    dtype = _tandem.to_tensor(seed).dtype
    return dtype if dtype in (_dtypes.int32, _dtypes.int64) else _dtypes.int64


class Algorithm(enum.Enum):
    """TensorFlow's; the generator is Philox here, whichever is asked for."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


def _spread(values, dtype, sizes):
    """A parameter for every sample."""
    return _ops.broadcast_to(_ops.cast(_tandem.to_tensor(values), dtype), sizes)


def stateless_binomial(shape, seed, counts, probs, output_dtype=_dtypes.int32, name=None):
    """How many of `counts` trials succeed, each with the chance `probs`."""
    sizes = _tandem.as_ints(shape)
    counts, probs = _spread(counts, _dtypes.float32, sizes), _spread(probs, _dtypes.float32, sizes)
    most = int(_ops.reduce_max(counts).numpy()) if counts.shape.num_elements() else 0
    draws = _Stateless(seed).uniform([*sizes, most], 0.0, 1.0, _dtypes.float32)
    tried = _ops.less(_ops.range(most, dtype=_dtypes.float32), _ops.expand_dims(counts, -1))
    return _ops.cast(_ops.reduce_sum(_ops.cast(_ops.logical_and(tried, _ops.less(draws, _ops.expand_dims(probs, -1))), _dtypes.int32), -1), output_dtype)


def stateless_parameterized_truncated_normal(shape, seed, means=0.0, stddevs=1.0, minvals=-2.0, maxvals=2.0, name=None):
    """Normal numbers between minvals and maxvals: of uniform ones by the inverse of their distribution."""
    sizes = _tandem.as_ints(shape)
    dtype = next((value.dtype for value in (means, stddevs, minvals, maxvals) if isinstance(value, _tandem.Tensor)), _dtypes.float32)
    means, stddevs, low, high = (_spread(value, dtype, sizes) for value in (means, stddevs, minvals, maxvals))
    first, last = (low - means) / stddevs, (high - means) / stddevs
    # On the side of small probabilities, which have all their digits: 1 less one of them has few.
    turned = first + last > 0
    first, last = _ops.where(turned, -last, first), _ops.where(turned, -first, last)
    below, above = (0.5 * _ops.records["erfc"](bound * -(0.5**0.5)) for bound in (first, last))
    draws = _Stateless(seed).uniform(sizes, 0.0, 1.0, dtype)
    z = _ops.records["ndtri"](below + draws * (above - below))
    return _ops.minimum(_ops.maximum(means + stddevs * _ops.where(turned, -z, z), low), high)


__getattr__, __dir__ = _names.lazy(__name__, {"experimental": "_random_experimental:"} | _names.places_of(
    _candidates="all_candidate_sampler fixed_unigram_candidate_sampler log_uniform_candidate_sampler uniform_candidate_sampler",
    _random_experimental="create_rng_state",
    _generator="Generator get_global_generator set_global_generator",
))  # fmt: skip
