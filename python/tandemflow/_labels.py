"""Rows of labels: what repeats in them taken out, and isotonic regression, which makes rows monotone."""
import numpy as np

from . import _ops, _tandem
from ._arrays import boolean_mask, sequence_mask, where
from ._gradient import custom_gradient
from ._on_host import computed


def collapse_repeated(labels, seq_length, name=None):
    """[batch, time] with equal neighbours made one, filled up with zeros, and how many are left of each row."""
    labels, lengths = _tandem.to_tensor(labels), _tandem.to_tensor(seq_length)
    first = _ops.ones_like(labels[:, :1], dtype="bool")
    kept = _ops.logical_and(_ops.concat([first, _ops.not_equal(labels[:, 1:], labels[:, :-1])], 1), sequence_mask(lengths, labels.shape[1]))
    counts = _ops.reduce_sum(_ops.cast(kept, "int32"), 1)
    longest = int(_ops.reduce_max(counts)) if labels.shape[0] else 0
    places = where(sequence_mask(counts, longest))
    return _ops.scatter_nd(places, boolean_mask(labels, kept), [labels.shape[0], longest]), _ops.cast(counts, lengths.dtype)


def ctc_unique_labels(labels, name=None):
    """(the labels of each row, each once, filled up with zeros; which of them stands at each place)"""
    rows = _tandem.to_tensor(labels).numpy()
    unique, places = np.zeros(rows.shape, np.int64), np.zeros(rows.shape, np.int32)
    for number, row in enumerate(rows):
        known = {}
        places[number] = [known.setdefault(int(label), len(known)) for label in row]
        unique[number, : len(known)] = list(known)
    return _tandem.to_tensor(unique), _tandem.to_tensor(places)


def _pooled(rows):
    """Falling rows nearest to the given ones, and which block of equal values each element belongs to: neighbours that rise are averaged."""
    values, blocks = np.empty(rows.shape), np.empty(rows.shape, np.int32)
    for number, row in enumerate(rows.astype(np.float64)):
        sums, counts = [], []
        for value in row:
            sums.append(value)
            counts.append(1)
            while len(sums) > 1 and sums[-2] / counts[-2] < sums[-1] / counts[-1]:
                sums[-2:], counts[-2:] = [sums[-2] + sums[-1]], [counts[-2] + counts[-1]]
        values[number] = np.repeat(np.divide(sums, counts), counts)
        blocks[number] = np.repeat(np.arange(len(counts)), counts)
    return values, blocks


def isotonic_regression(inputs, decreasing=True, axis=-1):
    """(the monotone rows along an axis that are nearest to the given ones, the blocks of equal values in them)"""
    x = _tandem.to_tensor(inputs)
    x = x if x.dtype.is_floating else _ops.cast(x, "float32" if x.dtype.size < 4 else "float64")
    axis += x.ndim if axis < 0 else 0
    order = [i for i in range(x.ndim) if i != axis] + [axis]
    back = [order.index(i) for i in range(x.ndim)]
    turned = _ops.transpose(x, order)
    sizes, length = turned.shape.as_list(), turned.shape[-1]
    sign = 1.0 if decreasing else -1.0

    @custom_gradient
    def fit(rows):
        values, blocks = computed(_pooled, [rows], (rows.shape, rows.dtype), (rows.shape, "int32"))

        def grad(upstream, _=None):
            """Every element of a block moves the whole block by its share."""
            numbers = _ops.reshape(blocks + _ops.range(rows.shape[0])[:, None] * max(length, 1), [-1])
            many = rows.shape[0] * max(length, 1)
            total = _ops.records["unsorted_segment_sum"](_ops.reshape(upstream, [-1]), numbers, many)
            count = _ops.records["unsorted_segment_sum"](_ops.reshape(_ops.ones_like(upstream), [-1]), numbers, many)
            return _ops.reshape(_ops.gather(_ops.divide_no_nan(total, count), numbers), rows.shape)

        return (values, blocks), grad

    values, blocks = fit(_ops.reshape(turned * sign, [int(np.prod(sizes[:-1])), length]))
    return tuple(_ops.transpose(_ops.reshape(part, sizes), back) for part in (values * sign, blocks))
