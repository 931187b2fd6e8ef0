"""tf.sets: sets of numbers or strings, one in each row of the last axis of a sparse or dense tensor; results are sparse."""
from . import _dtypes, _names, _tandem
from ._sparse import SparseTensor


def _rows(value):
    """The sets by the place of their row, and the sizes of the axes before the last."""
    import numpy

    if isinstance(value, SparseTensor):
        sizes = value.shape.as_list()[:-1]
        out = {place: set() for place in numpy.ndindex(*sizes)}
        for place, item in zip(value.indices.numpy().tolist(), value.values.numpy().tolist()):
            out[tuple(place[:-1])].add(item)
        return out, sizes, value.dtype
    tensor = _tandem.to_tensor(value)
    array = tensor.numpy()
    sizes = list(array.shape[:-1])
    return {place: set(array[place].tolist()) for place in numpy.ndindex(*sizes)}, sizes, tensor.dtype


def _sparse(rows, sizes, dtype):
    indices, values = [], []
    for place in sorted(rows):
        for at, item in enumerate(sorted(rows[place])):
            indices.append([*place, at])
            values.append(item)
    longest = max((len(row) for row in rows.values()), default=0)
    if not indices:
        import numpy

        indices = numpy.zeros([0, len(sizes) + 1], "int64")
    return SparseTensor(indices, _tandem.to_tensor(values, dtype), [*sizes, longest])


def _combined(name, a, b, combine):
    first, sizes, dtype = _rows(a)
    second, others, _ = _rows(b)
    if sizes != others:
        raise ValueError(f"tf.sets.{name}: all axes but the last must agree, got {sizes} and {others}")
    return _sparse({place: combine(first[place], second[place]) for place in first}, sizes, dtype)


def union(a, b, validate_indices=True):
    """What is in either set of a row, in order."""
    return _combined("union", a, b, set.union)


def intersection(a, b, validate_indices=True):
    """What is in both sets of a row, in order."""
    return _combined("intersection", a, b, set.intersection)


def difference(a, b, aminusb=True, validate_indices=True):
    """What is in the first set of a row and not in the second; the other way round with aminusb=False."""
    return _combined("difference", a, b, set.difference if aminusb else lambda x, y: y - x)


def size(a, validate_indices=True):
    """How many different elements each set has."""
    import numpy

    rows, sizes, _ = _rows(a)
    counts = numpy.array([len(rows[place]) for place in sorted(rows)], "int32").reshape(sizes)
    return _tandem.to_tensor(counts, _dtypes.int32)


__getattr__, __dir__ = _names.lazy(__name__)
