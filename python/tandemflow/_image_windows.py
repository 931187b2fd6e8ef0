"""What tf.image does with windows of pictures: patches, and how alike two pictures are."""
import math

import numpy as np

from . import _dtypes, _ops, _tandem
from ._colours import convert_image_dtype
from ._conv import conv2d, depthwise_conv2d
from .errors import InvalidArgumentError


def extract_patches(images, sizes, strides, rates, padding, name=None):
    """Windows of pixels as channels: [batch, rows, columns, height * width * channels]."""
    images = _tandem.to_tensor(images)
    for what, value in (("sizes", sizes), ("strides", strides), ("rates", rates)):
        if len(value) != 4 or value[0] != 1 or value[3] != 1:
            raise InvalidArgumentError(f"extract_patches: {what} must be [1, rows, columns, 1], got {list(value)}")
    if images.ndim != 4:
        raise InvalidArgumentError(f"extract_patches: needs [batch, height, width, channels], got {images.shape}")
    height, width, channels = sizes[1], sizes[2], images.shape[3]
    kernel = np.eye(height * width * channels, dtype=np.float32).reshape(height, width, channels, -1)
    values = images if images.dtype.is_floating else _ops.cast(images, _dtypes.float32)
    patches = conv2d(values, _tandem.to_tensor(kernel, values.dtype), strides[1:3], padding.upper(), dilations=rates[1:3])
    return patches if images.dtype.is_floating else _ops.cast(patches, images.dtype)


def _bell(size, sigma, channels):
    """A filter [size, size, channels, 1] whose weights fall off as a normal distribution and add up to 1."""
    squares = (np.arange(size) - (size - 1) / 2.0) ** 2
    weights = np.exp(-0.5 * (squares[:, None] + squares[None, :]) / sigma**2)
    kernel = np.broadcast_to((weights / weights.sum())[:, :, None, None], (size, size, channels, 1))
    return _tandem.to_tensor(np.ascontiguousarray(kernel, dtype="float32"))


def ssim(img1, img2, max_val, filter_size=11, filter_sigma=1.5, k1=0.01, k2=0.03, return_index_map=False):
    """How alike the structures of two pictures are, a number a picture, 1 for equal ones; Wang and others, 2004."""
    first = _tandem.to_tensor(img1)
    largest = convert_image_dtype(_ops.cast(_tandem.to_tensor(max_val), first.dtype), _dtypes.float32)
    x, y = (convert_image_dtype(_tandem.to_tensor(image), _dtypes.float32) for image in (img1, img2))
    if x.shape != y.shape or x.ndim < 3:
        raise ValueError(f"ssim: needs two pictures, or batches of them, of one shape; got {x.shape} and {y.shape}")
    if min(x.shape[-3], x.shape[-2]) < filter_size:
        raise InvalidArgumentError(f"ssim: pictures of {x.shape[-3]}x{x.shape[-2]} are smaller than the filter, filter_size={filter_size}")
    batch, sizes = x.shape.as_list()[:-3], x.shape.as_list()[-3:]
    x, y = (_ops.reshape(image, [math.prod(batch), *sizes]) for image in (x, y))
    kernel = _bell(filter_size, filter_sigma, sizes[-1])
    blur = lambda image: depthwise_conv2d(image, kernel, [1, 1, 1, 1], "VALID")  # noqa: E731
    c1, c2 = _ops.square(largest * k1), _ops.square(largest * k2)
    mean_x, mean_y = blur(x), blur(y)
    product, squares = mean_x * mean_y, _ops.square(mean_x) + _ops.square(mean_y)
    luminance = (product * 2.0 + c1) / (squares + c1)
    contrast = (blur(x * y) * 2.0 - product * 2.0 + c2) / (blur(_ops.square(x) + _ops.square(y)) - squares + c2)
    index = luminance * contrast
    if return_index_map:
        index = _ops.reduce_mean(index, -1)
        return _ops.reshape(index, batch + index.shape.as_list()[1:])
    return _ops.reshape(_ops.reduce_mean(index, [1, 2, 3]), batch)
