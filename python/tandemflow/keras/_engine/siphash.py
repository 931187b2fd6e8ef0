"""SipHash-2-4: the keyed hash behind salted bins and tf.strings.to_hash_bucket_strong."""
_MASK = (1 << 64) - 1


def _turned(x, count):
    return (x << count | x >> 64 - count) & _MASK


def _round(a, b, c, d):
    a, c = (a + b) & _MASK, (c + d) & _MASK
    b, d = _turned(b, 13) ^ a, _turned(d, 16) ^ c
    a, c = (_turned(a, 32) + d) & _MASK, (c + b) & _MASK
    return a, _turned(b, 17) ^ c, _turned(c, 32), _turned(d, 21) ^ a


def siphash(text, key):
    """The hash of bytes under a key of two 64-bit words."""
    low, high = (word & _MASK for word in key)
    state = (low ^ 0x736F6D6570736575, high ^ 0x646F72616E646F6D, low ^ 0x6C7967656E657261, high ^ 0x7465646279746573)
    padded = text + bytes(7 - len(text) % 8) + bytes([len(text) & 255])
    for start in range(0, len(padded), 8):
        word = int.from_bytes(padded[start : start + 8], "little")
        a, b, c, d = state
        a, b, c, d = _round(*_round(a, b, c, d ^ word))
        state = a ^ word, b, c, d
    a, b, c, d = state
    c ^= 0xFF
    for _ in range(4):
        a, b, c, d = _round(a, b, c, d)
    return a ^ b ^ c ^ d
