"""tf.random.Generator: an object with its own sequence of random numbers."""
import secrets

from . import _dtypes, _ops, _tandem, random
from ._state_handle import StateHandle

_MASK = 2**64 - 1


class Generator:
    """Each call goes on in the sequence of the seed. In a traced function every run draws fresh numbers."""

    def __init__(self, copy_from=None, state=None, alg=None):
        if copy_from is not None:
            self._key, self._counter = copy_from._key, copy_from._counter
        elif state is not None:
            words = _tandem.as_ints(state)
            self._counter, self._key = words[0], words[-1]
        else:
            raise ValueError("make one with tf.random.Generator.from_seed(1) or from_non_deterministic_state()")

    @classmethod
    def from_seed(cls, seed, alg=None):
        return cls(state=[0, int(seed) & (2**63 - 1)])

    @classmethod
    def from_non_deterministic_state(cls, alg=None):
        return cls.from_seed(secrets.randbits(63))

    @classmethod
    def from_state(cls, state, alg=None):
        return cls(state=state)

    @classmethod
    def from_key_counter(cls, key, counter, alg=None):
        return cls(state=[_tandem.as_ints(counter)[0], int(key)])

    def _source(self):
        if not _tandem.executing_eagerly():
            return random._Sequence(self._key % (2**31))
        self._counter += 1
        return random._Stateless([self._key, self._counter])

    def reset_from_seed(self, seed):
        self._key, self._counter = int(seed) & (2**63 - 1), 0

    def reset(self, state):
        words = _tandem.as_ints(state)
        self._counter, self._key = words[0], words[-1]

    def _checkpoint_children(self):
        if not hasattr(self, "_state_var"):
            self._state_var = StateHandle(lambda: [self._counter, 0, self._key], self.reset)
        return [("_state_var", self._state_var)]

    @property
    def state(self):
        return _tandem.to_tensor([self._counter, 0, self._key], _dtypes.int64)

    @property
    def key(self):
        return _tandem.to_tensor(self._key, _dtypes.int64)

    @property
    def algorithm(self):
        return 1  # Philox

    def skip(self, delta):
        self._counter += int(delta)

    def split(self, count=1):
        """Generators that do not overlap with this one or each other."""
        self._counter += 1
        made = [(self._key ^ (self._counter * 0x9E3779B97F4A7C15 + i * 0xBF58476D1CE4E5B9)) & (2**63 - 1) for i in range(1, int(count) + 1)]
        return [Generator(state=[0, key]) for key in made]

    def make_seeds(self, count=1):
        return self._source().uniform([2, int(count)], -(2**31), 2**31 - 1, _dtypes.int64)

    def normal(self, shape, mean=0.0, stddev=1.0, dtype=_dtypes.float32, name=None):
        return random.bell(self._source(), shape, mean, stddev, dtype)

    def truncated_normal(self, shape, mean=0.0, stddev=1.0, dtype=_dtypes.float32, name=None):
        return random._truncated(self._source(), shape, mean, stddev, dtype)

    def uniform(self, shape, minval=0, maxval=None, dtype=_dtypes.float32, name=None):
        return random.evenly(self._source(), shape, minval, maxval, dtype)

    def uniform_full_int(self, shape, dtype=_dtypes.int64, name=None):
        return random.evenly(self._source(), shape, None, None, dtype)

    def binomial(self, shape, counts, probs, dtype=_dtypes.int32, name=None):
        """How many of `counts` trials succeed, each with probability `probs`."""
        counts = _ops.cast(_tandem.to_tensor(counts), _dtypes.float32)
        most = int(_ops.reduce_max(counts))
        draws = self._source().uniform([*_tandem.as_ints(shape), most])
        inside = _ops.less(_ops.range(most, dtype=_dtypes.float32), _ops.expand_dims(counts, -1))
        success = _ops.logical_and(_ops.less(draws, _ops.expand_dims(_tandem.to_tensor(probs, _dtypes.float32), -1)), inside)
        return _ops.reduce_sum(_ops.cast(success, dtype), -1)


_global = None


def get_global_generator():
    """The generator of the process."""
    global _global
    if _global is None:
        _global = Generator.from_non_deterministic_state()
    return _global


def set_global_generator(generator):
    """Replaces the generator of the process."""
    global _global
    _global = generator
