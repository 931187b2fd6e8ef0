"""tf.image: pictures [height, width, channels] and batches of them, in ops that both devices have and tapes know."""
import enum
import math

import numpy as np

from . import _dtypes, _names, _resizing, _tandem
from . import random as _random
from ._colours import (  # noqa: F401
    adjust_brightness,
    adjust_contrast,
    adjust_hue,
    adjust_saturation,
    convert_image_dtype,
    grayscale_to_rgb,
    hsv_to_rgb,
    per_image_standardization,
    picture,
    rgb_to_grayscale,
    rgb_to_hsv,
)
from ._arrays import gather_nd as _gather_nd
from ._ops import abs as _abs
from ._ops import cast, ceil, expand_dims, floor, gather, greater_equal, less, less_equal, log, logical_and, maximum, minimum, pad
from ._ops import reduce_mean, reduce_sum, squared_difference, stack, where, zeros_like
from ._ops import transpose as _reordered
from .errors import InvalidArgumentError, UnimplementedError


class ResizeMethod(str, enum.Enum):
    """How resize() finds the values between pixels."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


# --- Flips, turns and cuts. ---


def _backwards(image, axis):
    return _tandem.reverse(image, [axis % image.ndim])


def flip_left_right(image, name=None):
    """The columns in reverse order."""
    return _backwards(picture("flip_left_right", image), -2)


def flip_up_down(image, name=None):
    """The rows in reverse order."""
    return _backwards(picture("flip_up_down", image), -3)


def _transposed(image):
    first = image.ndim - 3
    return _reordered(image, [*range(first), first + 1, first, first + 2])


def transpose(image, name=None):
    """Rows and columns exchanged."""
    return _transposed(picture("transpose", image))


def rot90(image, k=1, name=None):
    """Turned by 90 degrees, k times, against the clock."""
    image, k = picture("rot90", image), int(k) % 4
    if k == 1:
        return _backwards(_transposed(image), -3)
    if k == 2:
        return _backwards(_backwards(image, -2), -3)
    return image if k == 0 else _backwards(_transposed(image), -2)


def _box(op, image, box, room):
    top, left, height, width = (int(number) for number in box)
    if top < 0 or left < 0 or height < 1 or width < 1 or top + height > room[0] or left + width > room[1]:
        raise ValueError(f"{op}: rows {top} to {top + height} and columns {left} to {left + width} do not lie inside {room[0]} x {room[1]}")
    return top, left, height, width


def crop_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """A part of the picture."""
    image = picture("crop_to_bounding_box", image)
    sizes = image.shape.as_list()[-3:-1]
    top, left, height, width = _box("crop_to_bounding_box", image, (offset_height, offset_width, target_height, target_width), sizes)
    return image[..., top : top + height, left : left + width, :]


def pad_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """The picture on a black one."""
    image = picture("pad_to_bounding_box", image)
    height, width = image.shape.as_list()[-3:-1]
    box = (offset_height, offset_width, height, width)
    top, left, _, _ = _box("pad_to_bounding_box", image, box, (int(target_height), int(target_width)))
    margins = [[top, int(target_height) - top - height], [left, int(target_width) - left - width], [0, 0]]
    return pad(image, [[0, 0]] * (image.ndim - 3) + margins)


def central_crop(image, central_fraction):
    """The middle of the picture, a fraction of its height and width."""
    image = picture("central_crop", image)
    if not 0 < central_fraction <= 1:
        raise ValueError(f"central_crop: central_fraction must lie in (0, 1], got {central_fraction}")
    height, width = image.shape.as_list()[-3:-1]
    top, left = (int((size - size * central_fraction) / 2) for size in (height, width))
    return crop_to_bounding_box(image, top, left, height - 2 * top, width - 2 * left)


def resize_with_crop_or_pad(image, target_height, target_width):
    """The middle of the picture, or the picture in the middle of a black one."""
    image = picture("resize_with_crop_or_pad", image)
    for axis, target in ((-3, int(target_height)), (-2, int(target_width))):
        extra = target - image.shape[axis]
        if extra < 0:
            first = -extra // 2
            image = image[..., first : first + target, :, :] if axis == -3 else image[..., first : first + target, :]
        elif extra:
            margins = [[0, 0]] * image.ndim
            margins[axis] = [extra // 2, extra - extra // 2]
            image = pad(image, margins)
    return image


# --- Other sizes. ---


def _new_size(image, size, preserve_aspect_ratio):
    sizes = _tandem.as_ints(size)
    if len(sizes) != 2 or min(sizes) < 1:
        raise ValueError(f"resize: size must be a new height and width, both positive, got {sizes}")
    if preserve_aspect_ratio:
        old = image.shape.as_list()[-3:-1]
        factor = min(new / was for new, was in zip(sizes, old))
        sizes = [max(round(was * factor), 1) for was in old]
    return sizes


def resize(images, size, method=ResizeMethod.BILINEAR, preserve_aspect_ratio=False, antialias=False, name=None):
    """Another height and width; pixels are taken at their middle. float32 comes out unless the nearest pixel is asked for."""
    images = picture("resize", images)
    try:
        word = ResizeMethod(method).value
    except ValueError:
        raise UnimplementedError(f"resize: method must be one of {[m.value for m in ResizeMethod]}, got {method!r}") from None
    height, width = _new_size(images, size, preserve_aspect_ratio)
    if word != "nearest":
        images = cast(images, _dtypes.float32)
    return _resizing.resize(images, height, width, word, antialias)


def resize_with_pad(image, target_height, target_width, method=ResizeMethod.BILINEAR, antialias=False):
    """The largest picture of the same proportions that fits, in the middle of a black one."""
    image = picture("resize_with_pad", image)
    height, width = image.shape.as_list()[-3:-1]
    target = (int(target_height), int(target_width))
    old, wanted = np.float32([height, width]), np.float32(target)
    new = old / (old / wanted).max()  # TensorFlow rounds down the size and the margin, each from these
    top, left = (max(int(margin), 0) for margin in np.floor((wanted - new) / 2))
    sizes = [max(int(size), 1) for size in np.floor(new)]
    return pad_to_bounding_box(resize(image, sizes, method, antialias=antialias), top, left, *target)


def _places(first, last, count, size):
    """[boxes, count]: where rows or columns of crops lie, in pixels."""
    first, last = expand_dims(first, 1), expand_dims(last, 1)
    if count == 1:
        return (first + last) * (0.5 * (size - 1))
    step = (last - first) * (size - 1.0) / float(count - 1)  # in TensorFlow's order, so that ties are its ties
    return first * (size - 1.0) + step * _tandem.range(0, count, 1, _dtypes.float32)


def crop_and_resize(image, boxes, box_indices, crop_size, method="bilinear", extrapolation_value=0.0, name=None):
    """Parts of pictures in one size: boxes are [y1, x1, y2, x2] in parts of the picture, what lies outside has one value."""
    image, boxes = _tandem.to_tensor(image), _tandem.to_tensor(boxes, _dtypes.float32)
    image = cast(image, _dtypes.float32)
    numbers = _tandem.to_tensor(box_indices, _dtypes.int32)
    if image.ndim != 4 or boxes.ndim != 2 or boxes.shape[1] != 4 or numbers.shape.as_list() != [boxes.shape[0]]:
        raise InvalidArgumentError(
            "crop_and_resize: needs images [batch, height, width, channels], boxes [n, 4] and box_indices [n], got "
            f"{image.shape}, {boxes.shape} and {numbers.shape}"
        )
    if method not in ("bilinear", "nearest"):
        raise ValueError(f"crop_and_resize: method must be 'bilinear' or 'nearest', got {method!r}")
    rows, columns = _tandem.as_ints(crop_size)
    height, width = image.shape[1], image.shape[2]
    y = expand_dims(_places(boxes[:, 0], boxes[:, 2], rows, height), 2)
    x = expand_dims(_places(boxes[:, 1], boxes[:, 3], columns, width), 1)
    inside = logical_and(_within(y, height), _within(x, width))
    count = boxes.shape[0]
    batch = numbers[:, None, None] + _tandem.fill([count, rows, columns], 0, _dtypes.int32)

    def pixels(at_y, at_x):
        at = [cast(minimum(maximum(v, 0.0), size - 1.0), _dtypes.int32) + batch * 0 for v, size in ((at_y, height), (at_x, width))]
        return _gather_nd(image, stack([batch, *at], -1))

    if method == "nearest":
        values = pixels(floor(y + 0.5), floor(x + 0.5))
    else:
        top, left = floor(y), floor(x)
        down, right = expand_dims(y - top, -1), expand_dims(x - left, -1)
        upper = pixels(top, left) * (1.0 - right) + pixels(top, ceil(x)) * right
        lower = pixels(ceil(y), left) * (1.0 - right) + pixels(ceil(y), ceil(x)) * right
        values = upper * (1.0 - down) + lower * down
    return where(expand_dims(inside, -1), values, zeros_like(values) + float(extrapolation_value))


def _within(places, size):
    return logical_and(greater_equal(places, 0.0), less_equal(places, size - 1.0))


# --- Chance. ---


def _chance(op, image, seed, change):
    """Each picture as it is or changed, with even chances."""
    image = picture(op, image)
    shape = [] if image.ndim == 3 else [image.shape[0], 1, 1, 1]
    return where(less(_random.uniform(shape, seed=seed), 0.5), change(image), image)


def random_flip_left_right(image, seed=None):
    """The columns in reverse order, or not, by chance."""
    return _chance("random_flip_left_right", image, seed, flip_left_right)


def random_flip_up_down(image, seed=None):
    """The rows in reverse order, or not, by chance."""
    return _chance("random_flip_up_down", image, seed, flip_up_down)


def _between(op, lower, upper, seed, least=None):
    if upper <= lower or (least is not None and lower < least):
        raise ValueError(f"{op}: needs lower < upper{'' if least is None else f', lower at least {least}'}, got {lower} and {upper}")
    return _random.uniform([], lower, upper, seed=seed)


def random_brightness(image, max_delta, seed=None):
    """A brightness moved by up to max_delta."""
    return adjust_brightness(image, _between("random_brightness", -max_delta, max_delta, seed))


def random_contrast(image, lower, upper, seed=None):
    """A contrast times a factor from lower to upper."""
    return adjust_contrast(image, _between("random_contrast", lower, upper, seed, 0))


def random_saturation(image, lower, upper, seed=None):
    """A saturation times a factor from lower to upper."""
    return adjust_saturation(image, _between("random_saturation", lower, upper, seed, 0))


def random_hue(image, max_delta, seed=None):
    """A hue moved by up to max_delta, at most a half."""
    if not 0 <= max_delta <= 0.5:
        raise ValueError(f"random_hue: max_delta must lie in [0, 0.5], got {max_delta}")
    return adjust_hue(image, _between("random_hue", -max_delta, max_delta, seed))


def random_crop(value, size, seed=None, name=None):
    """A part of the size given, from anywhere in the tensor."""
    value, sizes = _tandem.to_tensor(value), _tandem.as_ints(size)
    if len(sizes) != value.ndim or any(new > old for new, old in zip(sizes, value.shape.as_list())):
        raise ValueError(f"random_crop: size {sizes} does not fit into {value.shape}")
    for axis, (new, old) in enumerate(zip(sizes, value.shape.as_list())):
        if new < old:
            first = _random.uniform([], 0, old - new + 1, _dtypes.int32, seed=None if seed is None else seed + axis)
            value = gather(value, _tandem.range(0, new, 1, _dtypes.int32) + first, axis=axis)
    return value


# --- Measures. ---


def total_variation(images, name=None):
    """The sum of the absolute differences of neighbouring pixels."""
    images = picture("total_variation", images)
    down, right = images[..., 1:, :, :] - images[..., :-1, :, :], images[..., 1:, :] - images[..., :-1, :]
    return sum(reduce_sum(_abs(part), [-3, -2, -1]) for part in (down, right))


def psnr(a, b, max_val, name=None):
    """The ratio of the largest value to the noise between two pictures, in decibels."""
    a = _tandem.to_tensor(a)
    largest = convert_image_dtype(cast(_tandem.to_tensor(max_val), a.dtype), _dtypes.float32)
    a, b = (convert_image_dtype(x, _dtypes.float32) for x in (a, b))
    error = reduce_mean(squared_difference(a, b), [-3, -2, -1])
    return (20.0 * log(largest) - 10.0 * log(error)) / math.log(10.0)


__getattr__, __dir__ = _names.lazy(
    __name__,
    _names.places_of(
        _pictures="adjust_jpeg_quality decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png encode_jpeg encode_png extract_jpeg_shape is_jpeg "
        "random_jpeg_quality stateless_random_jpeg_quality",
        _image_windows="extract_patches ssim ssim_multiscale",
        _boxes="combined_non_max_suppression draw_bounding_boxes non_max_suppression non_max_suppression_padded non_max_suppression_with_scores",
        _image_changes="adjust_gamma image_gradients rgb_to_yiq rgb_to_yuv sobel_edges stateless_random_brightness stateless_random_contrast "
        "stateless_random_crop stateless_random_flip_left_right stateless_random_flip_up_down stateless_random_hue stateless_random_saturation "
        "yiq_to_rgb yuv_to_rgb",
    ),
)
