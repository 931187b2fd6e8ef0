"""Named tensors in TensorFlow's files: PREFIX.index says where each one's bytes are, PREFIX.data-00000-of-00001 holds them."""
import glob
import mmap
import os
import struct

from . import _dtypes, _tandem, _table_file
from ._atomic_file import write_atomically
from ._protobuf import Field, Message, varint
from .errors import DataLossError, NotFoundError, UnimplementedError

INDEX = ".index"

NUMBERS = {  # of TensorFlow's DataType
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "string": 7, "complex64": 8, "int64": 9, "bool": 10,
    "bfloat16": 14, "uint16": 17, "complex128": 18, "float16": 19, "uint32": 22, "uint64": 23,
}  # fmt: skip
NAMES = {number: name for name, number in NUMBERS.items()}


class _Version(Message):
    fields = {"producer": Field(1, "int")}


class _Header(Message):
    fields = {"num_shards": Field(1, "int"), "endianness": Field(2, "int"), "version": Field(3, _Version)}


class Dim(Message):
    fields = {"size": Field(1, "int")}


class ShapeMessage(Message):
    fields = {"dim": Field(2, Dim, repeated=True)}


class _Entry(Message):
    fields = {
        "dtype": Field(1, "int"), "shape": Field(2, ShapeMessage), "shard_id": Field(3, "int"), "offset": Field(4, "int"),
        "size": Field(5, "int"), "crc32c": Field(6, "fixed32"), "slices": Field(7, "bytes", repeated=True),
    }  # fmt: skip

    @property
    def sizes(self):
        return [dim.size for dim in self.shape.dim] if self.shape else []


def data_file(prefix, shard=0, shards=1):
    return f"{prefix}.data-{shard:05d}-of-{shards:05d}"


def remove(prefix):
    """Deletes the files of a bundle."""
    for path in [prefix + INDEX, *glob.glob(glob.escape(prefix) + ".data-?????-of-?????")]:
        if os.path.exists(path):
            os.unlink(path)


# --- Writing ---


def _string_bytes(items):
    """The bytes of strings and their checksum: lengths, a checksum of them, then the strings."""
    crc = 0
    for item in items:
        crc = _tandem.crc32c(struct.pack("<I" if len(item) < 2**32 else "<Q", len(item)), crc)
    of_lengths = struct.pack("<I", _table_file.masked(crc))
    text = b"".join(items)
    return b"".join(varint(len(item)) for item in items) + of_lengths + text, _tandem.crc32c(text, _tandem.crc32c(of_lengths, crc))


def array_of(tensor):
    """What NumPy can hold: bfloat16 as the upper halves of float32, which it is."""
    import numpy

    from . import _ops

    if tensor.dtype.name != "bfloat16":
        return numpy.ascontiguousarray(numpy.asarray(tensor.numpy(), object if tensor.dtype.name == "string" else None))
    return (numpy.ascontiguousarray(_ops.cast(tensor, _dtypes.float32).numpy()).view(numpy.uint32) >> 16).astype(numpy.uint16)


def write(prefix, tensors):
    """Writes {key: tensor}; the index comes last, so that who finds it finds all."""
    entries = {b"": _Header(num_shards=1, version=_Version(producer=1)).to_bytes()}
    pieces, offset = [], 0
    for key in sorted(tensors):
        tensor = _tandem.to_tensor(tensors[key])
        name, array = tensor.dtype.name, array_of(tensor)
        if name == "string":
            data, crc = _string_bytes(array.ravel().tolist())
        else:
            data = array.reshape(-1).view("uint8").data
            crc = _tandem.crc32c(data)
        shape = ShapeMessage(dim=[Dim(size=size) for size in tensor.shape.as_list()])
        entry = _Entry(dtype=NUMBERS[name], shape=shape, offset=offset, size=len(data), crc32c=_table_file.masked(crc))
        entries[key.encode()] = entry.to_bytes()
        pieces.append(data)
        offset += len(data)
    write_atomically(data_file(prefix), pieces)
    write_atomically(prefix + INDEX, [_table_file.write(entries)])


# --- Reading ---


class Bundle:
    """The tensors of PREFIX, read when they are asked for; DataLossError names what is damaged."""

    def __init__(self, prefix, index):
        self._prefix, self._shards = prefix, {}
        try:
            entries = _table_file.read(index)
            header = _Header.parse(entries.pop(b"", b""))
            self.entries = {key.decode(): _Entry.parse(value) for key, value in entries.items()}
        except ValueError as error:
            raise DataLossError(f"{prefix + INDEX} is damaged or no checkpoint: {error}; take an older checkpoint") from None
        if header.endianness:
            raise UnimplementedError(f"{prefix + INDEX} was written by a big-endian machine, which is not supported")
        self._count = header.num_shards

    def dtype(self, key):
        number = self.entries[key].dtype
        if number not in NAMES:
            raise UnimplementedError(f"{key} in {self._prefix} has TensorFlow's dtype {number}, which is not supported")
        return _dtypes.as_dtype(NAMES[number])

    def shape(self, key):
        return self.entries[key].sizes

    def tensor(self, key):
        import numpy

        from . import _ops

        entry, dtype = self.entries[key], self.dtype(key)
        if entry.slices:
            raise UnimplementedError(f"{key} in {self._prefix} is stored in slices, which is not supported; save it as one variable")
        data = self._bytes(key, entry)
        if dtype == _dtypes.string:
            return self._strings(key, entry, data)
        if _table_file.masked(_tandem.crc32c(data)) != entry.crc32c:
            raise self._damaged(key, entry)
        count = 1
        for size in entry.sizes:
            count *= size
        if count * dtype.size != len(data):
            raise DataLossError(f"{key} in {self._prefix} has {len(data)} bytes, shape {entry.sizes} of {dtype.name} needs {count * dtype.size}")
        if dtype == _dtypes.bfloat16:
            wide = (numpy.frombuffer(data, numpy.uint16).astype(numpy.uint32) << 16).view(numpy.float32)
            return _ops.cast(_tandem.to_tensor(wide.reshape(entry.sizes)), dtype)
        return _tandem.to_tensor(numpy.frombuffer(data, dtype.as_numpy_dtype).reshape(entry.sizes).copy())

    def _strings(self, key, entry, data):
        from . import _ops

        count = 1
        for size in entry.sizes:
            count *= size
        try:
            items = _split_strings(data, count)
        except ValueError:
            raise self._damaged(key, entry) from None
        again, crc = _string_bytes(items)
        if again != data or _table_file.masked(crc) != entry.crc32c:
            raise self._damaged(key, entry)
        return _ops.reshape(_tandem.to_tensor(items, _dtypes.string), entry.sizes)

    def _damaged(self, key, entry):
        return DataLossError(f"{data_file(self._prefix, entry.shard_id, self._count)} is damaged: the checksum of {key} does not fit; take an older checkpoint")

    def _bytes(self, key, entry):
        shard = self._shard(entry.shard_id)
        if entry.offset < 0 or entry.size < 0 or entry.offset + entry.size > len(shard):
            path = data_file(self._prefix, entry.shard_id, self._count)
            raise DataLossError(f"{path} is cut off: {key} needs bytes {entry.offset} to {entry.offset + entry.size}, it has {len(shard)}; take an older checkpoint")
        return shard[entry.offset : entry.offset + entry.size]

    def _shard(self, number):
        if number not in self._shards:
            path = data_file(self._prefix, number, self._count)
            try:
                with open(path, "rb") as file:
                    size = os.fstat(file.fileno()).st_size
                    self._shards[number] = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)) if size else memoryview(b"")
            except FileNotFoundError:
                raise NotFoundError(f"{path}; No such file or directory: it belongs to {self._prefix + INDEX}") from None
        return self._shards[number]


def _split_strings(data, count):
    lengths, at = [], 0
    for _ in range(count):
        length, at = _table_file.number(data, at)
        lengths.append(length)
    at += 4
    if at + sum(lengths) != len(data):
        raise ValueError("lengths")
    items = []
    for length in lengths:
        items.append(bytes(data[at : at + length]))
        at += length
    return items
