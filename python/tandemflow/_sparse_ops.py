"""Functions of tf.sparse that make sparse tensors of sparse tensors; the places are computed outside traced functions."""
import numpy

from . import _ops, _tandem
from ._sparse import SparseTensor, reorder, to_dense
from .errors import InvalidArgumentError


def _parts(sparse):
    return sparse.indices.numpy(), sparse.values, sparse.shape.as_list()


def _kept(sparse, places, chosen, sizes):
    """The values at the positions `chosen`, with the places given for all."""
    return SparseTensor(places[chosen].reshape(-1, len(sizes)), _ops.gather(sparse.values, chosen), sizes)


def _united(a, b):
    """Two sparse tensors over the places of both: the sum of values that fall together is taken by segments."""
    if a.shape != b.shape:
        raise ValueError(f"sparse tensors of one shape are needed, got {a.shape} and {b.shape}")
    places, where = numpy.unique(numpy.concatenate([a.indices.numpy(), b.indices.numpy()]), axis=0, return_inverse=True)
    return places, where.reshape(-1)


def add(a, b, threshold=0, name=None):
    """a + b: sparse when both are, dense when one of them is."""
    if not isinstance(a, SparseTensor) or not isinstance(b, SparseTensor):
        return _ops.add(*(to_dense(x, validate_indices=False) if isinstance(x, SparseTensor) else x for x in (a, b)))
    places, where = _united(a, b)
    values = _ops.records["unsorted_segment_sum"](_ops.concat([a.values, b.values], 0), where, len(places))
    return SparseTensor(places, values, a.shape)


def _of_both(choose):
    def function(sp_a, sp_b, name=None):
        places, _ = _united(sp_a, sp_b)
        dense = [_ops.gather_nd(to_dense(x, validate_indices=False), places) for x in (sp_a, sp_b)]
        return SparseTensor(places, _ops.records[choose](*dense), sp_a.shape)

    function.__name__ = function.__qualname__ = choose
    function.__doc__ = f"The {'larger' if choose == 'maximum' else 'smaller'} values of two sparse tensors, zero where one has none."
    return function


maximum, minimum = _of_both("maximum"), _of_both("minimum")


def slice(sp_input, start, size, name=None):  # noqa: A001  TensorFlow's name
    """The part from `start` on, of `size` at most."""
    places, _, sizes = _parts(sp_input)
    start = numpy.array(_tandem.as_ints(start))
    length = numpy.minimum(_tandem.as_ints(size), numpy.maximum(numpy.array(sizes) - start, 0))
    inside = numpy.nonzero(((places >= start) & (places < start + length)).all(axis=1))[0]
    return _kept(sp_input, places - start, inside, length.tolist())


def split(sp_input=None, num_split=None, axis=None, name=None):
    """Equal parts along an axis; the first ones are larger where it does not divide."""
    sizes, axis = sp_input.shape.as_list(), int(axis)
    each, more = divmod(sizes[axis], int(num_split))
    parts, begin = [], 0
    for part in range(int(num_split)):
        length = each + (part < more)
        start = [begin if i == axis else 0 for i in range(len(sizes))]
        parts.append(slice(sp_input, start, [length if i == axis else s for i, s in enumerate(sizes)]))
        begin += length
    return parts


def transpose(sp_input, perm=None, name=None):
    """The axes in another order; reversed when none is given."""
    places, values, sizes = _parts(sp_input)
    order = list(range(len(sizes)))[::-1] if perm is None else _tandem.as_ints(perm)
    return reorder(SparseTensor(places[:, order], values, [sizes[axis] for axis in order]))


def reshape(sp_input, shape, name=None):
    """The same values in another shape; one size may be -1."""
    places, values, sizes = _parts(sp_input)
    wanted = _tandem.as_ints(shape)
    if -1 in wanted:
        known = numpy.prod([size for size in wanted if size != -1], dtype=int)
        wanted = [int(numpy.prod(sizes)) // int(known) if size == -1 else size for size in wanted]
    flat = numpy.ravel_multi_index(tuple(places.T), sizes)
    return SparseTensor(numpy.stack(numpy.unravel_index(flat, wanted), axis=1), values, wanted)


def reset_shape(sp_input, new_shape=None):
    """The same values in another shape that holds them; the smallest unless told which."""
    places = sp_input.indices.numpy()
    least = [int(size) for size in places.max(0) + 1] if len(places) else [0] * sp_input.shape.rank
    sizes = least if new_shape is None else _tandem.as_ints(new_shape)
    if len(sizes) != len(least) or any(size < needed for size, needed in zip(sizes, least)):
        raise ValueError(f"reset_shape: values stand up to {least}, which new_shape {sizes} does not hold")
    return SparseTensor(sp_input.indices, sp_input.values, sizes)


def to_indicator(sp_input, vocab_size, name=None):
    """True at the numbers below vocab_size that a row holds: [..., vocab_size]."""
    rows = sp_input.shape.as_list()[:-1]
    marks = numpy.zeros([*rows, int(vocab_size)], bool)
    for place, number in zip(sp_input.indices.numpy(), sp_input.values.numpy()):
        if not 0 <= number < vocab_size:
            raise InvalidArgumentError(f"E0105 to_indicator: the value {number} is not between 0 and vocab_size, {vocab_size}")
        marks[(*place[:-1], number)] = True
    return _tandem.to_tensor(marks)


def expand_dims(sp_input, axis=None, name=None):
    """One more axis of size 1; the last when none is named."""
    places, values, sizes = _parts(sp_input)
    axis = -1 if axis is None else int(axis)
    axis = axis + len(sizes) + 1 if axis < 0 else axis
    return SparseTensor(numpy.insert(places, axis, 0, axis=1), values, [*sizes[:axis], 1, *sizes[axis:]])


def retain(sp_input, to_retain):
    """The values that are marked."""
    marks = _tandem.to_tensor(to_retain).numpy()
    return _kept(sp_input, sp_input.indices.numpy(), numpy.nonzero(marks)[0], sp_input.shape.as_list())


def map_values(op, *args, **kwargs):
    """op of the values, at the places that they have."""
    sparse = [arg for arg in (*args, *kwargs.values()) if isinstance(arg, SparseTensor)]
    if not sparse:
        raise ValueError("No SparseTensor in argument list of map_values")
    values = lambda arg: arg.values if isinstance(arg, SparseTensor) else arg  # noqa: E731
    return sparse[0].with_values(op(*map(values, args), **{name: values(arg) for name, arg in kwargs.items()}))


def eye(num_rows, num_columns=None, dtype="float32", name=None):
    """The unit matrix."""
    count = min(int(num_rows), int(num_rows if num_columns is None else num_columns))
    return SparseTensor([[i, i] for i in range(count)], _ops.ones([count], dtype), [int(num_rows), int(num_rows if num_columns is None else num_columns)])


def reduce_max(sp_input, axis=None, keepdims=None, output_is_sparse=False, name=None):
    """The largest value over axes, dense; what has no values is not counted."""
    dense = to_dense(sp_input, sp_input.dtype.min, validate_indices=False)
    return _ops.reduce_max(dense, axis, bool(keepdims))


def mask(a, mask_indices, name=None):
    """IndexedSlices without the rows named."""
    from ._indexed_slices import IndexedSlices

    dropped = set(_tandem.as_ints(mask_indices))
    rows = [at for at, row in enumerate(_tandem.as_ints(a.indices)) if row not in dropped]
    return IndexedSlices(_ops.gather(a.values, rows), _ops.gather(a.indices, rows), a.dense_shape)


def softmax(sp_input, name=None):
    """Softmax over the values of each row."""
    lowest = to_dense(sp_input, sp_input.dtype.min, validate_indices=False)
    return sp_input.with_values(_ops.gather_nd(_ops.records["softmax"](lowest), sp_input.indices))


def scaled(sparse, other, op):
    """sparse * number, sparse / number: or a dense tensor, of which the values at the places are taken."""
    other = _tandem.to_tensor_beside(other, sparse.dtype)
    at_places = other if other.ndim == 0 else _ops.gather_nd(_ops.broadcast_to(other, sparse.shape), sparse.indices)
    return sparse.with_values(_ops.records[op](sparse.values, at_places))


def fill_empty_rows(sp_input, default_value, name=None):
    """Every row has a value: rows without one get the default first; and which rows those were."""
    places, values, sizes = _parts(sp_input)
    empty = ~numpy.isin(numpy.arange(sizes[0]), places[:, 0])
    rows = numpy.nonzero(empty)[0]
    added = numpy.stack([rows, numpy.zeros_like(rows)], axis=1)
    default = _ops.broadcast_to(_tandem.to_tensor_beside(default_value, values.dtype), [len(rows)])
    filled = SparseTensor(numpy.concatenate([places, added]), _ops.concat([values, default], 0), sizes)
    return reorder(filled), _tandem.to_tensor(empty)
