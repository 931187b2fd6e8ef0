"""Convolution and pooling as TensorFlow spells them: paddings by name or by number, channels last or first."""
import math

from . import _dtypes, _tandem
from ._ops import expand_dims, pad, records, reshape, squeeze, transpose
from .errors import InvalidArgumentError, UnimplementedError

_LAST = (None, "NHWC", "NWC", "NDHWC", "N...C")
_FIRST = ("NCHW", "NCW", "NCDHW", "NC...")


def _channels_first(function, data_format, input, *operands, **settings):
    """`function` of an input whose channels come first: that of the input, and of settings with a value an axis, with the channels last."""
    if data_format not in _FIRST:
        raise InvalidArgumentError(f"{function.__name__}: data_format must be one of {[*_LAST[1:], *_FIRST]}, got {data_format!r}")
    x = _tandem.to_tensor(input)
    if x.ndim < 3:
        raise ValueError(f"{function.__name__}: needs axes between batch and channels, got {x.shape}")
    settings = {name: _last(value, x.ndim) for name, value in settings.items()}
    y = function(transpose(x, [0, *range(2, x.ndim), 1]), *operands, **settings)
    return transpose(y, [0, x.ndim - 1, *range(1, x.ndim - 1)])


def _of_one_batch(convolve, input, axes):
    """The convolution over the last axes but one, of an input with more than one axis before those."""
    x = _tandem.to_tensor(input)
    sizes = x.shape.as_list()
    y = convolve(reshape(x, [math.prod(sizes[: -axes - 1]), *sizes[-axes - 1 :]]))
    return reshape(y, [*sizes[: -axes - 1], *y.shape.as_list()[1:]])


def _last(value, rank):
    """[batch, channels, height, width] as [batch, height, width, channels]; what has another length says nothing of channels."""
    if value is None or isinstance(value, (str, int)):
        return value
    values = list(value) if isinstance(value, (list, tuple)) else _tandem.as_ints(value)
    return [values[0], *values[2:], values[1]] if len(values) == rank else values


def _numbers(op, name, value, axes):
    """[1, h, w, 1], [h, w] or h, as [h, w]; likewise for one and three axes."""
    if value is None:
        return [1] * axes
    numbers = _tandem.as_ints(value)
    if len(numbers) == axes + 2:
        if numbers[0] != 1 or numbers[-1] != 1:
            raise UnimplementedError(f"{op}: {name} over batch or channels must be 1, got {numbers}")
        numbers = numbers[1:-1]
    if len(numbers) == 1:
        numbers = numbers * axes
    if len(numbers) != axes:
        raise ValueError(f"{op}: {name} must be one number, {axes} or {axes + 2}, got {numbers}")
    return numbers


def _padding(op, padding, axes):
    """What the record wants: the word, and the numbers of an explicit padding."""
    if isinstance(padding, str):
        return padding, []
    pairs = [_tandem.as_ints(pair) for pair in padding]
    if len(pairs) == axes + 2:
        if any(pairs[0]) or any(pairs[-1]):
            raise ValueError(f"{op}: batch and channels take no padding, got {pairs}")
        pairs = pairs[1:-1]
    if len(pairs) != axes or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"{op}: padding must be 'SAME', 'VALID' or [before, after] for each axis, got {padding!r}")
    return "explicit", [number for pair in pairs for number in pair]


def conv2d(input, filters, strides, padding, data_format="NHWC", dilations=None, name=None):
    """A 2-D convolution of [batch, height, width, channels] with filters [height, width, channels, outputs].

    Filters with fewer channels than the input work on groups of channels.
    """
    if data_format not in _LAST:
        return _channels_first(conv2d, data_format, input, filters, strides=strides, padding=padding, dilations=dilations)
    if getattr(input, "ndim", 4) > 4:
        return _of_one_batch(lambda x: conv2d(x, filters, strides, padding, data_format, dilations), input, 2)
    word, numbers = _padding("conv2d", padding, 2)
    strides, dilations = _numbers("conv2d", "strides", strides, 2), _numbers("conv2d", "dilations", dilations, 2)
    return records["conv2d"](input, filters, strides, word, dilations, numbers)


def depthwise_conv2d(input, filter, strides, padding, data_format=None, dilations=None, name=None):
    """Each channel with filters of its own: [height, width, channels, multiplier]."""
    if data_format not in _LAST:
        return _channels_first(depthwise_conv2d, data_format, input, filter, strides=strides, padding=padding, dilations=dilations)
    tensor, weights = _tandem.to_tensor(input), _tandem.to_tensor(filter)
    if weights.ndim != 4 or tensor.ndim != 4 or weights.shape[2] != tensor.shape[3]:
        raise ValueError(
            "depthwise_conv2d: needs an input [batch, height, width, channels] and a filter [height, width, channels, "
            f"multiplier], got {tensor.shape} and {weights.shape}"
        )
    height, width, channels, multiplier = weights.shape.as_list()
    grouped = reshape(weights, [height, width, 1, channels * multiplier])
    return conv2d(tensor, grouped, strides, padding, dilations=dilations)


def separable_conv2d(input, depthwise_filter, pointwise_filter, strides, padding, data_format=None, dilations=None, name=None):
    """depthwise_conv2d, then a 1 x 1 convolution that mixes the channels."""
    between = depthwise_conv2d(input, depthwise_filter, strides, padding, data_format, dilations)
    return conv2d(between, pointwise_filter, 1, "VALID", data_format or "NHWC")


def conv2d_transpose(input, filters, output_shape, strides, padding="SAME", data_format="NHWC", dilations=None, name=None):
    """The gradient of conv2d with respect to its input, as a layer; filters are [height, width, outputs, channels]."""
    if data_format not in _LAST:
        return _channels_first(
            conv2d_transpose, data_format, input, filters, output_shape=output_shape, strides=strides, padding=padding, dilations=dilations
        )
    word, numbers = _padding("conv2d_transpose", padding, 2)
    strides = _numbers("conv2d_transpose", "strides", strides, 2)
    dilations = _numbers("conv2d_transpose", "dilations", dilations, 2)
    sizes = _tandem.as_ints(output_shape)
    return records["conv2d_backprop_input"](filters, input, sizes, strides, word, dilations, numbers)


def _row_padding(op, padding):
    word, numbers = _padding(op, padding, 1)
    return word if word != "explicit" else [[0, 0], numbers]


def conv1d(input, filters, stride, padding, data_format="NWC", dilations=None, name=None):
    """A 1-D convolution of [batch, length, channels] with filters [length, channels, outputs]."""
    if data_format not in _LAST:
        return _channels_first(conv1d, data_format, input, filters, stride=stride, padding=padding, dilations=dilations)
    if getattr(input, "ndim", 3) > 3:
        return _of_one_batch(lambda x: conv1d(x, filters, stride, padding, data_format, dilations), input, 1)
    strides = [1] + _numbers("conv1d", "stride", stride, 1)
    dilations = [1] + _numbers("conv1d", "dilations", dilations, 1)
    row = conv2d(expand_dims(input, -3), expand_dims(filters, 0), strides, _row_padding("conv1d", padding), "NHWC", dilations)
    return squeeze(row, [-3])


def conv1d_transpose(input, filters, output_shape, strides, padding="SAME", data_format="NWC", dilations=None, name=None):
    """The gradient of conv1d with respect to its input, as a layer; filters are [length, outputs, channels]."""
    if data_format not in _LAST:
        return _channels_first(
            conv1d_transpose, data_format, input, filters, output_shape=output_shape, strides=strides, padding=padding, dilations=dilations
        )
    strides = [1] + _numbers("conv1d_transpose", "strides", strides, 1)
    dilations = [1] + _numbers("conv1d_transpose", "dilations", dilations, 1)
    batch, length, channels = _tandem.as_ints(output_shape)
    row = conv2d_transpose(
        expand_dims(input, -3), expand_dims(filters, 0), [batch, 1, length, channels], strides,
        _row_padding("conv1d_transpose", padding), "NHWC", dilations,
    )  # fmt: skip
    return squeeze(row, [-3])


def _pool2d(op, input, ksize, strides, padding):
    word, numbers = _padding(op, padding, 2)
    tensor = _tandem.to_tensor(input)
    if word == "explicit":
        if op != "max_pool2d":
            raise UnimplementedError(f"{op}: padding must be 'SAME' or 'VALID'; use tf.pad for others")
        margin, lowest = [[0, 0], numbers[:2], numbers[2:], [0, 0]], float("-inf") if tensor.dtype.is_floating else tensor.dtype.min
        tensor, word = pad(tensor, margin, constant_values=lowest), "valid"
    return records[op](tensor, _numbers(op, "ksize", ksize, 2), _numbers(op, "strides", strides, 2), word)


def _max_of_channels(tensor, count):
    *sizes, channels = tensor.shape.as_list()
    if channels % count:
        raise ValueError(f"max_pool2d: {channels} channels do not divide into windows of {count}")
    return records["reduce_max"](reshape(tensor, [*sizes, channels // count, count]), -1)


def max_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None):
    """The largest value of each window of [batch, height, width, channels]; or, [1, 1, 1, n], of n channels each."""
    if data_format not in _LAST:
        return _channels_first(max_pool2d, data_format, input, ksize=ksize, strides=strides, padding=padding)
    sizes = _tandem.as_ints(ksize)
    if len(sizes) == 4 and sizes[3] != 1 and sizes[:3] == [1, 1, 1] and _tandem.as_ints(strides) == sizes:
        return _max_of_channels(_tandem.to_tensor(input), sizes[3])
    return _pool2d("max_pool2d", input, ksize, strides, padding)


def avg_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None):
    """The mean of each window of [batch, height, width, channels]; what lies outside the image is not counted."""
    if data_format not in _LAST:
        return _channels_first(avg_pool2d, data_format, input, ksize=ksize, strides=strides, padding=padding)
    return _pool2d("avg_pool2d", input, ksize, strides, padding)


def _pool1d(op, pool, input, ksize, strides, padding):
    ksize, strides = [1] + _numbers(op, "ksize", ksize, 1), [1] + _numbers(op, "strides", strides, 1)
    return squeeze(pool(expand_dims(input, -3), ksize, strides, _row_padding(op, padding)), [-3])


def max_pool1d(input, ksize, strides, padding, data_format="NWC", name=None):
    """The largest value of each window of [batch, length, channels]."""
    if data_format not in _LAST:
        return _channels_first(max_pool1d, data_format, input, ksize=ksize, strides=strides, padding=padding)
    return _pool1d("max_pool1d", max_pool2d, input, ksize, strides, padding)


def avg_pool1d(input, ksize, strides, padding, data_format="NWC", name=None):
    """The mean of each window of [batch, length, channels]."""
    if data_format not in _LAST:
        return _channels_first(avg_pool1d, data_format, input, ksize=ksize, strides=strides, padding=padding)
    return _pool1d("avg_pool1d", avg_pool2d, input, ksize, strides, padding)


def max_pool_with_argmax(
    input, ksize, strides, padding, data_format="NHWC", output_dtype=_dtypes.int64, include_batch_in_index=False, name=None
):
    """The largest value of each window, and where it stands in its image or, if asked for, in the batch."""
    if data_format not in _LAST:
        raise ValueError(f"max_pool_with_argmax: data_format must be 'NHWC', got {data_format!r}; transpose the tensor")
    ksize = _numbers("max_pool_with_argmax", "ksize", ksize, 2)
    strides = _numbers("max_pool_with_argmax", "strides", strides, 2)
    return records["max_pool_with_argmax"](input, ksize, strides, padding, output_dtype, include_batch_in_index)
