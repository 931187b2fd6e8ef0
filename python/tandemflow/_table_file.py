"""Sorted tables of keys and values, as LevelDB and TensorFlow write them: blocks of entries, a block that finds them, a footer.

An entry repeats only what its key does not share with the key before; every block ends in a checksum.
"""
import struct

from . import _tandem
from ._protobuf import read_varint, varint

_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48
_BLOCK = 256 * 1024  # bytes, about
_BETWEEN_RESTARTS = 16  # entries; at a restart the whole key is written
_PLAIN, _SNAPPY = 0, 1


class Damaged(ValueError):
    """What was read is no such table."""


def masked(crc):
    """Checksums of bytes that hold checksums are weak: stored ones are turned and moved."""
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _block(entries):
    out, restarts, before = bytearray(), [], b""
    for i, (key, value) in enumerate(entries):
        shared = 0
        if i % _BETWEEN_RESTARTS == 0:
            restarts.append(len(out))
        else:
            most = min(len(key), len(before))
            while shared < most and key[shared] == before[shared]:
                shared += 1
        out += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        before = key
    restarts = restarts or [0]
    return bytes(out) + struct.pack(f"<{len(restarts) + 1}I", *restarts, len(restarts))


def _blocks_of(entries):
    block, size = [], 0
    for key in sorted(entries):
        block.append((key, entries[key]))
        size += len(key) + len(entries[key])
        if size >= _BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block


def write(entries):
    """The bytes of a table of {key: value}."""
    out = bytearray()

    def add(block):
        start = len(out)
        out.extend(block)
        out.append(_PLAIN)
        out.extend(struct.pack("<I", masked(_tandem.crc32c(bytes(out[start:])))))
        return varint(start) + varint(len(block))

    found = [(block[-1][0], add(_block(block))) for block in _blocks_of(entries)]
    handles = add(_block([])) + add(_block(found))
    return bytes(out) + handles.ljust(_FOOTER - 8, b"\0") + struct.pack("<Q", _MAGIC)


def read(data):
    """{key: value} of a table; Damaged where it is none."""
    if len(data) < _FOOTER or struct.unpack("<Q", data[-8:])[0] != _MAGIC:
        raise Damaged("it does not end as a table of TensorFlow does (it is cut off, or another kind of file)")
    offset, size, at = _handle(data, len(data) - _FOOTER)
    _content(data, offset, size)  # has nothing in it, but must be whole
    offset, size, _ = _handle(data, at)
    entries = {}
    for _, handle in _entries(_content(data, offset, size)):
        start, length, _ = _handle(handle, 0)
        entries.update(_entries(_content(data, start, length)))
    return entries


def number(data, at):
    """A number of as few bytes as it needs, and where the next one begins."""
    if found := read_varint(data, at):
        return found
    raise Damaged("a number in it has no end")


def _handle(data, at):
    offset, at = number(data, at)
    size, at = number(data, at)
    return offset, size, at


def _content(data, offset, size):
    end = offset + size
    if end + 5 > len(data):
        raise Damaged(f"a block of {size} bytes should begin at byte {offset}, the file has {len(data)}")
    if masked(_tandem.crc32c(data[offset : end + 1])) != struct.unpack("<I", data[end + 1 : end + 5])[0]:
        raise Damaged(f"the checksum of the block at byte {offset} does not fit")
    if data[end] != _PLAIN:
        kind = "Snappy" if data[end] == _SNAPPY else f"kind {data[end]}"
        raise Damaged(f"the block at byte {offset} is compressed ({kind}), which TensorFlow's checkpoints never are")
    return data[offset:end]


def _entries(block):
    if len(block) < 4:
        raise Damaged("a block is too short")
    end = len(block) - 4 - 4 * struct.unpack("<I", block[-4:])[0]
    if end < 0:
        raise Damaged("a block is shorter than its restart points")
    at, key = 0, b""
    while at < end:
        shared, at = number(block, at)
        rest, at = number(block, at)
        size, at = number(block, at)
        if shared > len(key) or at + rest + size > end:
            raise Damaged("an entry is longer than its block")
        key = key[:shared] + block[at : at + rest]
        yield key, block[at + rest : at + rest + size]
        at += rest + size
