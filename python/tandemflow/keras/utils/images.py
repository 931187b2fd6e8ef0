"""Images as arrays and files; files and PIL images need Pillow."""
import warnings

_RESAMPLING = ("nearest", "bilinear", "bicubic", "hamming", "box", "lanczos")


def _pillow():
    try:
        from PIL import Image
    except ImportError:
        raise ImportError("Could not import PIL.Image. Images in files need Pillow: pip install pillow") from None
    return Image


def _channels(data_format):
    from .._engine.data_format import image_data_format

    data_format = image_data_format() if data_format is None else data_format
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f"Invalid data_format: {data_format}; expected 'channels_first' or 'channels_last'")
    return data_format


def array_to_img(x, data_format=None, scale=True, dtype=None):
    """A PIL image; with scale=True the smallest value becomes 0, the largest 255."""
    import numpy as np

    Image = _pillow()
    x = np.asarray(x, dtype=dtype or "float32")
    if x.ndim != 3:
        raise ValueError(f"Expected image array to have rank 3 (single image). Got array with shape: {x.shape}")
    if _channels(data_format) == "channels_first":
        x = x.transpose(1, 2, 0)
    if scale:
        x = x - x.min()
        x = x / x.max() * 255 if x.max() != 0 else x
    if x.shape[2] == 4:
        return Image.fromarray(x.astype("uint8"), "RGBA")
    if x.shape[2] == 3:
        return Image.fromarray(x.astype("uint8"), "RGB")
    if x.shape[2] == 1:
        return Image.fromarray(x[:, :, 0].astype("int32" if x.max() > 255 else "uint8"), "I" if x.max() > 255 else "L")
    raise ValueError(f"Unsupported channel number: {x.shape[2]}; an image has 1, 3 or 4")


def img_to_array(img, data_format=None, dtype=None):
    """(height, width, channels) floats."""
    import numpy as np

    from .._engine.floats import floatx

    data_format = _channels(data_format)
    x = np.asarray(img, dtype=dtype or floatx())
    if x.ndim == 2:
        return x.reshape((1, *x.shape)) if data_format == "channels_first" else x.reshape((*x.shape, 1))
    if x.ndim != 3:
        raise ValueError(f"Unsupported image shape: {x.shape}")
    return x.transpose(2, 0, 1) if data_format == "channels_first" else x


def load_img(path, color_mode="rgb", target_size=None, interpolation="nearest", keep_aspect_ratio=False):
    """The PIL image of a file."""
    import io
    import os

    Image = _pillow()
    if hasattr(path, "read"):
        image = Image.open(path)
    else:
        with open(os.fspath(path), "rb") as file:
            image = Image.open(io.BytesIO(file.read()))
    modes = {"grayscale": "L", "rgba": "RGBA", "rgb": "RGB"}
    if color_mode not in modes:
        raise ValueError(f"color_mode must be 'grayscale', 'rgb', or 'rgba', got '{color_mode}'")
    if color_mode != "grayscale" or image.mode not in ("L", "I;16", "I"):
        image = image.convert(modes[color_mode])
    if target_size is None or image.size == (target_size[1], target_size[0]):
        return image
    if interpolation not in _RESAMPLING:
        raise ValueError(
            f"Invalid interpolation method {interpolation} specified. Supported methods are {', '.join(_RESAMPLING)}"
        )
    how = getattr(Image, "Resampling", Image)
    size = (target_size[1], target_size[0])
    box = _middle(*image.size, *size) if keep_aspect_ratio else None
    return image.resize(size, getattr(how, interpolation.upper()), box=box)


def _middle(width, height, target_width, target_height):
    """The largest part in the middle that has the target's proportions: (left, top, right, bottom)."""
    wide = (height * target_width) // target_height
    high = (width * target_height) // target_width
    wide, high = min(width, wide), min(height, high)
    left, top = (width - wide) // 2, (height - high) // 2
    return left, top, left + wide, top + high


def save_img(path, x, data_format=None, file_format=None, scale=True, **kwargs):
    """Writes an array as an image; the name's ending says the format unless `file_format` does."""
    image = array_to_img(x, data_format=data_format, scale=scale)
    if image.mode == "RGBA" and (file_format in ("jpg", "jpeg") or str(path).lower().endswith((".jpg", ".jpeg"))):
        warnings.warn("The JPG format does not support RGBA images, converting to RGB.", stacklevel=2)
        image = image.convert("RGB")
    image.save(path, format="jpeg" if file_format == "jpg" else file_format, **kwargs)


def smart_resize(x, size, interpolation="bilinear", data_format="channels_last"):
    """An image, or a batch of them, in another size without distortion: the middle of it, as much as has the proportions."""
    import numpy as np

    from ...image import resize

    x = np.asarray(x)
    if data_format == "channels_first":
        return np.moveaxis(smart_resize(np.moveaxis(x, -3, -1), size, interpolation), -1, -3)
    if x.ndim == 4:
        return np.stack([smart_resize(image, size, interpolation) for image in x])
    if x.ndim != 3:
        raise ValueError(f"Expected an image array with shape `(height, width, channels)`, but got input with shape {x.shape}")
    left, top, right, bottom = _middle(x.shape[1], x.shape[0], size[1], size[0])
    return resize(x[top:bottom, left:right], size, interpolation).numpy().copy()
