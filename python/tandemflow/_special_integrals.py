"""Functions of tf.math.special that NumPy computes on the host: Bessel functions, and integrals that have names."""
import functools
import math

import numpy as np

from . import _ops
from ._special_functions import _named

_EULER = 0.5772156649015329
_LARGE = 25.0  # from here on the asymptotic series have all digits


def _by_size(x, *pieces):
    """The function made of pieces (upper bound, function of the numbers up to it); NaN stays NaN."""
    out, lower = np.full(x.shape, np.nan), -np.inf
    with np.errstate(all="ignore"):
        for upper, function in pieces:
            chosen = (x >= lower) & (x < upper) if upper < np.inf else x >= lower
            if chosen.any():
                out[chosen] = function(x[chosen])
            lower = upper
    return out


@functools.lru_cache(None)
def _nodes(count):
    return np.polynomial.legendre.leggauss(count)


def _integral(integrand, lower, upper, count=120):
    """Of integrand(t, x) over t from lower to upper(x), by Gauss' rule; x may be an array."""
    points, weights = _nodes(count)
    half = (upper - lower) / 2
    return half * sum(w * integrand(lower + half * (1 + p)) for p, w in zip(points, weights))


# --- Bessel functions of order n = 0 and 1. ---


def _hankel(n, x):
    """P and Q of the asymptotic series: the sums of its even and its odd terms."""
    sums, term = [np.ones_like(x), np.zeros_like(x)], np.ones_like(x)
    for k in range(1, 26):
        term = term * (4 * n * n - (2 * k - 1) ** 2) / (8 * k * x)
        sums[k % 2] = sums[k % 2] + (-term if k % 4 > 1 else term)
    return sums


def _oscillating(n, second, x):
    """J (or, as second, Y) of large x."""
    p, q = _hankel(n, x)
    phase = x - (2 * n + 1) * math.pi / 4
    sin, cos = np.sin(phase), np.cos(phase)
    found = np.sqrt(2 / (math.pi * x)) * (p * sin + q * cos if second else p * cos - q * sin)
    return np.where(np.isinf(x), 0.0, found)


def _first_kind(n, x):
    """The trapezoidal rule over a period, which is exact as soon as it has more points than x is large."""
    angles = (np.arange(80) + 0.5) * (math.pi / 80)
    return sum(np.cos(n * angle - x * math.sin(angle)) for angle in angles) / 80


def _j(n, x):
    tiny = lambda s: s / 2 * (1 - s * s / 8) if n else 1 - s * s / 4  # noqa: E731
    out = _by_size(np.abs(x), (1e-4, tiny), (_LARGE, lambda s: _first_kind(n, s)), (np.inf, lambda s: _oscillating(n, False, s)))
    return np.where(x < 0, -out, out) if n else out


def _y_near_zero(n, x):
    """The power series, whose terms cancel little below 3."""
    quarter, term, harmonic = x * x / 4, np.ones_like(x), 0.0
    total = np.zeros_like(x)
    for k in range(1, 30):
        if n == 1:  # sum of (-x^2/4)^k / (k! (k+1)!) (H_k + H_{k+1})
            total = total + term * (2 * harmonic + 1 / k)
            harmonic += 1 / k
            term = term * -quarter / (k * (k + 1))
        else:
            term = term * -quarter / (k * k)
            harmonic += 1 / k
            total = total - term * harmonic
    log = 2 / math.pi * (np.log(x / 2) + _EULER)
    if n == 1:
        return log * _first_kind(1, x) - 2 / (math.pi * x) - x / (2 * math.pi) * total
    return log * _first_kind(0, x) + 2 / math.pi * total


def _y_between(n, x):
    swinging = _integral(lambda t: np.sin(x * np.sin(t) - n * t), 0.0, math.pi)
    fading = _integral(lambda t: (np.exp(n * t) + (-1) ** n * np.exp(-n * t)) * np.exp(-x * np.sinh(t)), 0.0, np.arcsinh(45 / x))
    return (swinging - fading) / math.pi


def _y(n, x):
    out = _by_size(np.where(x > 0, x, np.nan), (3.0, lambda s: _y_near_zero(n, s)), (_LARGE, lambda s: _y_between(n, s)), (np.inf, lambda s: _oscillating(n, True, s)))
    return np.where(x <= 0, -np.inf, out)


def _k_scaled(n, x):
    """exp(x) K(x)."""

    def tiny(s):
        return (1 / s if n else -np.log(s / 2) - _EULER) * np.exp(s)

    def middle(s):
        """The trapezoidal rule for the integral over cosh, which falls off twice exponentially."""
        step = 0.125
        return step * (0.5 + sum(np.exp(-s * (math.cosh(t) - 1)) * math.cosh(n * t) for t in np.arange(1, 250) * step))

    def large(s):
        total = term = np.ones_like(s)
        for k in range(1, 26):
            term = term * (4 * n * n - (2 * k - 1) ** 2) / (8 * k * s)
            total = total + term
        return np.where(np.isinf(s), 0.0, np.sqrt(math.pi / (2 * s)) * total)

    out = _by_size(np.where(x > 0, x, np.nan), (1e-10, tiny), (_LARGE, middle), (np.inf, large))
    return np.where(x <= 0, np.inf, out)


def _k(n, x):
    with np.errstate(under="ignore", invalid="ignore"):
        return np.where(x == np.inf, 0.0, _k_scaled(n, x) * np.where(x > 0, np.exp(-x), 1.0))


# --- Integrals. ---


def _dawson(x):
    """Rybicki's sum over odd multiples of a step, near which x lies."""
    step = 0.2
    finite = np.where(np.isfinite(x), np.clip(x, -1e15, 1e15), 0.0)
    nearest = 2 * np.round(finite / (2 * step))
    rest = finite - nearest * step
    total = sum(np.exp(-((rest - k * step) ** 2)) / np.where(nearest + k == 0, np.inf, nearest + k) for k in range(-35, 36, 2))
    large, small = np.abs(finite) > 1e7, np.abs(finite) < 0.01
    out = np.where(large, 0.5 / np.where(large, finite, 1.0), total / math.sqrt(math.pi))
    square = np.where(small, finite * finite, 0.0)
    out = np.where(small, finite * (1 - square * (2 / 3 - square * (4 / 15 - square * 8 / 105))), out)
    return np.where(np.isinf(x), 0.0, out) + 0 * np.where(np.isinf(x), 0.0, x)


def _exponential_integral(x):
    """Ei for x >= 0."""

    def series(s):
        total, term = np.zeros_like(s), np.ones_like(s)
        for k in range(1, 160):
            term = term * s / k
            total = total + term / k
        return _EULER + np.log(s) + total

    def asymptotic(s):
        total, term = np.ones_like(s), np.ones_like(s)
        for k in range(1, 40):
            term = term * k / s
            total = total + term
        return np.where(np.isinf(s), np.inf, np.exp(s) / s * total)

    return _by_size(np.where(x >= 0, x, np.nan), (40.0, series), (np.inf, asymptotic))


def _fresnel(x):
    """(C, S) of numbers that are not negative."""

    def asymptotic(s):
        square = math.pi * s * s
        f, g, term = np.zeros_like(s), np.zeros_like(s), np.ones_like(s)
        for m in range(12):
            f = f + term
            g = g + term * (4 * m + 1)
            term = term * -(4 * m + 1) * (4 * m + 3) / (square * square)
        f, g = f / (math.pi * s), g / (math.pi * s * square)
        turns = math.pi / 2 * np.remainder(s * s, 4.0)
        cos, sin = np.cos(turns), np.sin(turns)
        far = s > 1e100  # whose squares may be infinite
        return np.where(far, 0.5, 0.5 + f * sin - g * cos), np.where(far, 0.5, 0.5 - f * cos - g * sin)

    both = []
    for which, function in enumerate((np.cos, np.sin)):
        near = lambda s, f=function: _integral(lambda t: f(math.pi / 2 * t * t), 0.0, s)  # noqa: E731
        both.append(_by_size(x, (6.0, near), (np.inf, lambda s, w=which: asymptotic(s)[w])))
    return both


def _dilogarithm(z):
    """Li2(z) of z <= 1, by its power series where |z| <= 1/2 and by its identities elsewhere."""

    def series(s):
        total, power = np.zeros_like(s), np.ones_like(s)
        for k in range(1, 60):
            power = power * s
            total = total + power / (k * k)
        return total

    def landen(s):  # -1 <= s < -1/2
        return -series(s / (s - 1)) - np.log1p(-s) ** 2 / 2

    def far(s):  # s < -1
        inner = 1 / s
        return -(math.pi**2) / 6 - np.log(-s) ** 2 / 2 - np.where(inner < -0.5, landen(np.minimum(inner, -0.5)), series(np.maximum(inner, -0.5)))

    def near_one(s):
        return math.pi**2 / 6 - np.where(s < 1, np.log(s) * np.log1p(-s), 0.0) - series(1 - s)

    return _by_size(z, (-1.0, far), (-0.5, landen), (0.5, series), (np.inf, near_one))


def _odd(x, size):
    return np.where(x < 0, -size, size)


# --- The functions of tf.math.special. ---

_HALF_PI = math.pi / 2
bessel_j0 = _named("bessel_j0", "The Bessel function of the first kind of order 0.", lambda x: _j(0, x), lambda x: (-bessel_j1(x),))
bessel_j1 = _named("bessel_j1", "The Bessel function of the first kind of order 1.", lambda x: _j(1, x), lambda x: (bessel_j0(x) - _over(bessel_j1(x), x),))
bessel_y0 = _named("bessel_y0", "The Bessel function of the second kind of order 0.", lambda x: _y(0, x), lambda x: (-bessel_y1(x),))
bessel_y1 = _named("bessel_y1", "The Bessel function of the second kind of order 1.", lambda x: _y(1, x), lambda x: (bessel_y0(x) - bessel_y1(x) / x,))
bessel_k0 = _named("bessel_k0", "The modified Bessel function of the second kind of order 0.", lambda x: _k(0, x), lambda x: (-bessel_k1(x),))
bessel_k1 = _named("bessel_k1", "The modified Bessel function of the second kind of order 1.", lambda x: _k(1, x), lambda x: (-bessel_k0(x) - bessel_k1(x) / x,))
bessel_k0e = _named("bessel_k0e", "exp(x) times the modified Bessel function of the second kind of order 0.", lambda x: _k_scaled(0, x), lambda x: (bessel_k0e(x) - bessel_k1e(x),))
bessel_k1e = _named("bessel_k1e", "exp(x) times the modified Bessel function of the second kind of order 1.", lambda x: _k_scaled(1, x), lambda x: (bessel_k1e(x) * (1.0 - 1.0 / x) - bessel_k0e(x),))
dawsn = _named("dawsn", "Dawson's integral: exp(-x^2) times the integral of exp(t^2) from 0 to x.", _dawson, lambda x: (1.0 - 2.0 * x * dawsn(x),))
expint = _named("expint", "The exponential integral of x > 0: that of exp(t) / t up to x.", _exponential_integral, lambda x: (_ops.exp(x) / x,))
fresnel_cos = _named("fresnel_cos", "The integral of cos(pi t^2 / 2) from 0 to x.", lambda x: _odd(x, _fresnel(np.abs(x))[0]), lambda x: (_ops.cos(_HALF_PI * x * x),))
fresnel_sin = _named("fresnel_sin", "The integral of sin(pi t^2 / 2) from 0 to x.", lambda x: _odd(x, _fresnel(np.abs(x))[1]), lambda x: (_ops.sin(_HALF_PI * x * x),))
spence = _named("spence", "The integral of log(t) / (1 - t) from 1 to x >= 0.", lambda x: np.where(x < 0, np.nan, _dilogarithm(1 - np.abs(x))), lambda x: (_spence_slope(x),))


def _over(value, x):
    """J1(x) / x, which goes to 1/2 at zero."""
    zero = _ops.equal(x, _ops.zeros_like(x))
    return _ops.where(zero, _ops.zeros_like(x) + 0.5, value / _ops.where(zero, _ops.ones_like(x), x))


def _spence_slope(x):
    one = _ops.equal(x, _ops.ones_like(x))
    return _ops.where(one, -_ops.ones_like(x), _ops.log(x) / (1.0 - _ops.where(one, _ops.zeros_like(x), x)))
