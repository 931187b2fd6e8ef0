"""Convolution and pooling of volumes [batch, depth, height, width, channels], composed of those of images."""
from . import _ops, _tandem
from ._conv import _LAST, _channels_first, _numbers, avg_pool1d, avg_pool2d, conv2d, conv2d_transpose, max_pool1d, max_pool2d
from .errors import UnimplementedError


def _word(op, padding):
    if not isinstance(padding, str) or padding.upper() not in ("SAME", "VALID"):
        raise UnimplementedError(f"{op}: padding must be 'SAME' or 'VALID', got {padding!r}; use tf.pad for others")
    return padding.upper()


def _volume(op, input):
    x = _tandem.to_tensor(input)
    if x.ndim != 5:
        raise ValueError(f"{op}: needs [batch, depth, height, width, channels], got {x.shape}")
    return x


def _margin(size, window, stride, dilation, padding):
    """What 'SAME' puts before and after an axis, as TensorFlow counts it."""
    if padding == "VALID":
        return 0, 0
    reach = (window - 1) * dilation + 1
    total = max((-(-size // stride) - 1) * stride + reach - size, 0)
    return total // 2, total - total // 2


def _slices(x, window, stride, dilation, padding, fill=0.0):
    """For each place of the window along the depth: the slices under it, and how many there are."""
    before, after = _margin(x.shape[1], window, stride, dilation, padding)
    if before or after:
        x = _ops.pad(x, [[0, 0], [before, after], [0, 0], [0, 0], [0, 0]], constant_values=fill)
    count = (x.shape[1] - (window - 1) * dilation - 1) // stride + 1
    last = (count - 1) * stride + 1
    return [x[:, k * dilation : k * dilation + last : stride] for k in range(window)], count


def conv3d(input, filters, strides, padding, data_format="NDHWC", dilations=None, name=None):
    """A 3-D convolution with filters [depth, height, width, channels, outputs]: the sum of 2-D ones, one a slice of them."""
    if data_format not in _LAST:
        return _channels_first(conv3d, data_format, input, filters, strides=strides, padding=padding, dilations=dilations)
    padding, x, filters = _word("conv3d", padding), _volume("conv3d", input), _tandem.to_tensor(filters)
    if filters.ndim != 5:
        raise ValueError(f"conv3d: needs filters [depth, height, width, channels, outputs], got {filters.shape}")
    strides, dilations = _numbers("conv3d", "strides", strides, 3), _numbers("conv3d", "dilations", dilations, 3)
    slices, count = _slices(x, filters.shape[0], strides[0], dilations[0], padding)
    total = None
    for k, part in enumerate(slices):
        images = _ops.reshape(part, [-1, *part.shape.as_list()[2:]])
        out = conv2d(images, filters[k], strides[1:], padding, dilations=dilations[1:])
        total = out if total is None else total + out
    return _ops.reshape(total, [x.shape[0], count, *total.shape.as_list()[1:]])


def _spread(x, stride, before, length):
    """The slices of a volume `stride` apart along a depth of `length`, the first at `before`; what lies outside is cut off."""
    depth, rest = x.shape[1], x.shape.as_list()[2:]
    if stride > 1:
        gaps = _ops.zeros([x.shape[0], depth, stride - 1, *rest], x.dtype)
        x = _ops.reshape(_ops.concat([_ops.expand_dims(x, 2), gaps], 2), [-1 if depth and all(rest) else x.shape[0], depth * stride, *rest])
    x = x[:, max(-before, 0) : max(length - before, 0)]
    margins = [max(before, 0), max(length - max(before, 0) - x.shape[1], 0)]
    return _ops.pad(x, [[0, 0], margins, [0, 0], [0, 0], [0, 0]])


def conv3d_transpose(input, filters, output_shape, strides, padding="SAME", data_format="NDHWC", dilations=None, name=None):
    """The way back of conv3d with filters [depth, height, width, outputs, channels]: the sum of 2-D ones, one a slice of them."""
    if data_format not in _LAST:
        return _channels_first(
            conv3d_transpose, data_format, input, filters, output_shape=output_shape, strides=strides, padding=padding, dilations=dilations
        )
    padding, x, filters = _word("conv3d_transpose", padding), _volume("conv3d_transpose", input), _tandem.to_tensor(filters)
    if filters.ndim != 5:
        raise ValueError(f"conv3d_transpose: needs filters [depth, height, width, outputs, channels], got {filters.shape}")
    strides, dilations = _numbers("conv3d_transpose", "strides", strides, 3), _numbers("conv3d_transpose", "dilations", dilations, 3)
    sizes = _tandem.as_ints(output_shape)
    cut, _ = _margin(sizes[1], filters.shape[0], strides[0], dilations[0], padding)
    images = _ops.reshape(x, [-1, *x.shape.as_list()[2:]])
    total = None
    for k in range(filters.shape[0]):
        out = conv2d_transpose(images, filters[k], [images.shape[0], *sizes[2:]], strides[1:], padding, dilations=dilations[1:])
        part = _spread(_ops.reshape(out, [x.shape[0], x.shape[1], *sizes[2:]]), strides[0], k * dilations[0] - cut, sizes[1])
        total = part if total is None else total + part
    return total


def _batch(x, images):
    """How many volumes the images of x become: -1, which keeps the size open, where elements say so."""
    return -1 if x.shape[1] and all(images.shape.as_list()[1:]) else x.shape[0]


def _pool3d(op, pool, input, ksize, strides, padding, fill):
    """Over height and width of each slice, then the slices under the window."""
    x, window, strides = _volume(op, input), _numbers(op, "ksize", ksize, 3), _numbers(op, "strides", strides, 3)
    images = pool(_ops.reshape(x, [-1, *x.shape.as_list()[2:]]), window[1:], strides[1:], padding)
    volume = _ops.reshape(images, [_batch(x, images), x.shape[1], *images.shape.as_list()[1:]])
    inside = _ops.ones([1, x.shape[1], 1, 1, 1], x.dtype)
    return [_slices(values, window[0], strides[0], 1, padding, fill)[0] for values in (volume, inside)]


def max_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):
    """The largest value of each window of a volume."""
    if data_format not in _LAST:
        return _channels_first(max_pool3d, data_format, input, ksize=ksize, strides=strides, padding=padding)
    (out, *others), _ = _pool3d("max_pool3d", max_pool2d, input, ksize, strides, _word("max_pool3d", padding), float("-inf"))
    for other in others:
        out = _ops.maximum(out, other)
    return out


def avg_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):
    """The mean of each window of a volume; what lies outside is not counted."""
    if data_format not in _LAST:
        return _channels_first(avg_pool3d, data_format, input, ksize=ksize, strides=strides, padding=padding)
    parts, inside = _pool3d("avg_pool3d", avg_pool2d, input, ksize, strides, _word("avg_pool3d", padding), 0.0)
    return _ops.add_n(parts) / _ops.add_n(inside)


def _by_rank(op, pools, input, *rest):
    tensor = _tandem.to_tensor(input)
    if tensor.ndim not in (3, 4, 5):
        raise ValueError(f"{op}: needs one, two or three axes between batch and channels, got {tensor.shape}")
    return pools[tensor.ndim - 3](tensor, *rest)


def max_pool(input, ksize, strides, padding, data_format=None, name=None):
    """max_pool1d, max_pool2d or max_pool3d, as the input has axes."""
    return _by_rank("max_pool", (max_pool1d, max_pool2d, max_pool3d), input, ksize, strides, padding, data_format)


def avg_pool(input, ksize, strides, padding, data_format=None, name=None):
    """avg_pool1d, avg_pool2d or avg_pool3d, as the input has axes."""
    return _by_rank("avg_pool", (avg_pool1d, avg_pool2d, avg_pool3d), input, ksize, strides, padding, data_format)
