"""tf.random: the same numbers for the same seed, whatever the device and the number of threads."""
from . import _dtypes, _tandem


def set_seed(seed):
    """Begins the sequence of random numbers anew."""
    _tandem.set_seed(int(seed) & (2**64 - 1))


def normal(shape, mean=0.0, stddev=1.0, dtype=_dtypes.float32, seed=None, name=None):
    """Normally distributed numbers."""
    return _tandem.random_normal(shape, float(mean), float(stddev), dtype, int(seed or 0))


def uniform(shape, minval=0, maxval=None, dtype=_dtypes.float32, seed=None, name=None):
    """Evenly distributed numbers in [minval, maxval); maxval is 1 for floats and must be given for integers."""
    if maxval is None:
        if _dtypes.as_dtype(dtype).is_integer:
            raise ValueError("Must specify maxval for integer dtype")
        maxval = 1
    return _tandem.random_uniform(shape, float(minval), float(maxval), dtype, int(seed or 0))
