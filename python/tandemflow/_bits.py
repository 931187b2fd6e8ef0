"""tf.bitcast and tf.edit_distance: values that are looked at as bytes and symbols."""
import numpy

from . import _dtypes, _tandem
from ._on_host import computed
from .errors import InvalidArgumentError


def bitcast(input, type, name=None):
    """The same bytes as numbers of another dtype; the last axis grows or goes where their sizes differ."""
    tensor, dtype = _tandem.to_tensor(input), _dtypes.as_dtype(type)
    old, new, sizes = tensor.dtype.size, dtype.size, tensor.shape.as_list()
    if _dtypes.string in (tensor.dtype, dtype):
        raise TypeError(f"bitcast: strings have no fixed size, got {tensor.dtype.name} as {dtype.name}")
    if old > new:
        shape = [*sizes, old // new]
    elif old < new:
        if not sizes or sizes[-1] != new // old:
            raise InvalidArgumentError(f"Cannot bitcast from {tensor.dtype.name} to {dtype.name} due to shape: the last axis must be {new // old}, got shape {sizes}")
        shape = sizes[:-1]
    else:
        shape = sizes
    return computed(lambda x: numpy.ascontiguousarray(x).view(dtype.as_numpy_dtype).reshape(shape), [tensor], (shape, dtype))


def edit_distance(hypothesis, truth, normalize=True, name="edit_distance"):
    """The Levenshtein distance of the rows of two sparse tensors, divided by the length of the truth's if `normalize`."""
    if hypothesis.dtype != truth.dtype or hypothesis.shape.rank != truth.shape.rank:
        raise ValueError(
            f"edit_distance: hypothesis and truth must be sparse tensors of one dtype and rank, got {hypothesis.dtype.name} of shape "
            f"{hypothesis.shape} and {truth.dtype.name} of shape {truth.shape}"
        )
    sizes = [max(a, b) for a, b in zip(hypothesis.shape.as_list()[:-1], truth.shape.as_list()[:-1])]
    given, wanted = _sequences(hypothesis), _sequences(truth)
    out = numpy.zeros(sizes, numpy.float32)
    for place in {*given, *wanted}:
        a, b = given.get(place, []), wanted.get(place, [])
        distance = _levenshtein(a, b)
        if not normalize:
            out[place] = distance
        else:
            out[place] = distance / len(b) if b else (numpy.inf if a else 0.0)
    return _tandem.to_tensor(out)


def _sequences(sparse):
    """The values of each row, by its place."""
    rows = {}
    for place, value in zip(sparse.indices.numpy().tolist(), sparse.values.numpy().tolist()):
        rows.setdefault(tuple(place[:-1]), []).append(value)
    return rows


def _levenshtein(a, b):
    before = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        now = [i]
        for j, y in enumerate(b, 1):
            now.append(min(before[j] + 1, now[-1] + 1, before[j - 1] + (x != y)))
        before = now
    return before[-1]
