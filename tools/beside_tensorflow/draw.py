"""Random operands, shapes and attributes for calls that TensorFlow and this package both answer."""
import numpy as np

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
NUMBERS = FLOATS + INTEGERS
ANY = NUMBERS + ("bool",)
# Most programs have these; the others come one time in three.
_USUAL = ("float32", "float32", "float64", "int32", "int64", "bool")


class Operand:
    """An array that becomes a tensor of `dtype`, which NumPy need not have."""

    def __init__(self, array, dtype):
        self.array, self.dtype = array, dtype

    @property
    def shape(self):
        return self.array.shape

    @property
    def floating(self):
        return self.dtype in FLOATS

    def __repr__(self):
        values = np.array2string(self.array, threshold=24, separator=", ", precision=8).replace("\n", "")
        return f"{self.dtype}{list(self.shape)}{values}"


class Draw:
    """What one call is made of; `special` draws infinities, NaN, both zeros, denormals, the ends of integers and empty axes."""

    def __init__(self, random, special):
        self.random, self.special = random, special

    def below(self, limit):
        return int(self.random.integers(limit))

    def between(self, low, high):
        return int(self.random.integers(low, high + 1))

    def chance(self, one_in):
        return self.below(one_in) == 0

    def flag(self):
        return self.chance(2)

    def one_of(self, *choices):
        return choices[self.below(len(choices))]

    def dtype(self, dtypes):
        usual = [name for name in _USUAL if name in dtypes]
        return self.one_of(*usual) if usual and not self.chance(3) else self.one_of(*dtypes)

    def shape(self, low=0, high=4, most=5):
        sizes = [self.between(1, most) for _ in range(self.between(low, high))]
        if sizes and self.chance(6 if self.special else 25):
            sizes[self.below(len(sizes))] = 0
        return tuple(sizes)

    def broadcast(self, shape):
        """A shape that broadcasts with `shape`; now and then one that does not."""
        sizes = [1 if self.chance(4) else size for size in shape][self.below(len(shape) + 1) if self.chance(3) else 0 :]
        if sizes and self.chance(25):
            sizes[self.below(len(sizes))] += 1
        return tuple(sizes)

    def values(self, dtype, shape):
        if dtype == "bool":
            return self.random.integers(0, 2, shape).astype(bool)
        if not self.special:
            if dtype in INTEGERS:
                return self.random.integers(0 if dtype[0] == "u" else -9, 10, shape).astype(dtype)
            return np.asarray(self.random.normal(size=shape) * self.one_of(1, 1, 1, 10), _NUMPY.get(dtype, dtype))
        return self.random.choice(_special(dtype), shape)

    def array(self, dtypes, shape):
        dtype = dtypes if isinstance(dtypes, str) else self.dtype(dtypes)
        return Operand(np.asarray(self.values(dtype, shape)), dtype)

    def like(self, other, shape=None):
        return self.array(other.dtype, other.shape if shape is None else shape)

    def integers(self, low, high, shape, dtypes=("int32", "int64")):
        """Numbers from low to high, both possible; without any in between an empty range gives `low`."""
        dtype = dtypes if isinstance(dtypes, str) else self.one_of(*dtypes)
        return Operand(np.asarray(self.random.integers(low, max(high, low) + 1, shape)).astype(dtype), dtype)

    def reals(self, low, high, shape, dtypes=("float32", "float64")):
        """Plain numbers of a range, also in special calls."""
        dtype = dtypes if isinstance(dtypes, str) else self.one_of(*dtypes)
        return Operand(np.asarray(self.random.uniform(low, high, shape), _NUMPY.get(dtype, dtype)), dtype)

    def axis(self, rank):
        """An axis, also counted from the end; now and then one too far."""
        return self.between(-rank - 1, rank) if self.chance(30) or not rank else self.between(-rank, rank - 1)

    def axes(self, rank):
        """None, one axis, or a list of some."""
        kind = self.below(3)
        if kind == 0 or not rank:
            return None
        if kind == 1:
            return self.axis(rank)
        return [int(axis) for axis in self.random.choice(rank, self.between(0, rank), replace=False)]

    def options(self, **choices):
        """Some of the keyword arguments, each drawn by its function."""
        return {name: draw() for name, draw in choices.items() if not self.chance(3)}


_NUMPY = {"bfloat16": "float32"}


def _special(dtype):
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        return np.array([0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1, *([-1, -2, -7] if info.min else [200])], dtype)
    large, small, denormal = {
        "float16": (6e4, 1e-4, 6e-6), "bfloat16": (1e38, 2e-38, 1e-39), "float32": (3e38, 2e-38, 1e-40), "float64": (1.7e308, 3e-308, 1e-310),
    }[dtype]  # fmt: skip
    plain = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -7.0, 88.0, -90.0, 1e-3, 1e3]
    return np.array([*plain, large, -large, small, -small, denormal, -denormal, np.inf, -np.inf, np.nan]).astype(_NUMPY.get(dtype, dtype))
