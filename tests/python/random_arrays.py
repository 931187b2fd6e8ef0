"""Random arrays that meet every branch of NumPy's printing."""
import numpy as np

DTYPES = ["float16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool"]


def random_shape(rng):
    rank = int(rng.integers(0, 5))
    if rng.random() < 0.1:
        return (int(rng.integers(1001, 1500)),)
    if rng.random() < 0.1:
        return tuple(int(n) for n in rng.integers(3, 12, size=4))
    low = 0 if rng.random() < 0.1 else 1
    return tuple(int(n) for n in rng.integers(low, [0, 40, 12, 6, 4][rank] + 1, size=rank))


def random_floats(rng, shape, dtype):
    kind = rng.integers(0, 8)
    if kind == 0:
        values = rng.integers(-100, 100, size=shape).astype(np.float64)
    elif kind == 1:
        values = rng.normal(size=shape)
    elif kind == 2:
        values = np.exp(rng.normal(scale=10, size=shape)) * rng.choice([-1, 1], size=shape)
    elif kind == 3:
        values = np.round(rng.normal(scale=10, size=shape), int(rng.integers(0, 4)))
    elif kind == 4:
        values = np.exp2(rng.integers(-20, 20, size=shape).astype(np.float64))
    elif kind == 5:
        values = rng.uniform(0.0001, 0.1, size=shape)
    elif kind == 6:
        bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}[np.dtype(dtype).itemsize]
        values = rng.integers(0, np.iinfo(bits).max, size=shape, dtype=bits, endpoint=True)
        return np.asarray(values).view(dtype).reshape(shape)
    else:
        values = rng.normal(size=shape) * 10.0 ** rng.integers(-6, 18)
    with np.errstate(over="ignore"):
        values = np.asarray(values).astype(dtype)
    if values.size and rng.random() < 0.3:
        flat = values.reshape(-1)
        for special in rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], size=3):
            flat[rng.integers(0, flat.size)] = special
    return values


def random_array(rng):
    dtype = DTYPES[rng.integers(0, len(DTYPES))]
    shape = random_shape(rng)
    if dtype.startswith("float"):
        return random_floats(rng, shape, dtype)
    if dtype == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    info = np.iinfo(dtype)
    high = info.max if rng.random() < 0.3 else min(info.max, 10 ** int(rng.integers(1, 7)))
    low = max(info.min, -high) if rng.random() < 0.5 else 0
    return np.asarray(rng.integers(low, high, size=shape, dtype=dtype, endpoint=True))
