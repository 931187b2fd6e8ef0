"""Event files of TensorBoard: protocol buffers in TFRecords, written field by field."""
import itertools
import os
import socket
import struct
import time
import zlib

from ...io import TFRecordWriter

_FLOAT, _DOUBLE, _STRING = 1, 2, 7  # numbers of TensorFlow's dtypes
_counter = itertools.count()


def _varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number, data):
    """A field of bytes, text or a message inside."""
    data = data.encode() if isinstance(data, str) else data
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _number(number, value):
    return _varint(number << 3) + _varint(value & (1 << 64) - 1)


def _tensor(dtype, shape, payload):
    sizes = b"".join(_field(2, _number(1, size)) for size in shape)
    return _number(1, dtype) + _field(2, sizes) + payload


class EventWriter:
    """One file of events in a folder of its own for each run."""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{os.getpid()}.{next(_counter)}.v2"
        self._records = TFRecordWriter(os.path.join(folder, name))
        self._write(_field(3, "brain.Event:2"))

    def _write(self, fields):
        self._records.write(_varint(1 << 3 | 1) + struct.pack("<d", time.time()) + fields)

    def _summary(self, tag, step, tensor, plugin, content=b""):
        plugin = _field(1, plugin) + (_field(2, content) if content else b"")
        value = _field(1, tag) + _field(8, tensor) + _field(9, _field(1, plugin))
        self._write((_number(2, step) if step else b"") + _field(5, _field(1, value)))

    def scalar(self, tag, value, step):
        content = _field(4, struct.pack("<f", float(value)))
        self._summary(tag, step, _tensor(_FLOAT, (), content), "scalars")

    def text_tensor(self, tag, text, step, plugin, content=b""):
        self._summary(tag, step, _tensor(_STRING, (), _field(8, text)), plugin, content)

    def histogram(self, tag, values, step, buckets=30):
        rows = histogram_rows(values, buckets)
        self._summary(tag, step, _tensor(_DOUBLE, rows.shape, _field(4, rows.astype("<f8").tobytes())), "histograms")

    def images(self, tag, images, step):
        """(count, height, width, channels) of bytes, or of floats between 0 and 1."""
        import numpy as np

        if images.dtype != np.uint8:
            images = np.clip(images * 255 + 0.5, 0, 255).astype("uint8")
        strings = [str(images.shape[2]), str(images.shape[1]), *(png(image) for image in images[:3])]
        payload = b"".join(_field(8, string) for string in strings)
        self._summary(tag, step, _tensor(_STRING, (len(strings),), payload), "images")

    def flush(self):
        self._records.flush()

    def close(self):
        self._records.close()


def histogram_rows(values, buckets):
    """(left edge, right edge, count) of each bucket."""
    import numpy as np

    values = np.asarray(values, "float64").reshape(-1)
    if not values.size:
        return np.zeros((buckets, 3))
    low, high = values.min(), values.max()
    if low == high:
        counts = np.zeros(buckets)
        counts[-1] = values.size
        return np.stack([np.full(buckets, low), np.full(buckets, high), counts], 1)
    counts, edges = np.histogram(values, buckets)
    return np.stack([edges[:-1], edges[1:], counts], 1)


def png(pixels):
    """The bytes of a PNG file for (height, width, channels) bytes."""
    height, width, channels = pixels.shape
    kind = {1: 0, 3: 2, 4: 6}[channels]
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)  # no filter

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
