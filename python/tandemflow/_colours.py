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
    greater_equal,
    less,
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


def _of_sixth(sixth, *values):
    """values[sixth], for each pixel; the last of them beyond."""
    picked = values[-1]
    for number, value in reversed(list(enumerate(values[:-1]))):
        picked = where(equal(sixth, float(number)), value, picked)
    return picked


def _in_float32(image, change):
    """As TensorFlow's own kernels for colours, which take float16 and float32, do their arithmetic: rounded as there, integers come out the same."""
    image = _tandem.to_tensor(image)
    floats = image if image.dtype == _dtypes.float16 else convert_image_dtype(image, _dtypes.float32)
    return convert_image_dtype(change(*_channels(floats, "adjust")), image.dtype, saturate=True)


def adjust_saturation(image, saturation_factor, name=None):
    """The saturation times the factor, at most 1."""
    def change(red, green, blue):
        value = maximum(red, maximum(green, blue))
        spread = value - minimum(red, minimum(green, blue))
        zero, share = 0.0 * value, 1.0 / (6.0 * spread)
        def turned(x, sixths):
            return cast(cast(share * x, _dtypes.float64) + sixths / 6.0, x.dtype)  # rounded once

        hue = where(equal(red, value), share * (green - blue), where(equal(green, value), turned(blue - red, 2.0), turned(red - green, 4.0)))
        hue = where(greater(spread, 0.0), hue, zero)
        hue = where(less(hue, 0.0), hue + 1.0, hue)
        saturation = where(greater(value, 0.0), spread / value, zero)
        chroma = minimum(maximum(saturation * _number(saturation_factor, value.dtype), 0.0), 1.0) * value
        sixths = hue * 6.0
        sixth = floor(sixths)
        second = chroma * (1.0 - abs(sixths - 2.0 * floor(sixths / 2.0) - 1.0))
        channels = ((chroma, second, zero, zero, second, chroma, zero), (second, chroma, chroma, second, zero, zero, zero), (zero, zero, second, chroma, chroma, second, zero))
        return concat([_of_sixth(sixth, *channel) + (value - chroma) for channel in channels], -1)

    return _in_float32(image, change)


def adjust_hue(image, delta, name=None):
    """The hue moved by delta, from -1 to 1, around the circle."""
    if isinstance(delta, (int, float)) and not -1 <= delta <= 1:
        raise ValueError(f"adjust_hue: delta must be in the interval [-1, 1], got {delta}")

    def change(red, green, blue):
        one = 0.0 * red + 1.0
        sixth = where(less(red, green), where(less(blue, red), one, where(greater(blue, green), 3.0 * one, 2.0 * one)),
                      where(less(blue, green), 0.0 * one, where(greater(blue, red), 4.0 * one, 5.0 * one)))
        most = _of_sixth(sixth, red, green, green, blue, blue, red)
        middle = _of_sixth(sixth, green, red, blue, green, red, blue)
        least = _of_sixth(sixth, blue, blue, red, red, green, green)
        share = (middle - least) / (most - least)
        hue = where(equal(most, least), 0.0 * one, sixth + where(_is_even(sixth), share, 1.0 - share)) + _number(delta, red.dtype) * 6.0
        hue = where(less(hue, 0.0), hue + 6.0, hue)
        hue = where(greater_equal(hue, 6.0), hue - 6.0, hue)
        sixth = floor(hue)
        share = where(_is_even(sixth), hue - sixth, 1.0 - (hue - sixth))
        middle = least + share * (most - least)
        channels = ((most, middle, least, least, middle, most), (middle, most, most, middle, least, least), (least, least, middle, most, most, middle))
        return concat([_of_sixth(sixth, *channel) for channel in channels], -1)

    return _in_float32(image, change)


def _is_even(number):
    return equal(2.0 * floor(number / 2.0), number)


def per_image_standardization(image):
    """Each picture with mean 0 and variance 1; nearly even ones are not blown up."""
    image = cast(picture("per_image_standardization", image), _dtypes.float32)
    axes = [-3, -2, -1]
    centered = image - reduce_mean(image, axes, True)
    pixels = math.prod(image.shape.as_list()[-3:])
    return centered * minimum(rsqrt(reduce_mean(square(centered), axes, True)), math.sqrt(pixels))
