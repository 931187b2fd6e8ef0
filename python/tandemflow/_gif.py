"""The frames of a GIF file, each drawn over the one before."""
import struct

import numpy as np

from .errors import InvalidArgumentError

_EXTENSION, _IMAGE, _END = 0x21, 0x2C, 0x3B
_TRANSPARENCY = 0xF9
_MOST_CODES = 4096


class _Reader:
    """Takes bytes from the beginning on; too few of them are an error."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if self.at + count > len(self.data):
            raise InvalidArgumentError(f"decode_gif: the file breaks off after {len(self.data)} bytes, {self.at + count - len(self.data)} more are needed")
        self.at += count
        return self.data[self.at - count : self.at]

    def numbers(self, layout):
        return struct.unpack("<" + layout, self.take(struct.calcsize("<" + layout)))

    def blocks(self):
        """What stands in the blocks up to an empty one."""
        parts = []
        while size := self.take(1)[0]:
            parts.append(self.take(size))
        return b"".join(parts)

    def colours(self, flags):
        """The table that the flags announce, or None."""
        return np.frombuffer(self.take(6 << (flags & 7)), np.uint8).reshape(-1, 3) if flags & 0x80 else None


def _codes(data, least):
    """The codes of compressed data, which grow by a bit whenever the table of words has filled up."""
    words = yield  # how many words there are now
    bits, held, at = least + 1, 0, 0
    while True:
        bits = least + 1 if words is None else max(bits, min(words, _MOST_CODES - 1).bit_length())
        while held < bits:
            if at >= len(data):
                return
            at, held = at + 1, held + 8
        first = at * 8 - held
        word = int.from_bytes(data[first // 8 : first // 8 + 3], "little") >> (first % 8)
        held -= bits
        words = yield word & ((1 << bits) - 1)


def _pixels(data, least, count):
    """The indices of colours in LZW-compressed data."""
    if not 1 <= least <= 8:
        raise InvalidArgumentError(f"decode_gif: codes begin with 2 to 9 bits, got {least + 1}")
    clear, end = 1 << least, (1 << least) + 1
    roots = [bytes([i]) for i in range(clear)] + [b"", b""]
    words, before, out, done = list(roots), None, [], 0
    codes = _codes(data, least)
    next(codes)
    try:
        code = codes.send(None)
        while done < count and code != end:
            if code == clear:
                words, before = list(roots), None
            else:
                if code > len(words) or (code == len(words) and before is None):
                    raise InvalidArgumentError(f"decode_gif: code {code} stands for nothing yet")
                word = words[code] if code < len(words) else before + before[:1]
                if before is not None and len(words) < _MOST_CODES:
                    words.append(before + word[:1])
                out.append(word)
                done, before = done + len(word), word
            # The next word is complete only with the next code, which may already name it.
            code = codes.send(None if before is None else len(words))
    except StopIteration:
        pass
    if done < count:
        raise InvalidArgumentError(f"decode_gif: a frame has {done} of its {count} pixels")
    return np.frombuffer(b"".join(out), np.uint8, count)


def _rows(height, interlaced):
    """The order in which rows stand in the file."""
    if not interlaced:
        return np.arange(height)
    return np.concatenate([np.arange(first, height, step) for first, step in ((0, 8), (4, 8), (2, 4), (1, 2))])


def _draw(frame, reader, table, transparent):
    left, top, width, height, flags = reader.numbers("HHHHB")
    own = reader.colours(flags)
    table = table if own is None else own
    if table is None:
        raise InvalidArgumentError("decode_gif: a frame has no table of colours")
    least = reader.take(1)[0]
    indices = np.empty((height, width), np.uint8)
    indices[_rows(height, flags & 0x40)] = _pixels(reader.blocks(), least, width * height).reshape(height, width)
    indices = indices[: max(frame.shape[0] - top, 0), : max(frame.shape[1] - left, 0)]
    drawn = indices != transparent if transparent is not None else np.ones(indices.shape, bool)
    if drawn.any() and indices[drawn].max() >= len(table):
        raise InvalidArgumentError(f"decode_gif: colour {indices[drawn].max()} of a table of {len(table)}")
    frame[top : top + indices.shape[0], left : left + indices.shape[1]][drawn] = table[indices[drawn]]


def is_gif(data):
    return data[:6] in (b"GIF87a", b"GIF89a")


def frames(data):
    """[frames, height, width, 3], uint8; black where no frame has drawn."""
    reader = _Reader(data)
    if not is_gif(reader.take(6)):
        raise InvalidArgumentError(f"decode_gif: a GIF file begins with GIF87a or GIF89a, got {data[:6]!r}")
    width, height, flags, _, _ = reader.numbers("HHBBB")
    table, transparent, done = reader.colours(flags), None, []
    while (kind := reader.take(1)[0]) != _END:
        if kind == _EXTENSION:
            label, content = reader.take(1)[0], reader.blocks()
            if label == _TRANSPARENCY and len(content) >= 4:
                transparent = content[3] if content[0] & 1 else None
        elif kind == _IMAGE:
            frame = done[-1].copy() if done else np.zeros((height, width, 3), np.uint8)
            _draw(frame, reader, table, transparent)
            done.append(frame)
            transparent = None
        else:
            raise InvalidArgumentError(f"decode_gif: a block begins with byte {kind:#x}, known are {_EXTENSION:#x}, {_IMAGE:#x} and {_END:#x}")
    if not done:
        raise InvalidArgumentError("decode_gif: the file has no frame")
    return np.stack(done)
