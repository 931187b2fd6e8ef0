"""tf.summary: values over time, in the event files that TensorBoard reads."""
import contextlib
import os
import socket
import struct
import threading
import time

from . import _names, _protobuf, _replica, _tandem

_local = _replica.thread_state()
_numbers = iter(range(1 << 62))


# --- Protocol buffers, as far as events need them. ---


def _field(number, payload):
    """A message, string or bytes."""
    return _protobuf.varint(number << 3 | 2) + _protobuf.varint(len(payload)) + payload


def _double(number, value):
    return _protobuf.varint(number << 3 | 1) + struct.pack("<d", value)


def _integer(number, value):
    return _protobuf.varint(number << 3) + _protobuf.varint(int(value))


_FLOAT, _DOUBLE, _STRING = 1, 2, 7


def _shape(sizes):
    return _field(2, b"".join(_field(2, _integer(1, size)) for size in sizes))


def _numbers_tensor(array, kind):
    return _integer(1, kind) + _shape(array.shape) + _field(4, array.tobytes())


def _strings_tensor(values, sizes):
    return _integer(1, _STRING) + _shape(sizes) + b"".join(_field(8, value) for value in values)


def _metadata(plugin, description=None, content=b""):
    data = _field(1, plugin.encode()) + (_field(2, content) if content else b"")
    return _field(1, data) + (_field(3, description.encode()) if description else b"")


class SummaryWriter:
    """Writes events into one file. As a context manager: the default writer, flushed at the end."""

    def __init__(self, logdir, max_queue=10, flush_millis=120000, filename_suffix=".v2", name=None):
        from .io import TFRecordWriter

        folder = os.fspath(logdir)
        os.makedirs(folder, exist_ok=True)
        stem = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{os.getpid()}.{next(_numbers)}{filename_suffix}"
        self.path = os.path.join(folder, stem)
        self._lock = threading.Lock()
        self._most, self._wait, self._queued, self._flushed = max_queue, flush_millis / 1000, 0, time.time()
        self._file = TFRecordWriter(self.path)
        self._file.write(_double(1, time.time()) + _field(3, b"brain.Event:2"))
        self._file.flush()

    def add(self, step, payload):
        """An event with a summary, or another message of events by its field."""
        with self._lock:
            if self._file is None:
                raise RuntimeError("SummaryWriter is already closed")
            self._file.write(_double(1, time.time()) + _integer(2, step) + payload)
            self._queued += 1
        if self._queued >= self._most or time.time() - self._flushed > self._wait:
            self.flush()

    def flush(self):
        with self._lock:
            if self._file is not None:
                self._file.flush()
            self._queued, self._flushed = 0, time.time()

    def close(self):
        self.flush()
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def init(self):
        return None

    @contextlib.contextmanager
    def as_default(self, step=None):
        """Inside, summaries go to this file; with a step that they need not name."""
        old = getattr(_local, "writer", None), getattr(_local, "step", None)
        _local.writer = self
        if step is not None:
            _local.step = step
        try:
            yield self
        finally:
            self.flush()
            _local.writer, _local.step = old

    def set_as_default(self, step=None):
        _local.writer = self
        if step is not None:
            _local.step = step

    def __enter__(self):
        self._context = self.as_default()
        return self._context.__enter__()

    def __exit__(self, *exception):
        return self._context.__exit__(*exception)


class _NoWriter:
    """Takes everything and writes nothing."""

    def add(self, step, payload):
        return None

    flush = close = init = lambda self: None

    @contextlib.contextmanager
    def as_default(self, step=None):
        yield self

    def set_as_default(self, step=None):
        return None


def create_file_writer(logdir, max_queue=None, flush_millis=None, filename_suffix=None, name=None):
    """A writer for a new event file in the folder."""
    return SummaryWriter(logdir, max_queue or 10, flush_millis or 120000, filename_suffix or ".v2")


def create_noop_writer():
    """A writer that writes nothing."""
    return _NoWriter()


def flush(writer=None, name=None):
    """What was written goes to the file."""
    writer = writer or getattr(_local, "writer", None)
    if writer is not None:
        writer.flush()


@contextlib.contextmanager
def record_if(condition):
    """Inside, summaries are written only if the condition (a bool, or a function that gives one) holds."""
    old = getattr(_local, "condition", True)
    _local.condition = condition
    try:
        yield
    finally:
        _local.condition = old


def should_record_summaries():
    """Whether a summary would be written now."""
    condition = getattr(_local, "condition", True)
    return bool(condition() if callable(condition) else condition) and getattr(_local, "writer", None) is not None


class experimental:
    """tf.summary.experimental: the step that summaries take when they name none."""

    @staticmethod
    def set_step(step):
        _local.step = step

    @staticmethod
    def get_step():
        return getattr(_local, "step", None)


def _written(name, step, values, encode, plugin, description, content=b""):
    """Writes now, or each time the traced function runs."""
    step = experimental.get_step() if step is None else step
    if step is None:
        raise ValueError("No step set. Please specify one either through the `step` argument or through tf.summary.experimental.set_step()")
    writer, records = getattr(_local, "writer", None), should_record_summaries()
    tensors = [_tandem.to_tensor(step), *(_tandem.to_tensor(value) for value in values)]

    def write(tensors):
        value = _field(1, name.encode()) + _field(8, encode(*tensors[1:])) + _field(9, _metadata(plugin, description, content))
        writer.add(int(tensors[0].numpy()), _field(5, _field(1, value)))
        return []

    if not records:
        return False
    if _tandem.executing_eagerly():
        write(tensors)
    else:
        _tandem.python_call(write, tensors, [], None)
    return True


def scalar(name, data, step=None, description=None):
    """One number."""
    def encode(value):
        import numpy

        if value.shape.num_elements() != 1:
            raise ValueError(f"tf.summary.scalar: '{name}' must be one number, got shape {value.shape}")
        return _numbers_tensor(numpy.asarray(value.numpy()).reshape(()).astype("<f4"), _FLOAT)

    return _written(name, step, [data], encode, "scalars", description)


def _buckets(values, count):
    """Rows of left edge, right edge and how many values lie between them."""
    import numpy

    values = numpy.asarray(values, "f8").ravel()
    if not count or not values.size:
        return numpy.zeros((count, 3))
    low, high = values.min(), values.max()
    if low == high:
        rows = numpy.zeros((count, 3))
        rows[:, :2] = low
        rows[-1, 2] = values.size
        return rows
    counts, edges = numpy.histogram(values, count, (low, high))
    return numpy.stack([edges[:-1], edges[1:], counts], 1)


def histogram(name, data, step=None, buckets=None, description=None):
    """How values are distributed."""
    count = 30 if buckets is None else int(buckets)
    return _written(name, step, [data], lambda value: _numbers_tensor(_buckets(value.numpy(), count).astype("<f8"), _DOUBLE), "histograms", description)


def text(name, data, step=None, description=None):
    """Text, shown as Markdown."""
    def encode(value):
        import numpy

        array = numpy.asarray(value.numpy(), object)
        return _strings_tensor([item if isinstance(item, bytes) else str(item).encode() for item in array.ravel()], array.shape)

    return _written(name, step, [data], encode, "text", description)


def keras_model(name, json_text, step=None):
    """The layers of a Keras model (its to_json), which TensorBoard draws as the conceptual graph."""
    return _written(name, step, [json_text], lambda value: _strings_tensor([value.numpy()], ()), "graph_keras_model", None, b"1")


def _png(pixels):
    """A PNG file of [height, width, channels] bytes."""
    import zlib

    height, width, channels = pixels.shape
    kinds = {1: 0, 2: 4, 3: 2, 4: 6}
    if channels not in kinds:
        raise ValueError(f"tf.summary.image: a picture has 1 to 4 channels, got {channels}")

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, 8, kinds[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def image(name, data, step=None, max_outputs=3, description=None):
    """Pictures [count, height, width, channels], of bytes or of floats from 0 to 1."""
    def encode(value):
        import numpy

        array = numpy.asarray(value.numpy())
        if array.ndim != 4:
            raise ValueError(f"tf.summary.image: needs [count, height, width, channels], got {array.shape}")
        if array.dtype != numpy.uint8:
            array = (numpy.clip(array, 0, 1) * 255.5).astype(numpy.uint8)
        pictures = [_png(picture) for picture in array[:max_outputs]]
        words = [str(array.shape[2]).encode(), str(array.shape[1]).encode(), *pictures]
        return _strings_tensor(words, [len(words)])

    return _written(name, step, [data], encode, "images", description)


__getattr__, __dir__ = _names.lazy(__name__, _names.places_of(_summary_graphs="audio graph trace_export trace_off trace_on write"))
