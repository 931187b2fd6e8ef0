"""Pictures in files: tf.io.decode_png, decode_jpeg, decode_image and their inverses."""
import math

from . import _dtypes, _ops, _tandem
from ._gif import frames, is_gif
from .errors import InvalidArgumentError, UnimplementedError


def _bytes(contents, who):
    if _tandem.is_symbolic(contents):
        raise UnimplementedError(f"E0702 {who}: the size of a picture is not known while a function is traced; decode outside, as in Dataset.map")
    value = _tandem.to_tensor(contents)
    if value.dtype != _dtypes.string or value.ndim:
        raise InvalidArgumentError(f"{who}: contents must be scalar, got shape {value.shape} of {value.dtype.name}")
    return value.numpy()


def _decoded(data, channels, who, wide=False, **reading):
    kind = _tandem.picture_format(data)
    if kind == "other":
        raise InvalidArgumentError(f"{who}: Unknown image file format. One of JPEG, PNG, GIF, BMP required. Got {len(data)} bytes that begin with {data[:4]!r}")
    return _tandem.decode_png(data, int(channels), wide) if kind == "png" else _tandem.decode_jpeg(data, int(channels), **reading)


def decode_png(contents, channels=0, dtype=_dtypes.uint8, name=None):
    """[height, width, channels] of a PNG (or, of uint8, JPEG) file; channels=0 keeps those of the file."""
    dtype = _dtypes.as_dtype(dtype)
    if dtype not in (_dtypes.uint8, _dtypes.uint16):
        raise InvalidArgumentError(f"decode_png: dtype must be tf.uint8 or tf.uint16, got {dtype.name}")
    data = _bytes(contents, "decode_png")
    if dtype == _dtypes.uint16 and _tandem.picture_format(data) == "jpeg":
        raise InvalidArgumentError("decode_png: a JPEG file has values of 8 bits, got dtype tf.uint16")
    return _decoded(data, channels, "decode_png", dtype == _dtypes.uint16)


def decode_jpeg(contents, channels=0, ratio=1, fancy_upscaling=True, try_recover_truncated=False, acceptable_fraction=1, dct_method="", name=None):
    """[height, width, channels] of a JPEG (or PNG) file; channels=0 keeps those of the file, and height and width become `ratio` times smaller."""
    if dct_method not in ("", "INTEGER_FAST", "INTEGER_ACCURATE"):
        raise InvalidArgumentError(f"decode_jpeg: dct_method must be one of {{'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}}, got {dct_method!r}")
    return _decoded(
        _bytes(contents, "decode_jpeg"), channels, "decode_jpeg", ratio=int(ratio), fancy_upscaling=bool(fancy_upscaling),
        accurate=dct_method == "INTEGER_ACCURATE", recover_truncated=bool(try_recover_truncated), acceptable_fraction=float(acceptable_fraction),
    )  # fmt: skip


def decode_image(contents, channels=None, dtype=_dtypes.uint8, name=None, expand_animations=True):
    """[height, width, channels] of a PNG, JPEG, BMP or GIF file, of which all frames are kept where expand_animations says so; floats are from 0 to 1."""
    from .image import convert_image_dtype

    data = _bytes(contents, "decode_image")
    if is_gif(data):
        if channels not in (None, 0, 3):
            raise InvalidArgumentError(f"decode_image: a GIF file has 3 channels, got channels={channels}")
        picture = decode_gif(data)
        picture = picture if expand_animations else picture[0]
    else:
        picture = decode_bmp(data, channels or 0) if data[:2] == b"BM" else _decoded(data, channels or 0, "decode_image")
    return convert_image_dtype(picture, dtype)


def decode_gif(contents, name=None):
    """[frames, height, width, 3] of a GIF file."""
    return _tandem.to_tensor(frames(_bytes(contents, "decode_gif")))


def is_jpeg(contents, name=None):
    """Whether the bytes begin as a JPEG file does."""
    return _tandem.to_tensor(_tandem.picture_format(_bytes(contents, "is_jpeg")) == "jpeg")


def encode_png(image, compression=-1, name=None):
    """The PNG file of [height, width, channels], as a string; of a batch of pictures a string each."""
    image = _tandem.to_tensor(image)
    if image.ndim <= 3:
        return _tandem.to_tensor(_tandem.encode_png(image, int(compression)))
    *batch, height, width, channels = image.shape.as_list()
    files = [_tandem.encode_png(one, int(compression)) for one in _ops.unstack(_ops.reshape(image, [math.prod(batch), height, width, channels]))]
    return _ops.reshape(_tandem.to_tensor(files, _dtypes.string), batch)


def encode_jpeg(image, format="", quality=95, progressive=False, optimize_size=False, chroma_downsampling=True, density_unit="in",
                x_density=300, y_density=300, xmp_metadata="", name=None):  # fmt: skip
    """The JPEG file of [height, width, channels], as a string."""
    image = _tandem.to_tensor(image)
    depth = {"": None, "grayscale": 1, "rgb": 3}
    if format not in depth or density_unit not in ("in", "cm"):
        raise InvalidArgumentError(f"encode_jpeg: format must be '', 'grayscale' or 'rgb' and density_unit 'in' or 'cm', got {format!r} and {density_unit!r}")
    if depth[format] and image.ndim == 3 and image.shape[2] != depth[format]:
        raise InvalidArgumentError(f"encode_jpeg: format {format} expects {depth[format]} channels, got {image.shape}")
    metadata = xmp_metadata.encode() if isinstance(xmp_metadata, str) else bytes(xmp_metadata)
    settings = (bool(progressive), bool(optimize_size), bool(chroma_downsampling), density_unit == "cm", int(x_density), int(y_density))
    return _tandem.to_tensor(_tandem.encode_jpeg(image, int(quality), *settings, metadata))


def extract_jpeg_shape(contents, output_type=_dtypes.int32, name=None):
    """[height, width, channels] of a JPEG file."""
    return _tandem.to_tensor(decode_jpeg(contents).shape.as_list(), output_type)


def decode_and_crop_jpeg(contents, crop_window, channels=0, ratio=1, fancy_upscaling=True, try_recover_truncated=False, acceptable_fraction=1,
                         dct_method="", name=None):  # fmt: skip
    """The part [y, x, height, width] of a JPEG file."""
    y, x, height, width = _tandem.as_ints(crop_window)
    picture = decode_jpeg(contents, channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method)
    if y < 0 or x < 0 or height <= 0 or width <= 0 or y + height > picture.shape[0] or x + width > picture.shape[1]:
        raise InvalidArgumentError(f"decode_and_crop_jpeg: the window {[y, x, height, width]} does not lie inside the picture {picture.shape}")
    return picture[y : y + height, x : x + width]


def adjust_jpeg_quality(image, jpeg_quality, dct_method="", name=None):
    """The picture as it is after it was a JPEG file of this quality."""
    from .image import convert_image_dtype

    image = _tandem.to_tensor(image)
    data = encode_jpeg(convert_image_dtype(image, _dtypes.uint8, saturate=True), quality=int(jpeg_quality))
    return convert_image_dtype(decode_jpeg(data, channels=image.shape[-1], dct_method=dct_method), image.dtype, saturate=True)


def random_jpeg_quality(image, min_jpeg_quality, max_jpeg_quality, seed=None):
    """The picture in a quality drawn from [min, max)."""
    from .random import uniform

    return adjust_jpeg_quality(image, _drawn(uniform, min_jpeg_quality, max_jpeg_quality, seed=seed))


def stateless_random_jpeg_quality(image, min_jpeg_quality, max_jpeg_quality, seed):
    """The same, drawn by the seed alone."""
    from .random import stateless_uniform

    return adjust_jpeg_quality(image, _drawn(stateless_uniform, min_jpeg_quality, max_jpeg_quality, seed=seed))


def _drawn(uniform, least, most, seed):
    if least < 0 or most < 0 or least > 100 or most > 100:
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if least >= most:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    return int(uniform([], minval=least, maxval=most, dtype=_dtypes.int32, seed=seed))


def decode_bmp(contents, channels=0, name=None):
    """[height, width, channels] of a BMP file without compression."""
    import struct

    import numpy as np

    data = _bytes(contents, "decode_bmp")
    if data[:2] != b"BM" or len(data) < 54:
        raise InvalidArgumentError("decode_bmp: the bytes are no BMP file")
    start, _, width, height, _, bits, compression = struct.unpack_from("<IIiiHHI", data, 10)
    depth = bits // 8
    if bits not in (8, 24, 32) or compression not in (0, 3) or channels not in (0, depth):
        raise InvalidArgumentError(f"decode_bmp: {bits} bits a pixel in compression {compression} are not read as {channels or depth} channels")
    stride = (width * depth + 3) // 4 * 4
    if start + stride * abs(height) > len(data) or width <= 0:
        raise InvalidArgumentError(f"decode_bmp: {len(data)} bytes are too few for {width} x {abs(height)} pixels")
    rows = np.frombuffer(data, np.uint8, stride * abs(height), start).reshape(abs(height), stride)[:, : width * depth].reshape(abs(height), width, depth)
    rows = rows[::-1] if height > 0 else rows
    return _tandem.to_tensor(np.ascontiguousarray(rows if depth == 1 else rows[..., [2, 1, 0, 3][:depth]]))
