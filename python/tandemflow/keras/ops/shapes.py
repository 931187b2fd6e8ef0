"""keras.ops: other shapes, orders and parts of tensors."""

from ... import _arrays, _matrices, _ops
from ._convert import axes_of, drawable, like, numbers, one_axis, tensor, together


@drawable
def reshape(x, newshape):
    """The same elements under another shape; one size may be -1."""
    sizes = [newshape] if isinstance(newshape, int) else [-1 if size is None else size for size in newshape]
    return _ops.reshape(tensor(x), sizes)


@drawable
def ravel(x):
    """The numbers along one axis."""
    return _ops.reshape(tensor(x), [-1])


@drawable
def transpose(x, axes=None):
    """The axes in another order; without one, turned around."""
    return _ops.transpose(tensor(x), None if axes is None else list(axes))


@drawable
def swapaxes(x, axis1, axis2):
    """The tensor with two axes exchanged."""
    x = tensor(x)
    a, b = one_axis(axis1, x.ndim), one_axis(axis2, x.ndim)
    order = list(range(x.ndim))
    order[a], order[b] = b, a
    return _ops.transpose(x, order)


@drawable
def moveaxis(x, source, destination):
    """Axes at other places, the rest in its order."""
    x = tensor(x)
    sources, targets = axes_of(source, x.ndim), axes_of(destination, x.ndim)
    order = [i for i in range(x.ndim) if i not in sources]
    for target, origin in sorted(zip(targets, sources)):
        order.insert(target, origin)
    return _ops.transpose(x, order)


@drawable
def expand_dims(x, axis):
    """New axes of size 1."""
    x = tensor(x)
    axes = axis if isinstance(axis, (list, tuple)) else [axis]
    rank = x.ndim + len(axes)
    for at in sorted(one_axis(a, rank) for a in axes):
        x = _ops.expand_dims(x, at)
    return x


@drawable
def squeeze(x, axis=None):
    """Without axes of size 1."""
    return _ops.squeeze(tensor(x), list(axis) if isinstance(axis, tuple) else axis)


@drawable
def broadcast_to(x, shape):
    """x repeated along axes of size 1 until it has the shape."""
    return _ops.broadcast_to(tensor(x), list(shape))


@drawable
def concatenate(xs, axis=0):
    """Tensors one after another."""
    return _ops.concat(together(*xs), -1 if axis is None else axis)


@drawable
def append(x1, x2, axis=None):
    """The values behind those of x, along an axis; flat without one."""
    x1, x2 = together(x1, x2)
    if axis is None:
        return _ops.concat([_ops.reshape(x1, [-1]), _ops.reshape(x2, [-1])], 0)
    return _ops.concat([x1, x2], axis)


@drawable
def stack(x, axis=0):
    """Tensors of one shape along a new axis."""
    return _ops.stack(together(*x), axis)


def _at_least(x, rank):
    """As np.atleast_2d and atleast_3d have it."""
    if rank == 1:
        return _ops.reshape(x, [1]) if x.ndim == 0 else x
    if rank == 2:
        return x if x.ndim >= 2 else _ops.reshape(x, [1, -1])
    if x.ndim >= 3:
        return x
    return _ops.expand_dims(x, -1) if x.ndim == 2 else _ops.reshape(x, [1, -1, 1])


@drawable
def vstack(xs):
    """Tensors joined along the first axis; those with one axis are rows."""
    return _ops.concat([_at_least(x, 2) for x in together(*xs)], 0)


@drawable
def hstack(xs):
    """Tensors joined along the second axis, or along the only one."""
    xs = [_at_least(x, 1) for x in together(*xs)]
    return _ops.concat(xs, 0 if xs[0].ndim == 1 else 1)


@drawable
def dstack(xs):
    """Tensors joined along the third axis."""
    return _ops.concat([_at_least(x, 3) for x in together(*xs)], 2)


@drawable
def split(x, indices_or_sections, axis=0):
    """Equal parts, or parts that begin at the places given."""
    x = tensor(x)
    axis = one_axis(axis, x.ndim)
    if isinstance(indices_or_sections, int):
        return _ops.split(x, indices_or_sections, axis)
    places = [0, *[int(i) for i in indices_or_sections], x.shape[axis]]
    return _ops.split(x, [b - a for a, b in zip(places, places[1:])], axis)


@drawable
def array_split(x, indices_or_sections, axis=0):
    """Parts of nearly equal size."""
    x = tensor(x)
    if not isinstance(indices_or_sections, int):
        return split(x, indices_or_sections, axis)
    size, count = x.shape[axis], indices_or_sections
    return _ops.split(x, [size // count + (i < size % count) for i in range(count)], one_axis(axis, x.ndim))


@drawable
def unstack(x, num=None, axis=0):
    """The slices along an axis."""
    return _ops.unstack(tensor(x), num, axis)


@drawable
def tile(x, repeats):
    """The tensor repeated along each axis."""
    x = tensor(x)
    times = [repeats] if isinstance(repeats, int) else list(repeats)
    times = [1] * (x.ndim - len(times)) + times
    while x.ndim < len(times):
        x = _ops.expand_dims(x, 0)
    return _ops.tile(x, times)


@drawable
def repeat(x, repeats, axis=None):
    """Each element several times."""
    return _arrays.repeat(tensor(x), repeats, axis)


@drawable
def roll(x, shift, axis=None):
    """Elements moved along axes; those that leave come in at the front."""
    x = tensor(x)
    if axis is None:
        return _ops.reshape(_arrays.roll(_ops.reshape(x, [-1]), shift, 0), x.shape)
    return _arrays.roll(x, shift, axis)


@drawable
def flip(x, axis=None):
    """Read backwards along axes."""
    x = tensor(x)
    return _arrays.reverse(x, axes_of(axis, x.ndim))


@drawable
def fliplr(x):
    """Columns in the other order."""
    return _arrays.reverse(tensor(x), [1])


@drawable
def flipud(x):
    """Rows in the other order."""
    return _arrays.reverse(tensor(x), [0])


@drawable
def rot90(array, k=1, axes=(0, 1)):
    """Turned by 90 degrees, k times, from the first axis to the second."""
    x = tensor(array)
    a, b = (one_axis(axis, x.ndim) for axis in axes)
    if k % 4 == 0:
        return x
    if k % 4 == 2:
        return _arrays.reverse(x, [a, b])
    order = list(range(x.ndim))
    order[a], order[b] = b, a
    turned = _ops.transpose(x, order)
    return _arrays.reverse(turned, [a] if k % 4 == 1 else [b])


@drawable
def pad(x, pad_width, mode="constant", constant_values=None):
    """A margin around the tensor."""
    x = tensor(x)
    if isinstance(pad_width, int):
        pad_width = ((pad_width, pad_width),) * x.ndim
    pairs = [tuple(p) if isinstance(p, (tuple, list)) else (p, p) for p in pad_width]
    pairs = pairs * x.ndim if len(pairs) == 1 else pairs
    if mode == "constant":
        return _ops.pad(x, pairs, constant_values=0 if constant_values is None else constant_values)
    if constant_values is not None:
        raise ValueError(f"Argument `constant_values` can only be provided when `mode == 'constant'`. Received: mode={mode}")
    return _ops.pad(x, pairs, mode)


@drawable
def get_item(x, key):
    """x[key]"""
    return tensor(x)[key]


@drawable
def slice(inputs, start_indices, shape):
    """A block of a shape, from a place on."""
    from ... import _tandem

    return _ops.slice(tensor(inputs), _tandem.as_ints(start_indices), list(shape))


@drawable
def slice_update(inputs, start_indices, updates):
    """The tensor with a block replaced."""
    from ... import _tandem

    x, updates = tensor(inputs), tensor(updates)
    starts, sizes = _tandem.as_ints(start_indices), updates.shape.as_list()
    margins = [(a, total - a - n) for a, n, total in zip(starts, sizes, x.shape.as_list())]
    inside = _ops.pad(_ops.cast(_ops.ones(sizes), "bool"), margins, constant_values=False)
    return _ops.where(inside, _ops.pad(_ops.cast(updates, x.dtype), margins), x)


@drawable
def diag(x, k=0):
    """A matrix with x on its k-th diagonal, or the diagonal of a matrix."""
    x = tensor(x)
    if x.ndim == 1:
        return _matrices.diag(x, k=k)
    return _matrices.diag_part(x, k=k)


@drawable
def diagflat(x, k=0):
    """A matrix with the values, flat, along a diagonal."""
    return like(_matrices.diag(_ops.reshape(numbers(x), [-1]), k=k), x)


@drawable
def diagonal(x, offset=0, axis1=0, axis2=1):
    """The diagonals of two axes, at the end."""
    x = tensor(x)
    a, b = one_axis(axis1, x.ndim), one_axis(axis2, x.ndim)
    order = [i for i in range(x.ndim) if i not in (a, b)] + [a, b]
    return _matrices.diag_part(_ops.transpose(x, order), k=offset)


@drawable
def trace(x, offset=0, axis1=0, axis2=1):
    """The sum of a diagonal."""
    x = tensor(x)
    return _ops.reduce_sum(diagonal(_ops.cast(x, "int32") if x.dtype.name == "bool" else x, offset, axis1, axis2), -1)


def _triangle(x, k, keep):
    x = tensor(x)
    rows, columns = _ops.range(x.shape[-2]), _ops.range(x.shape[-1])
    return _ops.where(keep(_ops.expand_dims(rows, 1) + k, _ops.expand_dims(columns, 0)), x, _ops.zeros_like(x))


@drawable
def tril(x, k=0):
    """What stands on and below the k-th diagonal."""
    return _triangle(x, k, lambda row, column: row >= column)


@drawable
def triu(x, k=0):
    """What stands on and above the k-th diagonal."""
    return _triangle(x, k, lambda row, column: row <= column)


