"""Functions composed of ops, for names that programs take from tf.math, tf.nn and tf.io."""
from . import _dtypes, _ops, _tandem
from .errors import InvalidArgumentError


def confusion_matrix(labels, predictions, num_classes=None, weights=None, dtype=_dtypes.int32, name=None):
    """How often a label (row) was predicted as a class (column)."""
    labels, predictions = _ops.cast(_tandem.to_tensor(labels), _dtypes.int64), _ops.cast(_tandem.to_tensor(predictions), _dtypes.int64)
    if labels.shape != predictions.shape or labels.ndim != 1:
        raise ValueError(f"confusion_matrix: labels and predictions must be vectors of one length, got {labels.shape} and {predictions.shape}")
    if num_classes is None:
        num_classes = int(_ops.reduce_max(_ops.maximum(labels, predictions))) + 1 if labels.shape[0] else 0
    count = int(num_classes)
    if _tandem.executing_eagerly() and labels.shape[0]:
        highest = int(_ops.reduce_max(_ops.maximum(labels, predictions)))
        if highest >= count or int(_ops.reduce_min(_ops.minimum(labels, predictions))) < 0:
            from .errors import InvalidArgumentError

            raise InvalidArgumentError(f"confusion_matrix: labels and predictions must lie between 0 and {count - 1}, `num_classes` less 1")
    one = _ops.ones([labels.shape[0]], dtype) if weights is None else _ops.cast(_tandem.to_tensor(weights), dtype)
    places = _ops.stack([labels, predictions], 1)
    return _ops.tensor_scatter_nd_add(_ops.zeros([count, count], dtype), places, one)


def convolution(input, filters, strides=None, padding="VALID", data_format=None, dilations=None, name=None):
    """A convolution over one to three axes, by the shape of the filters."""
    from . import nn

    axes = _tandem.to_tensor(filters).ndim - 2
    if axes not in (1, 2, 3):
        raise ValueError(f"convolution: filters must have 3, 4 or 5 axes, got {_tandem.to_tensor(filters).shape}")
    function = (nn.conv1d, nn.conv2d, nn.conv3d)[axes - 1]
    return function(input, filters, 1 if strides is None else strides, padding, data_format, dilations)


def decode_raw(input_bytes, out_type, little_endian=True, fixed_length=None, name=None):
    """The numbers that strings hold byte by byte."""
    import numpy

    dtype = _dtypes.as_dtype(out_type)
    kind = numpy.dtype(dtype.as_numpy_dtype).newbyteorder("<" if little_endian else ">")
    strings = _tandem.to_tensor(input_bytes)
    rows = numpy.asarray(strings.numpy(), object)
    lengths = {len(item) for item in rows.ravel()}
    if len(lengths) > 1:
        raise InvalidArgumentError(f"DecodeRaw requires input strings to all be the same size, got {sorted(lengths)} bytes")
    if any(length % kind.itemsize for length in lengths):
        raise InvalidArgumentError(f"Input to DecodeRaw has length {lengths.pop()} that is not a multiple of {kind.itemsize}, the size of {dtype.name}")
    flat = [numpy.frombuffer(item, kind) for item in rows.ravel()]
    return _tandem.to_tensor(numpy.stack(flat).astype(dtype.as_numpy_dtype).reshape(*rows.shape, -1))


def encode_base64(input, pad=False, name=None):
    """Strings in the alphabet that is safe in addresses."""
    import base64

    from .strings import _each

    return _each(lambda s: base64.urlsafe_b64encode(s) if pad else base64.urlsafe_b64encode(s).rstrip(b"="), input)


def decode_base64(input, name=None):
    """What encode_base64 made of strings."""
    import base64

    from .strings import _each

    return _each(lambda s: base64.urlsafe_b64decode(s + b"=" * (-len(s) % 4)), input)


def decode_compressed(bytes, compression_type="", name=None):
    """Strings unpacked: compression_type "", "ZLIB" or "GZIP"."""
    import zlib

    from .strings import _each

    widths = {"": None, "ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS | 16}
    if compression_type not in widths:
        raise InvalidArgumentError(f"Only ZLIB, GZIP or NONE are supported compressions, got {compression_type!r}")
    width = widths[compression_type]

    def unpacked(text):
        try:
            return text if width is None else zlib.decompress(text, width)
        except zlib.error as error:
            raise InvalidArgumentError(f"decode_compressed: the bytes are not {compression_type}: {error}") from None

    return _each(unpacked, bytes)
