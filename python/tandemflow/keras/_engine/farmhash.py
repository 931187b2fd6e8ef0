"""FarmHash's Fingerprint64, by which TensorFlow and Keras put strings into bins."""
_MASK = 2**64 - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def _at(s, i, size=8):
    return int.from_bytes(s[i : i + size], "little")


def _rotate(value, shift):
    return ((value >> shift) | (value << (64 - shift))) & _MASK


def _mix(value):
    return value ^ (value >> 47)


def _hash16(u, v, multiplier):
    a = _mix(((u ^ v) * multiplier) & _MASK)
    b = _mix(((v ^ a) * multiplier) & _MASK)
    return (b * multiplier) & _MASK


def _up_to_16(s):
    n = len(s)
    if n >= 8:
        m = (_K2 + n * 2) & _MASK
        a, b = (_at(s, 0) + _K2) & _MASK, _at(s, n - 8)
        c = (_rotate(b, 37) * m + a) & _MASK
        d = ((_rotate(a, 25) + b) * m) & _MASK
        return _hash16(c, d, m)
    if n >= 4:
        m = (_K2 + n * 2) & _MASK
        return _hash16((n + (_at(s, 0, 4) << 3)) & _MASK, _at(s, n - 4, 4), m)
    if n > 0:
        y = s[0] + (s[n >> 1] << 8)
        z = n + (s[n - 1] << 2)
        return (_mix((y * _K2) & _MASK ^ (z * _K0) & _MASK) * _K2) & _MASK
    return _K2


def _up_to_32(s):
    n = len(s)
    m = (_K2 + n * 2) & _MASK
    a, b = (_at(s, 0) * _K1) & _MASK, _at(s, 8)
    c, d = (_at(s, n - 8) * m) & _MASK, (_at(s, n - 16) * _K2) & _MASK
    u = (_rotate((a + b) & _MASK, 43) + _rotate(c, 30) + d) & _MASK
    return _hash16(u, (a + _rotate((b + _K2) & _MASK, 18) + c) & _MASK, m)


def _up_to_64(s):
    n = len(s)
    m = (_K2 + n * 2) & _MASK
    a, b = (_at(s, 0) * _K2) & _MASK, _at(s, 8)
    c, d = (_at(s, n - 8) * m) & _MASK, (_at(s, n - 16) * _K2) & _MASK
    y = (_rotate((a + b) & _MASK, 43) + _rotate(c, 30) + d) & _MASK
    z = _hash16(y, (a + _rotate((b + _K2) & _MASK, 18) + c) & _MASK, m)
    e, f = (_at(s, 16) * m) & _MASK, _at(s, 24)
    g, h = ((y + _at(s, n - 32)) * m) & _MASK, ((z + _at(s, n - 24)) * m) & _MASK
    u = (_rotate((e + f) & _MASK, 43) + _rotate(g, 30) + h) & _MASK
    return _hash16(u, (e + _rotate((f + a) & _MASK, 18) + g) & _MASK, m)


def _weak(s, i, a, b):
    w, x, y, z = (_at(s, i + 8 * k) for k in range(4))
    a = (a + w) & _MASK
    b = _rotate((b + a + z) & _MASK, 21)
    c = a
    a = (a + x + y) & _MASK
    b = (b + _rotate(a, 44)) & _MASK
    return (a + z) & _MASK, (b + c) & _MASK


def fingerprint64(s):
    """The fingerprint of bytes, an unsigned number of 64 bits."""
    n = len(s)
    if n <= 16:
        return _up_to_16(s)
    if n <= 32:
        return _up_to_32(s)
    if n <= 64:
        return _up_to_64(s)
    seed = 81
    x, y = seed, (seed * _K1 + 113) & _MASK
    z = (_mix((y * _K2 + 113) & _MASK) * _K2) & _MASK
    v, w = (0, 0), (0, 0)
    x = (x * _K2 + _at(s, 0)) & _MASK
    end, last = ((n - 1) // 64) * 64, n - 64
    for i in range(0, end, 64):
        x, y, z, v, w = _step(s, i, x, y, z, v, w, _K1, 1)
    m = (_K1 + ((z & 0xFF) << 1)) & _MASK
    w = ((w[0] + ((n - 1) & 63)) & _MASK, w[1])
    v = ((v[0] + w[0]) & _MASK, v[1])
    w = ((w[0] + v[0]) & _MASK, w[1])
    x, y, z, v, w = _step(s, last, x, y, z, v, w, m, 9)
    return _hash16(
        (_hash16(v[0], w[0], m) + _mix(y) * _K0 + z) & _MASK, (_hash16(v[1], w[1], m) + x) & _MASK, m
    )


def _step(s, i, x, y, z, v, w, m, factor):
    """A block of 64 bytes."""
    x = (_rotate((x + y + v[0] + _at(s, i + 8)) & _MASK, 37) * m) & _MASK
    y = (_rotate((y + v[1] + _at(s, i + 48)) & _MASK, 42) * m) & _MASK
    x ^= (w[1] * factor) & _MASK
    y = (y + v[0] * factor + _at(s, i + 40)) & _MASK
    z = (_rotate((z + w[0]) & _MASK, 33) * m) & _MASK
    v = _weak(s, i, (v[1] * m) & _MASK, (x + w[0]) & _MASK)
    w = _weak(s, i + 32, (z + w[1]) & _MASK, (y + _at(s, i + 16)) & _MASK)
    return z, y, x, v, w  # z and x change places
