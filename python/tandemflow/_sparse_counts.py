"""tf.sparse: how often values occur, and segments of rows that are named by numbers."""
import numpy as np

from . import _tandem
from ._ops import gather
from ._segments import segment_mean as _mean
from ._segments import segment_sum as _sum
from ._segments import unsorted_segment_sqrt_n
from ._sparse import SparseTensor


def bincount(values, weights=None, axis=0, minlength=None, maxlength=None, binary_output=False, name=None):
    """A sparse count of the values: of all, or with axis=-1 of each row."""
    rows, numbers, shares = _listed(values, weights, axis)
    if minlength is not None and minlength < 0 or maxlength is not None and maxlength < 0:
        raise ValueError("minlength and maxlength must not be negative")
    width = max(int(numbers.max()) + 1 if numbers.size else 0, minlength or 0)
    if maxlength is not None:
        kept = numbers < maxlength
        rows, numbers, shares, width = rows[kept], numbers[kept], shares[kept], maxlength
    places, inverse = np.unique(np.stack([rows, numbers], 1), axis=0, return_inverse=True)
    counts = np.bincount(inverse.reshape(-1), shares, len(places)) if len(places) else np.zeros(0)
    dtype = np.asarray(shares).dtype if weights is not None else np.int32
    counts = np.ones(len(places), dtype) if binary_output else counts.astype(dtype)
    if axis == 0:
        return SparseTensor(places[:, 1:].astype(np.int64), counts, [width])
    return SparseTensor(places.astype(np.int64), counts, [_row_count(values), width])


def _row_count(values):
    return values.shape[0] if not hasattr(values, "nrows") else int(values.nrows())


def _listed(values, weights, axis):
    """Row, value and weight of each, one after the other."""
    if isinstance(values, SparseTensor):
        numbers, rows = values.values.numpy(), values.indices.numpy()[:, 0]
        shares = None if weights is None else weights.values.numpy()
    elif hasattr(values, "value_rowids"):
        numbers, rows = values.flat_values.numpy(), values.value_rowids().numpy()
        shares = None if weights is None else weights.flat_values.numpy()
    else:
        dense = _tandem.to_tensor(values).numpy()
        numbers = dense.reshape(-1)
        rows = np.repeat(np.arange(dense.shape[0]), dense[0].size) if dense.ndim > 1 else np.zeros(dense.size, np.int64)
        shares = None if weights is None else _tandem.to_tensor(weights).numpy().reshape(-1)
    rows = np.zeros_like(rows) if axis == 0 else rows
    return rows, numbers.astype(np.int64), np.ones(numbers.size, np.int64) if shares is None else shares


def segment_sum(data, indices, segment_ids, num_segments=None, name=None, sparse_gradient=False):
    """The sums of rows of `data` that `indices` names, by segment; ids ascend."""
    return _of_segments(_sum, data, indices, segment_ids, num_segments)


def segment_mean(data, indices, segment_ids, num_segments=None, name=None, sparse_gradient=False):
    """The means of rows of `data` that `indices` names, by segment."""
    return _of_segments(_mean, data, indices, segment_ids, num_segments)


def segment_sqrt_n(data, indices, segment_ids, num_segments=None, name=None, sparse_gradient=False):
    """The sums, divided by the root of the number of rows."""
    ids = _tandem.to_tensor(segment_ids)
    count = int(num_segments) if num_segments is not None else int(ids.numpy().max()) + 1 if ids.shape[0] else 0
    return unsorted_segment_sqrt_n(gather(data, indices), ids, count)


def _of_segments(op, data, indices, segment_ids, num_segments):
    out = op(gather(_tandem.to_tensor(data), indices), segment_ids)
    missing = 0 if num_segments is None else int(num_segments) - out.shape[0]
    if missing <= 0:
        return out
    from ._ops import pad

    return pad(out, [[0, missing]] + [[0, 0]] * (out.ndim - 1))
