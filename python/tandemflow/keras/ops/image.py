"""keras.ops.image: images [batch, height, width, channels] or without the batch axis."""
import numpy as np

from ... import _colours, _names, _ops, _tandem
from ... import _resizing as resizing
from .._engine import data_format as formats
from .._engine import warping
from .._engine.operation import drawable as _drawable
from ..layers._images import as_given, channels_last
from ._convert import floats, tensor
from .pictures import elastic_transform, extract_patches_3d, perspective_transform, sobel_edges, ssim  # noqa: F401


def drawable(function):
    """Decorates a function so that tensors of functional models may be given to it."""
    return _drawable(function, f"image.{function.__name__}")


def _batched(images, data_format):
    """Images with batch axis and the channels last, and the way back."""
    data_format = formats.standardize(data_format)
    x = tensor(images)
    if x.ndim not in (3, 4):
        raise ValueError(
            "Invalid images rank: expected rank 3 (single image) or rank 4 (batch of images). Received input with shape: "
            f"images.shape={tuple(x.shape)}"
        )
    single = x.ndim == 3
    x = channels_last(_ops.expand_dims(x, 0) if single else x, data_format)

    def back(out):
        out = as_given(out, data_format)
        return _ops.squeeze(out, [0]) if single else out

    return x, back


@drawable
def resize(images, size, interpolation="bilinear", antialias=False, crop_to_aspect_ratio=False, pad_to_aspect_ratio=False,
           fill_mode="constant", fill_value=0.0, data_format=None):  # fmt: skip
    """Images in another size."""
    x, back = _batched(images, data_format)
    height, width = (int(n) for n in size)
    resizing.check_method(interpolation)
    if crop_to_aspect_ratio and pad_to_aspect_ratio:
        raise ValueError("Only one of `crop_to_aspect_ratio` & `pad_to_aspect_ratio` can be `True`.")
    kind = x.dtype
    if crop_to_aspect_ratio or pad_to_aspect_ratio:
        x = _with_ratio(x, height, width, crop_to_aspect_ratio, fill_value)
    if interpolation != "nearest" and not x.dtype.is_floating:
        x = _ops.cast(x, "float32")
    out = resizing.resize(x, height, width, interpolation, antialias)
    if out.dtype != kind:
        out = _ops.clip_by_value(_ops.rint(out), float(kind.min), float(kind.max)) if kind.is_integer else out
        out = _ops.cast(out, kind)
    return back(out)


def _with_ratio(x, height, width, crop, fill_value):
    """Cut, or with a margin, so that height : width is right."""
    _, old_height, old_width, _ = x.shape.as_list()
    wanted_height, wanted_width = int(old_width * height / width), int(old_height * width / height)
    if crop:
        new_height, new_width = min(old_height, max(1, wanted_height)), min(old_width, max(1, wanted_width))
        top, left = (old_height - new_height) // 2, (old_width - new_width) // 2
        return x[:, top : top + new_height, left : left + new_width]
    top, left = (max(wanted_height - old_height, 0)) // 2, (max(wanted_width - old_width, 0)) // 2
    return _ops.pad(x, [[0, 0], [top, top], [left, left], [0, 0]], constant_values=fill_value)  # the same on both sides, as in Keras


@drawable
def affine_transform(images, transform, interpolation="bilinear", fill_mode="constant", fill_value=0, data_format=None):
    """Pixels read at the places a transformation says: [a0, a1, a2, b0, b1, b2, c0, c1] for all images or for each."""
    warping.check(fill_mode, interpolation)
    x, back = _batched(images, data_format)
    transform = floats(transform)
    if transform.ndim == 1:
        transform = _ops.broadcast_to(_ops.expand_dims(transform, 0), [x.shape[0], 8])
    kind = x.dtype
    out = warping.affine(x if kind.is_floating else _ops.cast(x, "float32"), transform, fill_mode, interpolation, fill_value)
    return back(out if kind.is_floating else _ops.cast(out, kind))


@drawable
def rgb_to_grayscale(images, data_format=None):
    """How bright the colours look."""
    x, back = _batched(images, data_format)
    weights = _tandem.to_tensor(np.array([0.2989, 0.5870, 0.1140], np.float32))
    grey = _ops.reduce_sum(_ops.cast(x, "float32") * weights, -1, True)
    return back(_ops.cast(grey, x.dtype) if x.dtype.name != "float32" else grey)


@drawable
def rgb_to_hsv(images, data_format=None):
    """Hue, saturation and value of colours in [0, 1]."""
    x, back = _batched(images, data_format)
    return back(_colours.rgb_to_hsv(x))


@drawable
def hsv_to_rgb(images, data_format=None):
    """The way back of rgb_to_hsv."""
    x, back = _batched(images, data_format)
    return back(_colours.hsv_to_rgb(x))


@drawable
def gaussian_blur(images, kernel_size=(3, 3), sigma=(1.0, 1.0), data_format=None):
    """Each pixel as a mean of those around it, weighted by a bell curve of width `sigma`."""
    from ..._conv import depthwise_conv2d

    x, back = _batched(images, data_format)
    sigma = _ops.cast(tensor(sigma), x.dtype)
    lines = []
    for size, width in zip(kernel_size, (sigma[0], sigma[1])):
        place = _ops.cast(_ops.range(int(size)), x.dtype) - (int(size) - 1) / 2
        bell = _ops.exp(-0.5 * (place / width) ** 2)
        lines.append(bell / _ops.reduce_sum(bell))
    kernel = _ops.reshape(lines[1], [-1, 1]) * _ops.reshape(lines[0], [1, -1])
    kernel = _ops.broadcast_to(_ops.reshape(kernel, [*map(int, kernel_size), 1, 1]), [*map(int, kernel_size), x.shape[-1], 1])
    return back(depthwise_conv2d(x, kernel, [1, 1, 1, 1], "SAME"))


@drawable
def extract_patches(images, size, strides=None, dilation_rate=1, padding="valid", data_format=None):
    """Windows of pixels as channels."""
    from ..._conv import conv2d

    x, back = _batched(images, data_format)
    height, width = (size, size) if isinstance(size, int) else size
    strides = (height, width) if strides is None else strides
    strides = (strides, strides) if isinstance(strides, int) else strides
    channels = x.shape[-1]
    kernel = np.eye(height * width * channels, dtype=np.float32).reshape(height, width, channels, -1)
    dilations = (dilation_rate,) * 2 if isinstance(dilation_rate, int) else dilation_rate
    return back(conv2d(x, _tandem.to_tensor(kernel, x.dtype), strides, padding.upper(), dilations=dilations))


@drawable
def map_coordinates(inputs, coordinates, order, fill_mode="constant", fill_value=0):
    """Pictures of two axes at other places, order 0 (nearest) or 1 (between neighbours)."""
    x, places = floats(inputs), floats(coordinates)
    if x.ndim != 2 or order not in (0, 1):
        raise NotImplementedError(f"map_coordinates: needs two axes and order 0 or 1, got {tuple(x.shape)} and {order}")
    warping.check(fill_mode, "bilinear")
    sizes = places.shape.as_list()[1:]
    rows, columns = (_ops.reshape(places[i], [1, 1, -1]) for i in range(2))
    image = _ops.reshape(x, [1, *x.shape.as_list(), 1])
    return _ops.reshape(warping.sample(image, rows, columns, fill_mode, "nearest" if order == 0 else "bilinear", fill_value), sizes)


def _rest(before, after, total, target, name):
    """Of margin before, margin after and target size two are given; the third follows."""
    if [before, after, target].count(None) != 1:
        raise ValueError(f"Must specify exactly two of {name}. Received: {before}, {after}, {target}")
    if before is None:
        return abs(total - target) - after, after
    return before, after if after is not None else abs(total - target) - before


@drawable
def pad_images(images, top_padding=None, left_padding=None, bottom_padding=None, right_padding=None, target_height=None,
               target_width=None, data_format=None):  # fmt: skip
    """A margin of zeros around images."""
    x, back = _batched(images, data_format)
    _, height, width, _ = x.shape.as_list()
    if target_height is not None:
        top_padding, bottom_padding = _rest(top_padding, bottom_padding, height, target_height, "top_padding, bottom_padding, target_height")
    if target_width is not None:
        left_padding, right_padding = _rest(left_padding, right_padding, width, target_width, "left_padding, right_padding, target_width")
    return back(_ops.pad(x, [[0, 0], [top_padding, bottom_padding], [left_padding, right_padding], [0, 0]]))


@drawable
def crop_images(images, top_cropping=None, left_cropping=None, bottom_cropping=None, right_cropping=None,
                target_height=None, target_width=None, data_format=None):  # fmt: skip
    """Images without their margin."""
    x, back = _batched(images, data_format)
    _, height, width, _ = x.shape.as_list()
    if target_height is not None:
        top_cropping, bottom_cropping = _rest(top_cropping, bottom_cropping, height, target_height, "top_cropping, bottom_cropping, target_height")
    if target_width is not None:
        left_cropping, right_cropping = _rest(left_cropping, right_cropping, width, target_width, "left_cropping, right_cropping, target_width")
    return back(x[:, top_cropping : height - bottom_cropping, left_cropping : width - right_cropping])


__getattr__, __dir__ = _names.lazy(__name__)
