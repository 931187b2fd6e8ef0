"""Tensors taken apart and put together by indices, sequences turned around, blocks of pixels moved between axes."""
import math

from . import _dtypes, _tandem
from ._arrays import boolean_mask
from ._ops import cast, concat, equal, expand_dims, floordiv, floormod, gather, pad, range as _range, reshape, scatter_nd, stack
from ._ops import tensor_scatter_nd_update, transpose, where, zeros
from .errors import InvalidArgumentError


def dynamic_partition(data, partitions, num_partitions, name=None):
    """A list of `num_partitions` tensors: of each the entries of `data` whose partition it is, in their order."""
    data, partitions = _tandem.to_tensor(data), _tandem.to_tensor(partitions)
    rank = partitions.shape.rank
    if data.shape.as_list()[:rank] != partitions.shape.as_list():
        raise InvalidArgumentError(f"dynamic_partition: data of shape {data.shape} must begin with the shape of partitions, {partitions.shape}")
    return [boolean_mask(data, equal(partitions, _tandem.to_tensor(i, partitions.dtype))) for i in range(num_partitions)]


def dynamic_stitch(indices, data, name=None):
    """One tensor of the entries of all `data`, each at its index; of entries with the same index the last."""
    indices = [_tandem.to_tensor(index) for index in indices]
    parts = [_tandem.to_tensor(part) for part in data]
    tail = parts[0].shape.as_list()[indices[0].shape.rank :]
    flat = concat([reshape(index, [-1]) for index in indices], 0)
    rows = concat([reshape(part, [-1, *tail]) for part in parts], 0)
    if flat.shape.num_elements() == 0:
        return rows
    length = int(flat.numpy().max()) + 1
    return tensor_scatter_nd_update(zeros([length, *tail], rows.dtype), expand_dims(flat, -1), rows)


def invert_permutation(x, name=None):
    """y with y[x[i]] = i."""
    x = _tandem.to_tensor(x)
    if _tandem.executing_eagerly() and len({*x.numpy().tolist()}) < x.shape[0]:
        raise InvalidArgumentError("invert_permutation: a number is duplicated in the input")
    return scatter_nd(expand_dims(x, -1), cast(_range(x.shape[0]), x.dtype), [x.shape[0]])


def reverse_sequence(input, seq_lengths, seq_axis=None, batch_axis=None, name=None):
    """Turns the first seq_lengths[i] steps of sequence i around; the rest stays."""
    x, time, batch = _tandem.to_tensor(input), seq_axis or 0, batch_axis or 0
    rank = x.shape.rank
    if not -rank <= time < rank or not -rank <= batch < rank:
        raise InvalidArgumentError(f"reverse_sequence: seq_axis {time} and batch_axis {batch} must be axes of {x.shape}")
    time, batch = time % rank, batch % rank
    if time == batch:
        raise InvalidArgumentError(f"reverse_sequence: seq_axis and batch_axis must differ, both are {time}")
    order = [batch, time, *(i for i in range(rank) if i not in (batch, time))]
    lengths = expand_dims(cast(_tandem.to_tensor(seq_lengths), _dtypes.int32), -1)
    places = expand_dims(_range(x.shape[time]), 0)
    turned = gather(transpose(x, order), where(places < lengths, lengths - 1 - places, places), batch_dims=1)
    return transpose(turned, [order.index(i) for i in range(rank)])


def unravel_index(indices, dims, name=None):
    """The coordinates of flat indices in a tensor of the shape `dims`: a row for each axis."""
    indices = _tandem.to_tensor(indices)
    sizes = [int(size) for size in _tandem.to_tensor(dims).numpy()]
    steps = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    return stack([floormod(floordiv(indices, step), size) for step, size in zip(steps, sizes)], 0)


def space_to_depth(input, block_size, data_format="NHWC", name=None):
    """Blocks of block_size by block_size pixels as channels."""
    from .keras.ops.neural import space_to_depth as with_format

    return with_format(input, block_size, _keras_format(data_format))


def depth_to_space(input, block_size, data_format="NHWC", name=None):
    """Channels as blocks of block_size by block_size pixels."""
    from .keras.ops.neural import depth_to_space as with_format

    return with_format(input, block_size, _keras_format(data_format))


def _keras_format(data_format):
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError(f'data_format must be "NHWC" or "NCHW", got {data_format!r}')
    return "channels_last" if data_format == "NHWC" else "channels_first"


def space_to_batch(input, block_shape, paddings, name=None):
    """Blocks of the axes after the first as entries of the batch; the axes are padded first."""
    x, blocks = _tandem.to_tensor(input), [int(n) for n in _tandem.to_tensor(block_shape).numpy()]
    margins = [[int(n) for n in pair] for pair in _tandem.to_tensor(paddings).numpy()]
    x = pad(x, [[0, 0], *margins, *([[0, 0]] * (x.shape.rank - 1 - len(blocks)))])
    batch, *sizes = x.shape.as_list()
    for size, n in zip(sizes, blocks):
        if size % n:
            raise InvalidArgumentError(f"space_to_batch: an axis of {size} with its padding is no multiple of the block's {n}")
    rest, count = sizes[len(blocks) :], len(blocks)
    split = [word for size, n in zip(sizes, blocks) for word in (size // n, n)]
    order = [*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count + 1, 2), *range(2 * count + 1, 2 * count + 1 + len(rest))]
    x = transpose(reshape(x, [batch, *split, *rest]), order)
    return reshape(x, [batch * math.prod(blocks), *(size // n for size, n in zip(sizes, blocks)), *rest])


def batch_to_space(input, block_shape, crops, name=None):
    """The way back of space_to_batch; `crops` is cut off afterwards."""
    x, blocks = _tandem.to_tensor(input), [int(n) for n in _tandem.to_tensor(block_shape).numpy()]
    batch, *sizes = x.shape.as_list()
    if batch % math.prod(blocks):
        raise InvalidArgumentError(f"batch_to_space: a batch of {batch} is no multiple of {math.prod(blocks)}, the size of the block {blocks}")
    count, rest, outer = len(blocks), sizes[len(blocks) :], batch // math.prod(blocks)
    order = [count, *(word for i in range(count) for word in (count + 1 + i, i)), *range(2 * count + 1, 2 * count + 1 + len(rest))]
    x = transpose(reshape(x, [*blocks, outer, *sizes]), order)
    x = reshape(x, [outer, *(size * n for size, n in zip(sizes, blocks)), *rest])
    cut = [slice(int(a), size * n - int(b)) for (a, b), size, n in zip(_tandem.to_tensor(crops).numpy(), sizes, blocks)]
    return x[(slice(None), *cut)]
