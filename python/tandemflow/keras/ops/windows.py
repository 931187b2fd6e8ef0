"""keras.ops.unfold and fold: the windows of images as columns, and back."""
import numpy

from ... import _ops
from .._engine.operation import drawable
from ._convert import tensor


def _pair(value):
    return (int(value), int(value)) if not hasattr(value, "__len__") else tuple(map(int, value))


class _Windows:
    """Where the windows of images of a size lie."""

    def __init__(self, height, width, kernel_size, dilation, padding, stride):
        self.kernel, dilation, self.padding, stride = map(_pair, (kernel_size, dilation, padding, stride))
        padded = [size + 2 * pad for size, pad in zip((height, width), self.padding)]
        self.counts = [(size - step * (k - 1) - 1) // move + 1 for size, k, step, move in zip(padded, self.kernel, dilation, stride)]
        if min(self.counts) < 1:
            raise ValueError(f"windows of {self.kernel} (dilation {dilation}) do not fit into images of ({height}, {width}) with padding {self.padding}")
        rows, columns = (
            numpy.arange(k)[:, None] * step + numpy.arange(count)[None, :] * move for k, step, count, move in zip(self.kernel, dilation, self.counts, stride)
        )
        self.padded = padded
        # [kernel rows * kernel columns, windows]: the number of a pixel of the padded image
        self.places = (rows[:, None, :, None] * padded[1] + columns[None, :, None, :]).reshape(self.kernel[0] * self.kernel[1], -1)


@drawable
def unfold(x, kernel_size, dilation=1, padding=0, stride=1):
    """The windows of images [batch, channels, height, width], as [batch, channels * kernel, windows]."""
    x = tensor(x)
    if x.ndim != 4:
        raise ValueError(f"unfold: needs images of shape (N, C, H, W), got shape {tuple(x.shape)}")
    batch, channels, height, width = x.shape.as_list()
    windows = _Windows(height, width, kernel_size, dilation, padding, stride)
    x = _ops.pad(x, [[0, 0], [0, 0], [windows.padding[0]] * 2, [windows.padding[1]] * 2])
    flat = _ops.reshape(x, [-1 if batch is None else batch, channels, windows.padded[0] * windows.padded[1]])
    found = _ops.gather(flat, windows.places.reshape(-1), axis=2)
    return _ops.reshape(found, [-1 if batch is None else batch, channels * windows.places.shape[0], windows.places.shape[1]])


@drawable
def fold(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Images [batch, channels, height, width] of their windows [batch, channels * kernel, windows]: where these overlap they are added."""
    x = tensor(x)
    if x.ndim != 3:
        raise ValueError(f"fold: needs windows of shape (N, C * kernel, L), got shape {tuple(x.shape)}")
    height, width = _pair(output_size)
    windows = _Windows(height, width, kernel_size, dilation, padding, stride)
    batch, depth, count = x.shape.as_list()
    each, total = windows.places.shape
    if count != total or depth % each:
        raise ValueError(f"fold: images of ({height}, {width}) have {total} windows of a multiple of {each} values, got shape {tuple(x.shape)}")
    columns = _ops.transpose(_ops.reshape(x, [batch * (depth // each), each * total]), [1, 0])
    pixels = _ops.records["unsorted_segment_sum"](columns, windows.places.reshape(-1), windows.padded[0] * windows.padded[1])
    images = _ops.reshape(_ops.transpose(pixels, [1, 0]), [batch, depth // each, *windows.padded])
    top, left = windows.padding
    return images[:, :, top : top + height, left : left + width]
