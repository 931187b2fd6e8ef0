"""Pictures: sizes, cuts, turns, colours, files."""
import numpy as np

from .draw import FLOATS, INTEGERS, NUMBERS, Operand

# Hue and saturation have no gradient in TensorFlow; where two channels are equal that of hsv is a matter of taste.
WITHOUT_GRADIENT = {"image.adjust_hue", "image.adjust_saturation", "image.rgb_to_hsv", "image.hsv_to_rgb", "image.adjust_contrast", "image.adjust_gamma"}
_METHODS = ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic")


def _picture(d, dtypes=NUMBERS, channels=None, batched=None):
    shape = (d.between(1, 6), d.between(1, 6), channels or d.between(1, 4))
    shape = (d.between(1, 2), *shape) if (d.flag() if batched is None else batched) else shape
    dtype = d.dtype(dtypes)
    if d.special:
        return d.array(dtype, shape)
    if dtype in INTEGERS:
        return Operand(d.random.integers(0, min(np.iinfo(dtype).max, 255) + 1, shape).astype(dtype), dtype)
    return d.reals(0, 1, shape, dtype)


def _only(dtypes=NUMBERS, channels=None):
    return lambda d: ([_picture(d, dtypes, channels)], {})


def _resize(d):
    return [_picture(d, ("float32", "uint8", "int32", "float64", "float16", "int16", "bfloat16")), [d.between(1, 8), d.between(1, 8)]], dict(
        method=d.one_of(*_METHODS), **d.options(antialias=lambda: d.chance(3), preserve_aspect_ratio=lambda: d.chance(4)))


def _crop_and_resize(d):
    x = _picture(d, ("float32", "uint8", "float64", "float16"), batched=True)
    count = d.between(0, 4)
    boxes = d.reals(-0.3, 1.3, (count, 4), "float32")
    return [x, boxes, d.integers(0, x.shape[0] - 1, (count,), "int32"), [d.between(1, 4), d.between(1, 4)]], d.options(method=lambda: d.one_of("bilinear", "nearest"), extrapolation_value=lambda: 0.5)


def _convert(d):
    return [_picture(d), d.one_of("uint8", "int32", "float32", "float64", "float16", "int16", "uint16")], d.options(saturate=d.flag)


def _with(*numbers, dtypes=NUMBERS, channels=None):
    return lambda d: ([_picture(d, dtypes, channels), d.one_of(*numbers)], {})


def _box(d):
    x = _picture(d)
    height, width = x.shape[-3:-1]
    top, left = d.below(height), d.below(width)
    return [x, top, left, d.between(1, height - top), d.between(1, width - left)], {}


def _margin(d):
    x = _picture(d)
    return [x, d.below(3), d.below(3), x.shape[-3] + d.between(2, 4), x.shape[-2] + d.between(2, 4)], {}


def _to_size(d):
    return [_picture(d), d.between(1, 8), d.between(1, 8)], {}


def _patches(d):
    x = _picture(d, ("float32", "float64", "int32", "uint8"), batched=True)
    return [], dict(images=x, sizes=[1, d.between(1, 3), d.between(1, 3), 1], strides=[1, d.between(1, 2), d.between(1, 2), 1], rates=[1, d.between(1, 2), 1, 1], padding=d.one_of("SAME", "VALID"))


def _gamma(d):
    return [_picture(d, FLOATS + ("uint8",))], d.options(gamma=lambda: d.one_of(0.5, 2.0), gain=lambda: d.one_of(1, 2.0))


def _pair(d):
    x = d.reals(0, 1, (d.between(1, 2), 12, 12, d.between(1, 3)), "float32")
    return [x, d.like(x) if not d.special else d.reals(0, 1, x.shape, "float32"), 1.0], {}


def _boxes(d):
    count = d.between(0, 6)
    corners = np.sort(d.random.uniform(0, 1, (2, count, 2)), 0)
    return [Operand(np.concatenate([*corners], 1).astype("float32"), "float32"), d.reals(0, 1, (count,), "float32"), d.between(0, 5)], d.options(iou_threshold=lambda: d.one_of(0.3, 0.5), score_threshold=lambda: 0.2)


def _png(tf, x):
    return tf.io.decode_png(tf.io.encode_png(x), dtype=x.dtype)


def _bytes(d):
    return [Operand(d.random.integers(0, 256, (d.between(1, 6), d.between(1, 6), d.between(1, 4))).astype(d.one_of("uint8", "uint16")), "uint8")], {}


BODIES = {"io:png": _png}


def calls():
    found = {f"image.{name}": _only() for name in ("flip_left_right", "flip_up_down", "per_image_standardization", "transpose")}
    found.update({
        "image.resize": _resize, "image.crop_and_resize": _crop_and_resize, "image.convert_image_dtype": _convert, "image.rot90": _with(0, 1, 2, 3, -1, 5), "image.central_crop": _with(1.0, 0.5, 0.8, 0.1),
        "image.adjust_brightness": _with(0.1, -0.5, 0.9), "image.adjust_contrast": _with(0.5, 2.0), "image.adjust_hue": _with(0.1, -0.3, 0.9, channels=3), "image.adjust_saturation": _with(0.5, 2.0, channels=3),
        "image.adjust_gamma": _gamma, "image.rgb_to_grayscale": _only(channels=3), "image.grayscale_to_rgb": _only(channels=1), "image.rgb_to_hsv": _only(FLOATS, 3), "image.hsv_to_rgb": _only(FLOATS, 3),
        "image.rgb_to_yiq": _only(("float32", "float64"), 3), "image.rgb_to_yuv": _only(("float32", "float64"), 3), "image.crop_to_bounding_box": _box, "image.pad_to_bounding_box": _margin,
        "image.resize_with_crop_or_pad": _to_size, "image.resize_with_pad": _to_size, "image.extract_patches": _patches, "image.sobel_edges": lambda d: ([_picture(d, ("float32", "float64"), batched=True)], {}),
        "image.image_gradients": lambda d: ([_picture(d, ("float32", "float64"), batched=True)], {}), "image.total_variation": lambda d: ([_picture(d, ("float32", "float64"))], {}),
        "image.psnr": _pair, "image.ssim": _pair, "image.non_max_suppression": _boxes, "io:png": _bytes,
    })  # fmt: skip
    return found
