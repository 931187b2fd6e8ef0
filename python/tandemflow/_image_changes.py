"""Pictures changed by chance that a seed fixes, colours in other systems, and edges."""
import numpy as np

from . import _tandem
from . import random as _random
from ._colours import adjust_brightness, adjust_contrast, adjust_hue, adjust_saturation, convert_image_dtype, with_three_channels
from ._conv import depthwise_conv2d
from ._ops import concat, matmul, pad, pow, reshape, slice, where
from .image import flip_left_right, flip_up_down

_TO_YIQ = np.array([[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]])
_TO_YUV = np.array([[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]])

# Not quite the inverses: as TensorFlow has them.
_FROM_YIQ = np.array([[1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]])
_FROM_YUV = np.array([[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]])


def _in_system(op, images, matrix):
    images = with_three_channels(images, op)
    return reshape(matmul(reshape(images, [-1, 3]), _tandem.to_tensor(matrix, images.dtype)), images.shape.as_list())


def rgb_to_yiq(images):
    """Brightness and two differences of colours, as in American television."""
    return _in_system("rgb_to_yiq", images, _TO_YIQ)


def yiq_to_rgb(images):
    """The way back of rgb_to_yiq."""
    return _in_system("yiq_to_rgb", images, _FROM_YIQ)


def rgb_to_yuv(images):
    """Brightness and two differences of colours, as in European television."""
    return _in_system("rgb_to_yuv", images, _TO_YUV)


def yuv_to_rgb(images):
    """The way back of rgb_to_yuv."""
    return _in_system("yuv_to_rgb", images, _FROM_YUV)


def adjust_gamma(image, gamma=1, gain=1):
    """gain * image ** gamma, of values from 0 to 1."""
    if not hasattr(gamma, "shape") and gamma < 0:
        raise ValueError(f"Gamma should be a non-negative real number, got {gamma}")
    image = _tandem.to_tensor(image)
    values = convert_image_dtype(image, "float32") if not image.dtype.is_floating else image
    return convert_image_dtype(gain * pow(values, _tandem.to_tensor(gamma, values.dtype)), image.dtype, saturate=True)


def image_gradients(image):
    """(dy, dx): how much the next row and column differ; zero in the last."""
    image = _tandem.to_tensor(image)
    if image.ndim != 4:
        raise ValueError(f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {image.shape}.")
    dy = pad(image[:, 1:] - image[:, :-1], [[0, 0], [0, 1], [0, 0], [0, 0]])
    return dy, pad(image[:, :, 1:] - image[:, :, :-1], [[0, 0], [0, 0], [0, 1], [0, 0]])


def sobel_edges(image):
    """[…, 2]: how much pictures change downwards and to the right, by Sobel's filters."""
    image = _tandem.to_tensor(image)
    down = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]])
    channels = image.shape[-1]
    filters = np.tile(np.stack([down, down.T], -1)[:, :, None, :], [1, 1, channels, 1])
    around = pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT")
    return reshape(depthwise_conv2d(around, _tandem.to_tensor(filters, image.dtype), 1, "VALID"), [*image.shape.as_list(), 2])


# --- Changes by chance: the same seed, two integers, the same change. ---


def _drawn(seed, low, high):
    return _random.stateless_uniform([], seed, low, high)


def _perhaps(image, seed, change):
    image = _tandem.to_tensor(image)
    if image.ndim == 3:
        return where(_drawn(seed, 0.0, 1.0) < 0.5, change(image), image)
    chances = _random.stateless_uniform([image.shape[0], 1, 1, 1], seed, 0.0, 1.0)
    return where(chances < 0.5, change(image), image)


def stateless_random_flip_left_right(image, seed):
    """Turned around, or not."""
    return _perhaps(image, seed, flip_left_right)


def stateless_random_flip_up_down(image, seed):
    """Upside down, or not."""
    return _perhaps(image, seed, flip_up_down)


def stateless_random_brightness(image, max_delta, seed):
    """Lighter or darker by up to max_delta."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, _drawn(seed, -float(max_delta), float(max_delta)))


def _range_is_right(lower, upper):
    if upper <= lower:
        raise ValueError(f"upper must be > lower, got {upper} and {lower}")
    if lower < 0:
        raise ValueError(f"lower must be non-negative, got {lower}")


def stateless_random_contrast(image, lower, upper, seed):
    """With lower to upper times the contrast."""
    _range_is_right(lower, upper)
    return adjust_contrast(image, _drawn(seed, float(lower), float(upper)))


def stateless_random_saturation(image, lower, upper, seed=None):
    """With lower to upper times the strength of colours."""
    _range_is_right(lower, upper)
    return adjust_saturation(image, _drawn(seed, float(lower), float(upper)))


def stateless_random_hue(image, max_delta, seed):
    """With colours turned by up to max_delta of the circle."""
    if not 0 <= max_delta <= 0.5:
        raise ValueError(f"max_delta must be in [0, 0.5], got {max_delta}")
    return adjust_hue(image, _drawn(seed, -float(max_delta), float(max_delta)))


def stateless_random_crop(value, size, seed, name=None):
    """A part of that size from anywhere."""
    value, size = _tandem.to_tensor(value), _tandem.as_ints(size)
    room = [have - want for have, want in zip(value.shape.as_list(), size)]
    if len(size) != value.ndim or min(room) < 0:
        raise ValueError(f"Need value.shape >= size, got {value.shape} and {tuple(size)}")
    begin = [_random.stateless_uniform([1], [seed[0], seed[1] + i], 0, space + 1, "int32") for i, space in enumerate(room)]
    return slice(value, concat(begin, 0), size)
