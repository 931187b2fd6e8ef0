"""What tf.image does with windows of pictures: patches, and how alike two pictures are."""
import math

import numpy as np

from . import _dtypes, _ops, _tandem
from ._colours import convert_image_dtype
from ._conv import avg_pool2d, depthwise_conv2d
from .errors import InvalidArgumentError


def extract_patches(images, sizes, strides, rates, padding, name=None):
    """Windows of pixels as channels: [batch, rows, columns, height * width * channels]."""
    images = _tandem.to_tensor(images)
    for what, value in (("sizes", sizes), ("strides", strides), ("rates", rates)):
        if len(value) != 4 or value[0] != 1 or value[3] != 1:
            raise InvalidArgumentError(f"extract_patches: {what} must be [1, rows, columns, 1], got {list(value)}")
    if images.ndim != 4:
        raise InvalidArgumentError(f"extract_patches: needs [batch, height, width, channels], got {images.shape}")
    if padding.upper() == "SAME":
        images = _ops.pad(images, [[0, 0], *(_margin(*of_axis) for of_axis in zip(images.shape[1:3], sizes[1:3], strides[1:3], rates[1:3])), [0, 0]])
    counts = [int((size - 1 - (window - 1) * rate + stride) / stride) for size, window, stride, rate in zip(images.shape[1:3], sizes[1:3], strides[1:3], rates[1:3])]
    if min(counts) < 0:
        raise InvalidArgumentError(f"extract_patches: windows of {list(sizes[1:3])} with rates {list(rates[1:3])} do not fit into {images.shape}")
    if not all(counts):
        return _ops.zeros([images.shape[0], *counts, sizes[1] * sizes[2] * images.shape[3]], images.dtype)
    ends = [(count - 1) * stride + 1 for count, stride in zip(counts, strides[1:3])]
    # By slices, not by a product with zeros and ones, in which one infinite pixel would spoil its whole window.
    parts = [images[:, i : i + ends[0] : strides[1], j : j + ends[1] : strides[2]] for i, j in np.ndindex(*sizes[1:3]) for i, j in [(i * rates[1], j * rates[2])]]
    return _ops.concat(parts, -1)


def _margin(size, window, stride, rate):
    """Zeros before and after an axis, so that a window begins at every stride."""
    missing = max((-(-size // stride) - 1) * stride + (window - 1) * rate + 1 - size, 0)
    return [missing // 2, missing - missing // 2]


def _bell(size, sigma, channels):
    """A filter [size, size, channels, 1] whose weights fall off as a normal distribution and add up to 1."""
    squares = (np.arange(size) - (size - 1) / 2.0) ** 2
    weights = np.exp(-0.5 * (squares[:, None] + squares[None, :]) / sigma**2)
    kernel = np.broadcast_to((weights / weights.sum())[:, :, None, None], (size, size, channels, 1))
    return _tandem.to_tensor(np.ascontiguousarray(kernel, dtype="float32"))


def _likeness(x, y, largest, filter_size, filter_sigma, k1, k2):
    """(luminance, contrast and structure) of two batches of pictures at every place of the filter."""
    kernel = _bell(filter_size, filter_sigma, x.shape[-1])
    blur = lambda image: depthwise_conv2d(image, kernel, [1, 1, 1, 1], "VALID")  # noqa: E731
    c1, c2 = _ops.square(largest * k1), _ops.square(largest * k2)
    mean_x, mean_y = blur(x), blur(y)
    product, squares = mean_x * mean_y, _ops.square(mean_x) + _ops.square(mean_y)
    luminance = (product * 2.0 + c1) / (squares + c1)
    contrast = (blur(x * y) * 2.0 - product * 2.0 + c2) / (blur(_ops.square(x) + _ops.square(y)) - squares + c2)
    return luminance, contrast


def _pair(who, img1, img2, max_val, filter_size):
    """Two batches of pictures as float32, the largest value of a pixel, and the shape of the batch."""
    first = _tandem.to_tensor(img1)
    largest = convert_image_dtype(_ops.cast(_tandem.to_tensor(max_val), first.dtype), _dtypes.float32)
    x, y = (convert_image_dtype(_tandem.to_tensor(image), _dtypes.float32) for image in (img1, img2))
    if x.shape != y.shape or x.ndim < 3:
        raise ValueError(f"{who}: needs two pictures, or batches of them, of one shape; got {x.shape} and {y.shape}")
    if min(x.shape[-3], x.shape[-2]) < filter_size:
        raise InvalidArgumentError(f"{who}: pictures of {x.shape[-3]}x{x.shape[-2]} are smaller than the filter, filter_size={filter_size}")
    batch, sizes = x.shape.as_list()[:-3], x.shape.as_list()[-3:]
    x, y = (_ops.reshape(image, [math.prod(batch), *sizes]) for image in (x, y))
    return x, y, largest, batch


def ssim(img1, img2, max_val, filter_size=11, filter_sigma=1.5, k1=0.01, k2=0.03, return_index_map=False):
    """How alike the structures of two pictures are, a number a picture, 1 for equal ones; Wang and others, 2004."""
    x, y, largest, batch = _pair("ssim", img1, img2, max_val, filter_size)
    luminance, contrast = _likeness(x, y, largest, filter_size, filter_sigma, k1, k2)
    index = luminance * contrast
    if return_index_map:
        index = _ops.reduce_mean(index, -1)
        return _ops.reshape(index, batch + index.shape.as_list()[1:])
    return _ops.reshape(_ops.reduce_mean(index, [1, 2, 3]), batch)


def _halved(image):
    """Each square of four pixels as one; an odd row or column counts twice."""
    odd = [size % 2 for size in image.shape.as_list()[1:3]]
    return avg_pool2d(_ops.pad(image, [[0, 0], [0, odd[0]], [0, odd[1]], [0, 0]], "SYMMETRIC") if any(odd) else image, 2, 2, "VALID")


def ssim_multiscale(img1, img2, max_val, power_factors=(0.0448, 0.2856, 0.3001, 0.2363, 0.1333), filter_size=11, filter_sigma=1.5, k1=0.01, k2=0.03):
    """ssim of two pictures and of their halves, quarters, …, each counting as its power says; Wang and others, 2003."""
    x, y, largest, batch = _pair("ssim_multiscale", img1, img2, max_val, filter_size)
    scores = []
    for scale in range(len(power_factors)):
        if scale:
            x, y = _halved(x), _halved(y)
            if min(x.shape[1:3]) < filter_size:
                raise InvalidArgumentError(f"ssim_multiscale: halved {scale} times, pictures of {x.shape[1]}x{x.shape[2]} are smaller than the filter, filter_size={filter_size}")
        luminance, contrast = _likeness(x, y, largest, filter_size, filter_sigma, k1, k2)
        score = luminance * contrast if scale == len(power_factors) - 1 else contrast
        scores.append(_ops.relu(_ops.reduce_mean(score, [1, 2])))
    powers = _tandem.to_tensor(list(power_factors), _dtypes.float32)
    return _ops.reshape(_ops.reduce_mean(_ops.reduce_prod(_ops.pow(_ops.stack(scores, -1), powers), -1), -1), batch)
