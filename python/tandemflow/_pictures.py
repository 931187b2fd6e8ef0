"""Pictures in files: tf.io.decode_png, decode_jpeg, decode_image and their inverses."""
from . import _dtypes, _tandem
from .errors import InvalidArgumentError, UnimplementedError


def _bytes(contents, who):
    if _tandem.is_symbolic(contents):
        raise UnimplementedError(f"E0702 {who}: the size of a picture is not known while a function is traced; decode outside, as in Dataset.map")
    value = _tandem.to_tensor(contents)
    if value.dtype != _dtypes.string or value.ndim:
        raise InvalidArgumentError(f"{who}: contents must be scalar, got shape {value.shape} of {value.dtype.name}")
    return value.numpy()


def _decoded(data, channels, who):
    kind = _tandem.picture_format(data)
    if kind == "other":
        raise InvalidArgumentError(f"{who}: Unknown image file format. One of JPEG, PNG required. Got {len(data)} bytes that begin with {data[:4]!r}")
    return (_tandem.decode_png if kind == "png" else _tandem.decode_jpeg)(data, int(channels))


def decode_png(contents, channels=0, dtype=_dtypes.uint8, name=None):
    """[height, width, channels] of a PNG (or JPEG) file; channels=0 keeps those of the file."""
    if _dtypes.as_dtype(dtype) != _dtypes.uint8:
        raise UnimplementedError(f"decode_png: dtype must be tf.uint8, got {dtype}; pictures of 16 bits are read as 8")
    return _decoded(_bytes(contents, "decode_png"), channels, "decode_png")


def decode_jpeg(contents, channels=0, ratio=1, fancy_upscaling=True, try_recover_truncated=False, acceptable_fraction=1, dct_method="", name=None):
    """[height, width, channels] of a JPEG (or PNG) file; channels=0 keeps those of the file."""
    if int(ratio) != 1:
        raise UnimplementedError(f"decode_jpeg: ratio must be 1, got {ratio}; resize the picture")
    return _decoded(_bytes(contents, "decode_jpeg"), channels, "decode_jpeg")


def decode_image(contents, channels=None, dtype=_dtypes.uint8, name=None, expand_animations=True):
    """[height, width, channels] of a PNG or JPEG file; floats are from 0 to 1."""
    from .image import convert_image_dtype

    return convert_image_dtype(_decoded(_bytes(contents, "decode_image"), channels or 0, "decode_image"), dtype)


def is_jpeg(contents, name=None):
    """Whether the bytes begin as a JPEG file does."""
    return _tandem.to_tensor(_tandem.picture_format(_bytes(contents, "is_jpeg")) == "jpeg")


def encode_png(image, compression=-1, name=None):
    """The PNG file of [height, width, channels], as a string."""
    return _tandem.to_tensor(_tandem.encode_png(image, int(compression)))


def encode_jpeg(image, format="", quality=95, progressive=False, optimize_size=False, chroma_downsampling=True, density_unit="in",
                x_density=300, y_density=300, xmp_metadata="", name=None):  # fmt: skip
    """The JPEG file of [height, width, channels], as a string."""
    return _tandem.to_tensor(_tandem.encode_jpeg(image, int(quality)))
