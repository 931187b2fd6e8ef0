"""CRC-32C (Castagnoli) with NumPy: pieces of a kilobyte side by side, word after word, then joined.

The checksum of two pieces is that of the first, moved by as many zeros as the second has bytes, combined with the second's.
"""
import functools

_PIECE = 1024  # bytes
_POLYNOMIAL = 0x82F63B78


@functools.cache
def _table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


@functools.cache
def _moves():
    """Four tables, one a byte of the state: what it becomes after a piece of zeros."""
    table = _table()

    def moved(state):
        for _ in range(_PIECE):
            state = table[state & 255] ^ (state >> 8)
        return state

    bits = [moved(1 << bit) for bit in range(32)]
    tables = []
    for byte in range(4):
        of_byte = [0] * 256
        for value in range(1, 256):
            low = value & -value
            of_byte[value] = of_byte[value ^ low] ^ bits[8 * byte + low.bit_length() - 1]
        tables.append(of_byte)
    return tables


def _states(pieces):
    """The state after each piece of words, begun with zero."""
    import numpy

    tables = [numpy.array(_table(), numpy.uint32)]  # number i: what a byte becomes with i zeros after it
    for _ in range(3):
        tables.append(tables[0][tables[-1] & 255] ^ (tables[-1] >> 8))
    states = numpy.zeros(len(pieces), numpy.uint32)
    for words in numpy.ascontiguousarray(pieces.T):
        x = states ^ words
        states = tables[3][x & 255] ^ tables[2][x >> 8 & 255] ^ tables[1][x >> 16 & 255] ^ tables[0][x >> 24]
    return states.tolist()


def crc32c(data, before=0):
    """Of anything that shows its bytes; `before` is the checksum of what came before."""
    data, state = memoryview(data).cast("B"), before ^ 0xFFFFFFFF
    whole = len(data) // _PIECE if len(data) >= 4 * _PIECE else 0
    if whole:
        import numpy

        a, b, c, d = _moves()
        for piece in _states(numpy.frombuffer(data[: whole * _PIECE], "<u4").reshape(whole, _PIECE // 4)):
            state = a[state & 255] ^ b[state >> 8 & 255] ^ c[state >> 16 & 255] ^ d[state >> 24] ^ piece
    table = _table()
    for byte in data[whole * _PIECE :]:
        state = table[(state ^ byte) & 255] ^ (state >> 8)
    return state ^ 0xFFFFFFFF
