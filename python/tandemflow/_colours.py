"""Colours and brightness of pictures [height, width, channels] and batches of them."""
import math

from . import _dtypes, _tandem
from ._einsum import tensordot
from ._ops import (
    abs,
    cast,
    concat,
    equal,
    floor,
    greater,
    maximum,
    minimum,
    reduce_max,
    reduce_mean,
    rsqrt,
    square,
    where,
)
from .dtypes import saturate_cast
from .errors import InvalidArgumentError



def picture(op, image):
    """A picture, or a batch of pictures, as a tensor; anything else is refused."""
    image = _tandem.to_tensor(image)
    if image.ndim not in (3, 4):
        raise ValueError(f"{op}: needs [height, width, channels] or [batch, height, width, channels], got {image.shape}")
    return image


def convert_image_dtype(image, dtype, saturate=False, name=None):
    """Another dtype with its own range: floats are 0 to 1, integers 0 to their largest value."""
    image, dtype = _tandem.to_tensor(image), _dtypes.as_dtype(dtype)
    if image.dtype == dtype:
        return image
    if dtype.is_floating:
        return cast(image, dtype) if image.dtype.is_floating else cast(image, dtype) * (1.0 / _largest(image.dtype))
    most = _largest(dtype)
    if image.dtype.is_floating:
        scaled = image * (most + 0.5)
        return saturate_cast(scaled, dtype) if saturate else cast(scaled, dtype)
    if _largest(image.dtype) > most:
        scaled = image // ((_largest(image.dtype) + 1) // (most + 1))
        return saturate_cast(scaled, dtype) if saturate else cast(scaled, dtype)
    wider = saturate_cast(image, dtype) if saturate else cast(image, dtype)
    return wider * ((most + 1) // (_largest(image.dtype) + 1))


def _largest(dtype):
    if not dtype.is_integer:
        raise TypeError(f"convert_image_dtype: pictures are of floats or integers, not {dtype.name}")
    return dtype.max


def _number(value, dtype):
    """A factor as a tensor: it may be drawn at random."""
    return cast(_tandem.to_tensor(value), dtype)


def _in_floats(image, change):
    """change(image) computed in floats and brought back, kept within an integer's range."""
    image = _tandem.to_tensor(image)
    floats = image if image.dtype.is_floating else convert_image_dtype(image, _dtypes.float32)
    return convert_image_dtype(change(floats), image.dtype, saturate=True)


def adjust_brightness(image, delta):
    """delta added to every value, of pictures from 0 to 1."""
    return _in_floats(image, lambda x: x + _number(delta, x.dtype))


def adjust_contrast(images, contrast_factor):
    """Every value's distance to the mean of its channel, times the factor."""
    def change(x):
        mean = reduce_mean(x, [-3, -2], True)
        return (x - mean) * _number(contrast_factor, x.dtype) + mean

    return _in_floats(picture("adjust_contrast", images), change)


def rgb_to_grayscale(images, name=None):
    """The luma of red, green and blue, as one channel."""
    weights = [0.2989, 0.587, 0.114]
    images = with_three_channels(images, "rgb_to_grayscale")
    return _in_floats(images, lambda x: tensordot(x, _tandem.to_tensor([[w] for w in weights], x.dtype), 1))


def grayscale_to_rgb(images, name=None):
    """One channel as three equal ones."""
    images = _tandem.to_tensor(images)
    if images.ndim < 2 or images.shape[-1] != 1:
        raise InvalidArgumentError(f"grayscale_to_rgb: Last dimension of a grayscale image should be size 1, got {images.shape}")
    return concat([images] * 3, -1)


def with_three_channels(image, op):
    """The picture as a tensor."""
    image = _tandem.to_tensor(image)
    if not image.ndim or image.shape[-1] != 3:
        raise InvalidArgumentError(f"{op}: needs three channels in the last axis, got {image.shape}")
    return image


def _channels(image, op):
    image = with_three_channels(image, op)
    return [image[..., i : i + 1] for i in range(3)]


def rgb_to_hsv(images, name=None):
    """Red, green and blue from 0 to 1 as hue, saturation and value."""
    images = _tandem.to_tensor(images)
    red, green, blue = _channels(images, "rgb_to_hsv")
    value = reduce_max(images, -1, True)
    spread = value + reduce_max(-images, -1, True)
    none, zero = equal(spread, 0.0), 0.0 * value
    safe = where(none, zero + 1.0, spread)
    hue = where(equal(red, value), (green - blue) / safe,
                where(equal(green, value), 2.0 + (blue - red) / safe, 4.0 + (red - green) / safe)) / 6.0
    hue = where(none, zero, hue - floor(hue))
    saturation = where(greater(value, 0.0), spread / where(greater(value, 0.0), value, zero + 1.0), zero)
    return concat([hue, saturation, value], -1)


def hsv_to_rgb(images, name=None):
    """Hue, saturation and value as red, green and blue."""
    hue, saturation, value = _channels(_tandem.to_tensor(images), "hsv_to_rgb")
    sixths = hue * 6.0

    def channel(x):
        return value * (1.0 - saturation + saturation * minimum(maximum(x, 0.0), 1.0))

    return concat([channel(abs(sixths - 3.0) - 1.0), channel(2.0 - abs(sixths - 2.0)), channel(2.0 - abs(sixths - 4.0))], -1)


def adjust_saturation(image, saturation_factor, name=None):
    """The saturation times the factor, at most 1."""
    def change(x):
        hue, saturation, value = _channels(rgb_to_hsv(x), "adjust_saturation")
        stronger = minimum(maximum(saturation * _number(saturation_factor, x.dtype), 0.0), 1.0)
        return hsv_to_rgb(concat([hue, stronger, value], -1))

    return _in_floats(image, change)


def adjust_hue(image, delta, name=None):
    """The hue moved by delta, from -1 to 1, around the circle."""
    if isinstance(delta, (int, float)) and not -1 <= delta <= 1:
        raise ValueError(f"adjust_hue: delta must be in the interval [-1, 1], got {delta}")

    def change(x):
        hue, saturation, value = _channels(rgb_to_hsv(x), "adjust_hue")
        moved = hue + _number(delta, x.dtype)
        return hsv_to_rgb(concat([moved - floor(moved), saturation, value], -1))

    return _in_floats(image, change)


def per_image_standardization(image):
    """Each picture with mean 0 and variance 1; nearly even ones are not blown up."""
    image = cast(picture("per_image_standardization", image), _dtypes.float32)
    axes = [-3, -2, -1]
    centered = image - reduce_mean(image, axes, True)
    pixels = math.prod(image.shape.as_list()[-3:])
    return centered * minimum(rsqrt(reduce_mean(square(centered), axes, True)), math.sqrt(pixels))
