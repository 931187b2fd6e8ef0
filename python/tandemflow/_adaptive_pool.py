"""Pooling whose windows follow from the size that comes out: window i of m over n steps is [floor(i n / m), ceil((i + 1) n / m))."""
import numpy as np

from . import _tandem
from ._ops import gather, matmul, reduce_max, reshape, transpose


def _windows(length, count):
    return [(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]


def _mean(x, length, count):
    """Over the last axis, as a product with the windows' weights."""
    weights = np.zeros((length, count))
    for i, (begin, end) in enumerate(_windows(length, count)):
        weights[begin:end, i] = 1 / (end - begin)
    rows = reshape(x, [-1, length])
    return reshape(matmul(rows, _tandem.to_tensor(weights, x.dtype)), [*x.shape.as_list()[:-1], count])


def _largest(x, length, count):
    """Over the last axis; short windows count their last step again."""
    windows = _windows(length, count)
    widest = max(end - begin for begin, end in windows)
    places = np.array([[min(begin + i, end - 1) for i in range(widest)] for begin, end in windows], np.int32)
    return reduce_max(gather(x, _tandem.to_tensor(places), axis=-1), -1)


def _pooled(x, sizes, along_last):
    """One axis after another, each brought to the end; x is [batch, …, channels]."""
    if len(sizes) != x.ndim - 2:
        raise ValueError(f"adaptive pooling: output_size has {len(sizes)} sizes, the input has {x.ndim - 2} axes between batch and channels")
    for axis, count in enumerate(sizes, 1):
        length = x.shape[axis]
        if not 0 < count:
            raise ValueError(f"adaptive pooling: output_size must be positive, got {tuple(sizes)}")
        if count == length:
            continue
        order = [i for i in range(x.ndim) if i != axis] + [axis]
        x = along_last(transpose(x, order), length, count)
        x = transpose(x, [order.index(i) for i in range(x.ndim)])
    return x


def adaptive_average_pool(x, sizes):
    return _pooled(x, sizes, _mean)


def adaptive_max_pool(x, sizes):
    return _pooled(x, sizes, _largest)
