"""Functions of tf.math that NumPy computes on the host: incomplete gamma and beta functions, zeta, Bessel functions."""
import inspect
import math

import numpy

from . import _dtypes, _ops, _tandem
from ._gradient import custom_gradient
from ._on_host import computed
from ._py_function import py_function
from ._specs import TensorSpec
from .errors import DTypeError

_SMALLEST = 1e-300


def _operands(*values):
    """Floating tensors of one dtype and shape."""
    first = _tandem.to_tensor(values[0])
    tensors = [first, *(_tandem.to_tensor_beside(value, first.dtype) for value in values[1:])]
    if not first.dtype.is_floating:
        raise DTypeError(f"special functions take floating numbers, got {first.dtype.name}; cast them")
    shape = numpy.broadcast_shapes(*(tuple(tensor.shape) for tensor in tensors))
    return [_ops.broadcast_to(tensor, list(shape)) for tensor in tensors]


def _elementwise(function, gradient):
    """A function of float64 arrays as one of tensors; gradient(*tensors) gives a factor for each, or None, and the operands their names.

    A traced function calls it each time it runs, and its gradient then, too: that of one Bessel function is made of others,
    so that tracing it beforehand would never end.
    """

    operands = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in inspect.signature(gradient).parameters]
    signature = inspect.Signature([*operands, inspect.Parameter("name", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)])

    def op(*values, **named):
        given = signature.bind(*values, **named).arguments
        tensors = _operands(*(given[operand.name] for operand in operands))
        if not _tandem.executing_eagerly():
            return py_function(op, tensors, TensorSpec(tensors[0].shape, tensors[0].dtype))

        @custom_gradient
        def run(*xs):
            out = computed(lambda *arrays: function(*(array.astype("float64") for array in arrays)), list(xs), (xs[0].shape, xs[0].dtype))

            def grad(upstream):
                factors = gradient(*xs)
                found = [_ops.zeros_like(x) if factor is None else upstream * factor for x, factor in zip(xs, factors)]
                return found if len(found) > 1 else found[0]

            return out, grad

        return run(*tensors)

    op.__signature__ = signature
    return op


def _log_of_gamma(x):
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


_lgamma = numpy.vectorize(_log_of_gamma, otypes=["float64"])


def _lower_gamma(a, x):
    """P(a, x): the series where x < a + 1, one less the continued fraction elsewhere."""
    out = numpy.full(numpy.shape(x), numpy.nan)
    valid = (a > 0) & (x >= 0)
    series = valid & (x < a + 1)
    with numpy.errstate(all="ignore"):
        if series.any():
            n, s = a[series].copy(), x[series]
            term = total = 1.0 / n
            for _ in range(2000):
                n = n + 1
                term = term * s / n
                total = total + term
                if (numpy.abs(term) < numpy.abs(total) * 1e-16).all():
                    break
            out[series] = numpy.where(s > 0, total * numpy.exp(-s + a[series] * numpy.log(numpy.maximum(s, _SMALLEST)) - _lgamma(a[series])), 0.0)
        rest = valid & ~series
        if rest.any():
            out[rest] = 1.0 - _upper_fraction(a[rest], x[rest])
        out[valid & numpy.isinf(x)] = 1.0
        out[numpy.isinf(a) & valid] = 0.0
    return numpy.where((x == 0) & ~numpy.isnan(a), 0.0, out)


def _upper_fraction(a, x):
    """Q(a, x) for x >= a + 1, by Lentz' method."""
    b = x + 1.0 - a
    c, d = numpy.full_like(x, 1 / _SMALLEST), 1.0 / b
    h = d.copy()
    for i in range(1, 2000):
        an = -i * (i - a)
        b = b + 2.0
        d = an * d + b
        d = 1.0 / numpy.where(numpy.abs(d) < _SMALLEST, _SMALLEST, d)
        c = b + an / c
        c = numpy.where(numpy.abs(c) < _SMALLEST, _SMALLEST, c)
        h = h * d * c
        if (numpy.abs(d * c - 1.0) < 1e-15).all():
            break
    return numpy.exp(-x + a * numpy.log(x) - _lgamma(a)) * h


def _beta_fraction(a, b, x):
    """The continued fraction of the incomplete beta function."""
    safe = lambda v: numpy.where(numpy.abs(v) < _SMALLEST, _SMALLEST, v)  # noqa: E731
    c, d = numpy.ones_like(x), 1.0 / safe(1.0 - (a + b) * x / (a + 1))
    h = d.copy()
    for m in range(1, 1000):
        for step in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1.0 / safe(1.0 + step * d)
            c = safe(1.0 + step / c)
            h = h * d * c
        if (numpy.abs(d * c - 1.0) < 1e-15).all():
            break
    return h


def _incomplete_beta(a, b, x):
    with numpy.errstate(all="ignore"):
        inner = numpy.clip(x, _SMALLEST, 1 - 1e-16)
        front = numpy.exp(_lgamma(a + b) - _lgamma(a) - _lgamma(b) + a * numpy.log(inner) + b * numpy.log1p(-inner))
        direct = inner < (a + 1) / (a + b + 2)
        out = numpy.where(direct, front * _beta_fraction(a, b, inner) / a, 1.0 - front * _beta_fraction(b, a, 1 - inner) / b)
        out = numpy.where(x <= 0, 0.0, numpy.where(x >= 1, 1.0, out))
    return numpy.where((a > 0) & (b > 0) & (x >= 0) & (x <= 1), out, numpy.nan)


# B(2k) / (2k)! of the Euler-Maclaurin formula.
_BERNOULLI = [1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600, -3617 / 10670622842880000]


def _hurwitz(x, q):
    """The sum of (q + k)^-x over k = 0, 1, …: nine terms, and the rest by Euler and Maclaurin."""
    with numpy.errstate(all="ignore"):
        total = sum((q + k) ** -x for k in range(9))
        w = q + 9
        total = total + w ** (1 - x) / (x - 1) + 0.5 * w**-x
        factor = x * w ** (-x - 1)
        for k, coefficient in enumerate(_BERNOULLI):
            total = total + coefficient * factor
            factor = factor * (x + 2 * k + 1) * (x + 2 * k + 2) / w**2
        poles = (q <= 0) & (q == numpy.floor(q))  # of even powers both sides go the same way
        total = numpy.where(poles, numpy.where(x % 2 == 0, numpy.inf, numpy.nan), total)
        total = numpy.where(numpy.isposinf(x), numpy.where(q > 1, 0.0, numpy.where(q == 1, 1.0, numpy.where(q < 1, numpy.inf, numpy.nan))), total)
    return numpy.where(x > 1, total, numpy.where(x == 1, numpy.inf, numpy.nan))


def _polygamma(n, x):
    n = numpy.where((n >= 0) & (n == numpy.floor(n)), n, numpy.nan)  # orders below 0 and between integers have no value
    with numpy.errstate(invalid="ignore"):
        factorial = numpy.where(numpy.isnan(n), numpy.nan, numpy.exp(_lgamma(numpy.where(numpy.isnan(n), 1.0, n + 1))))
        return numpy.where(n % 2 == 0, -1.0, 1.0) * factorial * _hurwitz(n + 1, x)


def _scaled_bessel(order, x):
    """exp(-|x|) I(x): its series near 0, by the trapezoidal rule over its integral, and the expansion of large numbers."""
    size = numpy.abs(x)
    with numpy.errstate(over="ignore", invalid="ignore", divide="ignore"):
        near, far = _bessel_near_zero(order, size), _bessel_far_away(order, size)
        between = _bessel_integral(order, numpy.where((size > 1) & (size < 1000), size, 1.0))
        found = numpy.where(size <= 1, near, numpy.where(size >= 1000, far, between)) + 0 * numpy.where(numpy.isinf(x), 0.0, x)
    return numpy.copysign(found, x) if order % 2 else found


def _bessel_near_zero(order, size):
    """The series of x / 2, up to 1."""
    half = numpy.minimum(size, 1.0) / 2
    term = total = half**order / math.factorial(order)
    for k in range(1, 12):
        term = term * half * half / (k * (k + order))
        total = total + term
    return total * numpy.exp(-2 * half)


def _bessel_integral(order, size):
    """The rule converges as fast as the integrand is smooth."""
    points = 64 + int(16 * math.sqrt(float(size.max(initial=0.0))))
    angles = (numpy.arange(points) + 0.5) * (math.pi / points)
    return sum(numpy.exp(size * (math.cos(angle) - 1.0)) * math.cos(order * angle) for angle in angles) / points


def _bessel_far_away(order, size):
    """Hankel's expansion, from 1000 on."""
    size = numpy.maximum(size, 1000.0)
    term = total = numpy.ones_like(size)
    for k in range(1, 7):
        term = term * ((2 * k - 1) ** 2 - 4 * order * order) / (8 * k * size)
        total = total + term
    return total / numpy.sqrt(2 * math.pi) / numpy.sqrt(size)


def _bessel(order, x):
    with numpy.errstate(over="ignore", invalid="ignore"):
        large = numpy.abs(x) > 720  # e to it is infinite, times what may be 0 by then
        return numpy.where(large, numpy.where(x < 0, (-1.0) ** order, 1.0) * numpy.inf, _scaled_bessel(order, x) * numpy.exp(numpy.abs(x)))


# --- The functions of tf.math. ---


def _gamma_density(a, x):
    return _ops.exp(-x + (a - 1.0) * _ops.log(x) - _ops.lgamma(a))


def _beta_density(a, b, x):
    return _ops.exp((a - 1.0) * _ops.log(x) + (b - 1.0) * _ops.log1p(-x) - _ops.lgamma(a) - _ops.lgamma(b) + _ops.lgamma(a + b))


def _named(name, doc, function, gradient):
    op = _elementwise(function, gradient)
    op.__name__ = op.__qualname__ = name
    op.__doc__ = doc
    return op


def _gamma_slope(a, x):
    """The derivative of P(a, x) by a, from both sides: the series has none that converges everywhere."""
    step = 1e-4 * numpy.maximum(a, 1e-3)
    with numpy.errstate(all="ignore"):
        return (8 * (_lower_gamma(a + step, x) - _lower_gamma(a - step, x)) - _lower_gamma(a + 2 * step, x) + _lower_gamma(a - 2 * step, x)) / (12 * step)


_by_shape = _elementwise(_gamma_slope, lambda a, x: (None, None))


igamma = _named("igamma", "The regularised lower incomplete gamma function P(a, x).", _lower_gamma, lambda a, x: (_by_shape(a, x), _gamma_density(a, x)))
igammac = _named("igammac", "The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x).", lambda a, x: numpy.where(a > 0, 1.0 - _lower_gamma(a, x), numpy.nan), lambda a, x: (-_by_shape(a, x), -_gamma_density(a, x)))
betainc = _named("betainc", "The regularised incomplete beta function I_x(a, b).", _incomplete_beta, lambda a, b, x: (None, None, _beta_density(a, b, x)))
zeta = _named("zeta", "The Hurwitz zeta function of x and q.", _hurwitz, lambda x, q: (None, -x * zeta(x + 1.0, q)))
_positive_polygamma = _named("polygamma", "The derivative of order a >= 1 of digamma at x.", _polygamma, lambda a, x: (None, _positive_polygamma(a + 1.0, x)))
bessel_i0e = _named("bessel_i0e", "exp(-|x|) times the modified Bessel function of order 0.", lambda x: _scaled_bessel(0, x), lambda x: (bessel_i1e(x) - _ops.sign(x) * bessel_i0e(x),))
bessel_i1e = _named("bessel_i1e", "exp(-|x|) times the modified Bessel function of order 1.", lambda x: _scaled_bessel(1, x), lambda x: (bessel_i0e(x) - bessel_i1e(x) * (_ops.sign(x) + _ops.divide_no_nan(_ops.ones_like(x), x)) - _at_zero(x),))
bessel_i0 = _named("bessel_i0", "The modified Bessel function of order 0.", lambda x: _bessel(0, x), lambda x: (bessel_i1(x),))
bessel_i1 = _named("bessel_i1", "The modified Bessel function of order 1.", lambda x: _bessel(1, x), lambda x: (bessel_i0(x) - _ops.divide_no_nan(bessel_i1(x), x) - _at_zero(x),))


def _at_zero(x):
    """I(x) / x goes to 1/2 at zero."""
    return _ops.where(_ops.equal(x, 0.0), 0.5, 0.0) if x.dtype == _dtypes.float32 else _ops.cast(_ops.equal(x, 0.0), x.dtype) * 0.5


def polygamma(a, x, name=None):
    """The derivative of order a of digamma at x."""
    a, x = _operands(a, x)
    zero = _ops.equal(a, _ops.zeros_like(a))
    return _ops.where(zero, _ops.digamma(x), _positive_polygamma(_ops.where(zero, _ops.ones_like(a), a), x))


def erfcinv(x, name=None):
    """The inverse of erfc."""
    x = _tandem.to_tensor(x)
    return -_ops.ndtri(0.5 * x) * (0.5**0.5)
