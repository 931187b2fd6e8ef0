"""keras.ops.image: edges, likeness, perspective and patches of volumes."""
import numpy as np

from ... import _image_changes, _image_windows, _linalg, _ops, _tandem
from .. import random as _keras_random
from .._engine import data_format as formats
from .._engine import warping
from .._engine.operation import drawable as _drawable
from ..layers._images import as_given, channels_last
from ._convert import tensor
from .neural import conv


def drawable(function):
    """Decorates a function so that tensors of functional models may be given to it."""
    return _drawable(function, f"image.{function.__name__}")


@drawable
def sobel_edges(images, data_format=None):
    """[…, 2]: how much images change downwards and to the right."""
    data_format = formats.standardize(data_format)
    edges = _image_changes.sobel_edges(channels_last(tensor(images), data_format))
    return edges if data_format == "channels_last" else _ops.transpose(edges, [0, 3, 1, 2, 4])


@drawable
def ssim(image1, image2, max_val=1.0, filter_size=11, filter_sigma=1.5, k1=0.01, k2=0.03, data_format=None):
    """How alike the structures of images are: a number for each, 1 for equal ones."""
    data_format = formats.standardize(data_format)
    first, second = (channels_last(tensor(image), data_format) for image in (image1, image2))
    return _image_windows.ssim(first, second, max_val, filter_size, filter_sigma, k1, k2)


def _points(points, name):
    points = tensor(points, "float32")
    if points.ndim not in (2, 3) or tuple(points.shape[-2:]) != (4, 2):
        raise ValueError(f"Invalid {name} shape: expected (4,2) for a single image or (N,4,2) for a batch. Received shape: {tuple(points.shape)}")
    return points if points.ndim == 3 else _ops.expand_dims(points, 0)


def homography(start, end):
    """[n, 8]: for warping.affine, what brings the pixels at points `start` [n, 4, 2] of (x, y) to `end`."""
    x, y = end[..., 0:1], end[..., 1:2]
    one, none = _ops.ones_like(x), _ops.zeros_like(x)
    from_x, from_y = start[..., 0:1], start[..., 1:2]
    rows_x = _ops.concat([x, y, one, none, none, none, -from_x * x, -from_x * y], -1)
    rows_y = _ops.concat([none, none, none, x, y, one, -from_y * x, -from_y * y], -1)
    matrix, wanted = _ops.concat([rows_x, rows_y], 1), _ops.concat([from_x, from_y], 1)
    return _ops.squeeze(_linalg.solve(matrix, wanted), [2])


@drawable
def perspective_transform(images, start_points, end_points, interpolation="bilinear", fill_value=0, data_format=None):
    """Images as seen from elsewhere: their four points (x, y) `start_points` come to lie at `end_points`."""
    data_format = formats.standardize(data_format)
    warping.check("constant", interpolation)
    x = tensor(images)
    if x.ndim not in (3, 4):
        raise ValueError(f"Invalid images rank: expected rank 3 (single image) or rank 4 (batch of images). Received input with shape: images.shape={tuple(x.shape)}")
    start, end = _points(start_points, "start_points"), _points(end_points, "end_points")
    if start.shape != end.shape:
        raise ValueError(f"start_points and end_points must have the same shape. Received start_points.shape={tuple(start.shape)}, end_points.shape={tuple(end.shape)}")
    single = x.ndim == 3
    x = channels_last(_ops.expand_dims(x, 0) if single else x, data_format)
    transforms = _ops.broadcast_to(homography(start, end), [x.shape[0], 8])
    out = as_given(warping.affine(x, transforms, "constant", interpolation, fill_value), data_format)
    return _ops.squeeze(out, [0]) if single else out


@drawable
def elastic_transform(images, alpha=20.0, sigma=5.0, interpolation="bilinear", fill_mode="reflect", fill_value=0.0, seed=None, data_format=None):
    """Images as if drawn on rubber: pixels moved by smooth noise, `alpha` times as far, the smoother the larger `sigma` is."""
    data_format = formats.standardize(data_format)
    warping.check(fill_mode, interpolation)
    x = tensor(images)
    if x.ndim not in (3, 4):
        raise ValueError(f"Invalid images rank: expected rank 3 (single image) or rank 4 (batch of images). Received input with shape: images.shape={tuple(x.shape)}")
    single = x.ndim == 3
    x = channels_last(_ops.expand_dims(x, 0) if single else x, data_format)
    out = as_given(elastic(x, alpha, sigma, 6 * int(sigma) | 1, interpolation, fill_mode, fill_value, seed), data_format)
    return _ops.squeeze(out, [0]) if single else out


def elastic(x, alpha, sigma, size, interpolation, fill_mode, fill_value, seed):
    """elastic_transform of images [batch, height, width, channels]; `size` pixels each way make the noise smooth."""
    from .image import gaussian_blur

    count, height, width, _ = x.shape.as_list()
    noise = _keras_random.normal((count, height, width, 2), seed=seed) * sigma
    moves = gaussian_blur(noise, (size, size), _ops.stack([sigma, sigma]), "channels_last") * alpha
    rows = _ops.reshape(_ops.cast(_ops.range(height), "float32"), [1, height, 1]) + moves[..., 0]
    columns = _ops.reshape(_ops.cast(_ops.range(width), "float32"), [1, 1, width]) + moves[..., 1]
    wide = x if x.dtype.is_floating else _ops.cast(x, "float32")
    return _ops.cast(warping.sample(wide, rows, columns, fill_mode, interpolation, fill_value), x.dtype)


@drawable
def extract_patches_3d(volumes, size, strides=None, dilation_rate=1, padding="valid", data_format=None):
    """Windows of volumes as channels: [batch, depth, height, width, window * channels]."""
    data_format = formats.standardize(data_format)
    sizes = (size,) * 3 if isinstance(size, int) else tuple(size)
    if len(sizes) != 3:
        raise TypeError(f"Invalid `size` argument. Expected an int or a tuple of length 3. Received: size={size}")
    x = tensor(volumes)
    single = x.ndim == 4
    x = _ops.expand_dims(x, 0) if single else x
    channels = x.shape[-1 if data_format == "channels_last" else 1]
    count = int(np.prod(sizes)) * channels
    kernel = _tandem.to_tensor(np.eye(count, dtype="float32").reshape(*sizes, channels, count), x.dtype)
    out = conv(x, kernel, sizes if strides is None else strides, padding, data_format, dilation_rate)
    return _ops.squeeze(out, [0]) if single else out
