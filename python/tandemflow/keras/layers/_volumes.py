"""Convolution and pooling of volumes [batch, depth, height, width, channels], composed of those of images."""
from ... import _ops
from ..._conv import avg_pool2d, conv2d, max_pool2d


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


def conv3d(x, kernel, strides, padding, dilations=(1, 1, 1)):
    """The sum of 2-D convolutions, one for each slice of the kernel."""
    slices, count = _slices(x, kernel.shape[0], strides[0], dilations[0], padding)
    total = None
    for k, part in enumerate(slices):
        images = _ops.reshape(part, [-1, *part.shape.as_list()[2:]])
        out = conv2d(images, kernel[k], strides[1:], padding, dilations=dilations[1:])
        total = out if total is None else total + out
    return _ops.reshape(total, [-1, count, *total.shape.as_list()[1:]])


def _pool3d(pool, x, window, strides, padding, fill):
    """Over height and width of each slice, then over the slices under the window."""
    images = pool(_ops.reshape(x, [-1, *x.shape.as_list()[2:]]), window[1:], strides[1:], padding)
    volume = _ops.reshape(images, [-1, x.shape[1], *images.shape.as_list()[1:]])
    return _slices(volume, window[0], strides[0], 1, padding, fill)[0]


def max_pool3d(x, window, strides, padding):
    out, *others = _pool3d(max_pool2d, x, window, strides, padding, float("-inf"))
    for other in others:
        out = _ops.maximum(out, other)
    return out


def avg_pool3d(x, window, strides, padding):
    """The mean over the slices inside the volume."""
    parts = _pool3d(avg_pool2d, x, window, strides, padding, 0.0)
    inside = _slices(_ops.ones([1, x.shape[1], 1, 1, 1], x.dtype), window[0], strides[0], 1, padding)[0]
    return _ops.add_n(parts) / _ops.add_n(inside)
