"""Images in other sizes: each axis by a matrix that says how much of each row goes into each new row."""
import functools
import math

import numpy as np

from . import _ops, _tandem

METHODS = ("bilinear", "nearest", "bicubic", "lanczos3", "lanczos5")


def _cubic(x):
    """Keys' kernel with a = -1/2."""
    x = np.abs(x)
    inner = (1.5 * x - 2.5) * x * x + 1
    outer = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, inner, np.where(x < 2, outer, 0))


def _lanczos(radius, x):
    return np.where(np.abs(x) < radius, np.sinc(x) * np.sinc(x / radius), 0)


def _mitchell(x):
    x = np.abs(x)
    inner = (7 / 6 * x - 2) * x * x + 8 / 9
    outer = ((-7 / 18 * x + 2) * x - 10 / 3) * x + 16 / 9
    return np.where(x < 1, inner, np.where(x < 2, outer, 0))


_KERNELS = {
    "bilinear": lambda x: np.maximum(1 - np.abs(x), 0),
    "bicubic": _cubic,
    "lanczos3": functools.partial(_lanczos, 3),
    "lanczos5": functools.partial(_lanczos, 5),
    "gaussian": lambda x: np.where(np.abs(x) < 1.5, np.exp(-2 * x * x), 0),
    "mitchellcubic": _mitchell,
}


@functools.lru_cache(maxsize=64)
def weights(size, new_size, method, antialias):
    """[new_size, size], each row adds up to 1; pixels are taken at their middle, as in TensorFlow."""
    step = size / new_size
    if method == "nearest":
        places = np.minimum(np.floor((np.arange(new_size) + 0.5) * step), size - 1).astype(int)
        return np.eye(size, dtype=np.float32)[places]
    if method == "area":  # how much of each old pixel a new one covers
        first = np.arange(new_size)[:, None] * step
        raw = np.minimum(np.arange(size)[None, :] + 1, first + step) - np.maximum(np.arange(size)[None, :], first)
        return (np.maximum(raw, 0) / step).astype(np.float32)
    kernel = _KERNELS[method]
    width = max(step, 1.0) if antialias else 1.0
    middles = (np.arange(new_size)[:, None] + 0.5) * step
    places = np.arange(size)[None, :] + 0.5 - middles
    if method == "bicubic" and not antialias:
        places = np.round(places * 1024) / 1024  # TensorFlow looks its weights up in a table
    raw = kernel(places / width)
    return (raw / raw.sum(1, keepdims=True)).astype(np.float32)


#: methods that change a picture of the same size too
_SMOOTHING = ("gaussian", "mitchellcubic")


def check_method(method):
    if method not in METHODS:
        raise ValueError(f"Invalid `interpolation` argument. Expected one of {METHODS}. Received: interpolation={method}")
    return method


def resize(images, height, width, method="bilinear", antialias=False):
    """[..., height, width, channels] in another height and width."""
    *leading, old_height, old_width, channels = images.shape.as_list()
    if (old_height, old_width) == (height, width) and method not in _SMOOTHING:
        return images
    if method == "nearest":
        for axis, old, new in ((-3, old_height, height), (-2, old_width, width)):
            images = _ops.gather(images, _places(old, new), axis=axis)
        return images
    if method == "bilinear" and not antialias:
        four_axes = images if len(leading) == 1 else _ops.reshape(images, [math.prod(leading), old_height, old_width, channels])
        resized = _ops.records["resize_bilinear"](four_axes, [height, width])
        return resized if len(leading) == 1 else _ops.reshape(resized, [*leading, height, width, channels])
    batch = math.prod(leading)
    rows = _tandem.to_tensor(weights(old_height, height, method, antialias), images.dtype)
    columns = _tandem.to_tensor(weights(old_width, width, method, antialias), images.dtype)
    x = _ops.matmul(rows, _ops.reshape(images, [batch, old_height, old_width * channels]))
    x = _ops.matmul(columns, _ops.reshape(x, [batch * height, old_width, channels]))
    return _ops.reshape(x, [*leading, height, width, channels])


def _places(old, new):
    return _tandem.to_tensor(weights(old, new, "nearest", False).argmax(1).astype(np.int32))
