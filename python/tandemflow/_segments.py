"""Segments and histograms: rows added up by the number of their segment."""
from . import _dtypes, _ops, _tandem
from ._ops import (
    cast,
    clip_by_value,
    floor,
    greater,
    maximum,
    records,
    reduce_max,
    reshape,
    sqrt,
    where as _choose,
    zeros_like,
)
from ._one_pass import in_one_pass
from .errors import InvalidArgumentError

_tensor = _tandem.to_tensor


def _sorted_segments(op, segment_ids):
    """The ids as a tensor and how many segments they name."""
    ids = _tensor(segment_ids)
    numbers = ids.numpy()
    if numbers.ndim != 1:
        raise InvalidArgumentError(f"{op}: segment_ids must have one axis, got {ids.shape}")
    if (numbers[1:] < numbers[:-1]).any() or (numbers.size and numbers[0] < 0):
        raise InvalidArgumentError(f"{op}: segment ids are not increasing; tf.math.unsorted_{op} takes them in any order")
    return ids, int(numbers[-1]) + 1 if numbers.size else 0


def _rows(segment_ids, data, num_segments):
    """How many rows each segment has, shaped to divide what unsorted_segment_sum gives."""
    ids = _tensor(segment_ids)
    count = records["unsorted_segment_sum"](_ops.ones(ids.shape, data.dtype), ids, num_segments)
    return reshape(count, [num_segments] + [1] * (data.ndim - ids.ndim))


def unsorted_segment_mean(data, segment_ids, num_segments, name=None):
    """The mean of the rows of each segment; 0 for an empty one."""
    data = _tensor(data)
    total = records["unsorted_segment_sum"](data, segment_ids, int(num_segments))
    return total / maximum(_rows(segment_ids, data, int(num_segments)), 1)


def unsorted_segment_sqrt_n(data, segment_ids, num_segments, name=None):
    """The sum of the rows of each segment divided by the square root of their number."""
    data = _tensor(data)
    total = records["unsorted_segment_sum"](data, segment_ids, int(num_segments))
    return total / sqrt(maximum(_rows(segment_ids, data, int(num_segments)), 1))


def segment_sum(data, segment_ids, name=None):
    """The sum of the rows of each segment; ids ascend."""
    ids, count = _sorted_segments("segment_sum", segment_ids)
    return records["unsorted_segment_sum"](data, ids, count)


def segment_prod(data, segment_ids, name=None):
    """The product of the rows of each segment; ids ascend."""
    ids, count = _sorted_segments("segment_prod", segment_ids)
    return records["unsorted_segment_prod"](data, ids, count)


def segment_mean(data, segment_ids, name=None):
    """The mean of the rows of each segment; ids ascend."""
    ids, count = _sorted_segments("segment_mean", segment_ids)
    data = _tensor(data)
    if data.dtype.is_integer:  # their sum divided in their own dtype, as in TensorFlow
        return _ops.truncatediv(records["unsorted_segment_sum"](data, ids, count), maximum(_rows(ids, data, count), 1))
    return unsorted_segment_mean(data, ids, count)


def _segment_extreme(op, data, segment_ids):
    ids, count = _sorted_segments(op, segment_ids)
    data = _tensor(data)
    found = records["unsorted_" + op](data, ids, count)
    if data.dtype.is_floating:  # the op begins with the lowest finite number: of a segment of infinities it is their mean
        end = _tensor(float("-inf" if op == "segment_max" else "inf"), data.dtype)
        others = records["unsorted_segment_max"](cast(_ops.not_equal(data, end), _dtypes.int32), ids, count)
        found = _choose(_ops.equal(others, 0), unsorted_segment_mean(data, ids, count), found)
    return _choose(greater(_rows(ids, data, count), 0), found, zeros_like(found))


def segment_max(data, segment_ids, name=None):
    """The largest of the rows of each segment; ids ascend; 0 for an empty one."""
    return _segment_extreme("segment_max", data, segment_ids)


def segment_min(data, segment_ids, name=None):
    """The smallest of the rows of each segment; ids ascend; 0 for an empty one."""
    return _segment_extreme("segment_min", data, segment_ids)


def bincount(arr, weights=None, minlength=None, maxlength=None, dtype=_dtypes.int32, name=None, axis=None, binary_output=False):
    """How often each number occurs, or the sum of its weights; numbers beyond maxlength do not count."""
    arr = _tensor(arr)
    if axis not in (None, 0, -1):
        raise ValueError(f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported.")
    length = int(reduce_max(arr).numpy()) + 1 if arr.shape.num_elements() else 0
    length = max(length, 0 if minlength is None else int(minlength))
    length = length if maxlength is None else min(length, int(maxlength))
    rows = arr.shape[0] if axis == -1 and arr.ndim == 2 else None
    arr = arr if arr.dtype in (_dtypes.int32, _dtypes.int64) else cast(arr, _dtypes.int32)
    if arr.shape.num_elements() and int(records["reduce_min"](arr).numpy()) < 0:
        raise InvalidArgumentError("bincount: arr must not be negative")
    outside = None if maxlength is None else _ops.greater_equal(arr, length)
    if rows is not None:  # every row counts by itself: its numbers follow those of the row before
        arr = arr + _ops.expand_dims(_ops.range(0, rows, dtype=arr.dtype) * length, 1)
    counted = reshape(arr if outside is None else _choose(outside, _ops.ones_like(arr) * -1, arr), [-1])
    values = _ops.ones(counted.shape, dtype) if weights is None or binary_output else reshape(_tensor(weights), [-1])
    sums = records["unsorted_segment_sum"](values, counted, length * (1 if rows is None else rows))
    sums = _ops.minimum(sums, _ops.ones_like(sums)) if binary_output else sums
    return sums if rows is None else reshape(sums, [rows, length])


def histogram_fixed_width_bins(values, value_range, nbins=100, dtype=_dtypes.int32, name=None):
    """The number of the bin each value falls into; what is outside the range falls into the first or last."""
    values = _tensor(values)
    ends = _tensor(value_range, values.dtype)
    if ends.shape.as_list() != [2]:
        raise InvalidArgumentError(f"histogram_fixed_width: value_range must be two numbers, got shape {ends.shape}")
    low, high = (float(v) for v in ends.numpy())
    if not low < high or int(nbins) < 1:
        raise InvalidArgumentError(f"histogram_fixed_width: needs value_range[0] < value_range[1] and nbins > 0, got [{low}, {high}], {nbins}")
    scale, before, last = (_tensor(number, _dtypes.float64) for number in (nbins / (high - low), low * nbins / (high - low), nbins - 1))
    return cast(_bins(values, scale, before, last), dtype)


@in_one_pass
def _bins(values, scale, before, last):
    return cast(clip_by_value(floor(cast(values, _dtypes.float64) * scale - before), 0.0, last), _dtypes.int32)


def histogram_fixed_width(values, value_range, nbins=100, dtype=_dtypes.int32, name=None):
    """How many values fall into each of nbins equal parts of the range."""
    bins = reshape(histogram_fixed_width_bins(values, value_range, nbins), [-1])
    return records["unsorted_segment_sum"](_ops.ones(bins.shape, dtype), bins, int(nbins))


exported = {name: value for name, value in globals().items() if getattr(value, "__module__", None) == __name__ and name[0] != "_" and name.islower()}
