"""What few programs call: special functions, the other matrix functions, morphology, options that are mostly left alone."""
import numpy as np

from .draw import ANY, FLOATS, NUMBERS, Operand

_SPECIAL = "dawsn expint fresnel_cos fresnel_sin spence bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1 bessel_k1e bessel_y0 bessel_y1".split()
# Factors of matrices are not unique.
WITHOUT_GRADIENT = {"linalg.lu", "linalg.eigh:values", "linalg.pinv", "linalg.eigvalsh"}


def _positive(d):
    return [d.array(("float32", "float64"), d.shape()) if d.special else d.reals(0.05, 6, d.shape())], {}


def _betainc(d):
    shape = d.shape(0, 2)
    x = d.reals(0.2, 4, shape)
    return [x, d.reals(0.2, 4, shape, x.dtype), d.like(x) if d.special else d.reals(0, 1, shape, x.dtype)], {}


def _polygamma(d):
    x = d.reals(0.3, 5, d.shape(0, 2))
    return [Operand(d.random.integers(0, 4, x.shape).astype(x.dtype), x.dtype), x], {}


def _pictures(d, dtypes=FLOATS):
    return d.array(dtypes, (d.between(1, 2), d.between(3, 8), d.between(3, 8), d.between(1, 3)))


def _convolution(d):
    x = _pictures(d, ("float32", "float64", "float16"))
    kernel = d.like(x, (d.between(1, 3), d.between(1, 3), x.shape[-1], d.between(1, 3)))
    more = dict(strides=[d.between(1, 2), d.between(1, 2)]) if d.flag() else dict(dilations=[d.between(1, 2), d.between(1, 2)])
    return [x, kernel], dict(more, padding=d.one_of("SAME", "VALID"))


def _strided(d):
    x = _pictures(d)
    kernel = d.like(x, (d.between(1, 3), d.between(1, 3), x.shape[-1], d.between(1, 3)))
    high, wide = d.between(1, 3), d.between(1, 3)
    return [x, kernel, d.one_of([high, wide], [1, high, wide, 1]), d.one_of("SAME", "VALID")], {}


def _morphology(d):
    x = _pictures(d, ("float32", "float64", "int32"))
    kernel = d.like(x, (d.between(1, 3), d.between(1, 3), x.shape[-1]))
    return [x, kernel, [1, d.between(1, 2), d.between(1, 2), 1], d.one_of("SAME", "VALID"), "NHWC", [1, d.between(1, 2), d.between(1, 2), 1]], {}


def _pool(d):
    x = _pictures(d)
    return [x, [d.between(1, 3), d.between(1, 3)], [d.between(1, 3), d.between(1, 3)], d.one_of("SAME", "VALID")], {}


def _dilated_pool(d):
    x = _pictures(d, ("float32", "float64"))
    return [x, [d.between(1, 2), d.between(1, 2)], d.one_of("MAX", "AVG")], dict(dilations=[d.between(1, 2), d.between(1, 2)], padding=d.one_of("SAME", "VALID"))


def _weighted_moments(d):
    x = d.array(("float32", "float64"), d.shape(1, 3))
    weights = d.reals(0.1, 2, x.shape if d.flag() else x.shape[-1:], x.dtype)
    return [x, [d.below(len(x.shape))], weights], d.options(keepdims=d.flag)


def _statistics(d):
    x = d.array(FLOATS, d.shape(1, 3))
    return [x, [d.below(len(x.shape))]], d.options(keepdims=d.flag)


def _symmetric(d):
    size = d.between(1, 4)
    a = d.reals(-2, 2, (*d.shape(0, 1, 3), size, size))
    a.array = (a.array + np.swapaxes(a.array, -1, -2)).astype(a.array.dtype)
    return [a], {}


def _eigenvalues(tf, a):
    return tf.linalg.eigh(a)[0]


def _inverse(d):
    return [d.reals(-2, 2, (*d.shape(0, 1, 3), d.between(1, 4), d.between(1, 4)))], {}


def _square(d):
    size = d.between(1, 4)
    a = d.reals(-2, 2, (*d.shape(0, 1, 3), size, size))
    a.array = (a.array + 3 * np.eye(size)).astype(a.array.dtype)
    return a


def _diag_bands(d):
    x = d.array(ANY, tuple(max(size, 1) for size in d.shape(2, 3)))
    rows, columns = x.shape[-2:]
    low = d.between(1 - rows, columns - 1)
    k = (low, d.between(low, columns - 1)) if d.flag() else low
    more = d.options(align=lambda: d.one_of("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"))
    return [x], dict(more, k=k, **(dict(padding_value=7) if x.dtype != "bool" and d.flag() else {}))


def _diag_placed(d):
    x = d.array(NUMBERS, tuple(max(size, 1) for size in d.shape(1, 2)))
    k = d.between(-2, 2)
    size = x.shape[-1] + abs(k)
    return [x], dict(k=k, **d.options(num_rows=lambda: size, num_cols=lambda: size, padding_value=lambda: 3))


def _tridiagonal(d):
    size = d.between(1, 5)
    a = d.reals(-1, 1, (*d.shape(0, 1, 2), 3, size))
    a.array[..., 1, :] += 4
    return [a, d.like(a, (*a.shape[:-2], size, d.between(1, 3)))], {}


def _tensor_diag(d):
    return [d.array(("float32", "float64", "int32", "int64"), d.shape(1, 2))], {}


def _tensor_diag_part(d):
    shape = d.shape(1, 2)
    return [d.array(("float32", "float64", "int32", "int64"), shape + shape)], {}


def _boxes(d):
    x = d.reals(0, 1, (d.between(1, 2), d.between(4, 8), d.between(4, 8), d.one_of(1, 3, 4)), "float32")
    corners = np.sort(d.random.uniform(0, 1, (2, x.shape[0], d.between(0, 3), 2)), 0)
    return [x, Operand(np.concatenate([*corners], -1).astype("float32"), "float32"), d.reals(0, 1, (2, x.shape[-1]), "float32")], {}


def _reduce_tensor_axis(d):
    x = d.array(NUMBERS, d.shape(1, 3))
    return [x, d.integers(-len(x.shape), len(x.shape) - 1, ())], {}


def _scaled(d):
    x = d.array(FLOATS + ("int32",), d.shape())
    return [d.like(x, ()), x], {}


def _ordered(d):
    return [d.array(("float32", "float64", "int32"), tuple(max(size, 1) for size in d.shape(1, 2)))], d.options(decreasing=d.flag)


def _fake_quant(d):
    return [d.array("float32", d.shape())], d.options(min=lambda: d.one_of(-6, -1, 0.1), max=lambda: d.one_of(6, 2.5), num_bits=lambda: d.between(2, 8), narrow_range=d.flag)


def _ctc(d):
    batch, steps, classes = d.between(1, 3), d.between(5, 7), d.between(2, 4)
    labels = d.integers(1, classes - 1, (batch, 2), "int32")
    return [labels, d.reals(-2, 2, (batch, steps, classes), "float32"), Operand(np.full(batch, 2, "int32"), "int32"), Operand(np.full(batch, steps, "int32"), "int32")], dict(logits_time_major=False, blank_index=0)


BODIES = {
    "linalg.eigh:values": _eigenvalues, "operators:reflected": lambda tf, x, n: (n + x, n - x, n * x), "operators:compared": lambda tf, x, y: (x < y, x <= y, x > y, x >= y, x == y, x != y),
    "operators:power": lambda tf, x, n: x**n,
}  # fmt: skip


def calls():
    found = {f"math.special.{name}": _positive for name in _SPECIAL}
    found.update({name: _positive for name in ("math.bessel_i0e", "math.bessel_i1e", "math.erfcinv")})
    found.update({name: _pool for name in ("nn.max_pool", "nn.avg_pool")})
    found.update({f"{name}:tensor": _reduce_tensor_axis for name in ("reduce_sum", "reduce_max", "cumsum", "argmax", "expand_dims")})
    found.update({
        "math.betainc": _betainc, "math.polygamma": _polygamma, "nn.convolution": _convolution, "nn.conv2d:axes": _strided, "nn.dilation2d": _morphology, "nn.erosion2d": _morphology,
        "nn.pool:dilations": _dilated_pool, "nn.weighted_moments": _weighted_moments, "nn.sufficient_statistics": _statistics, "linalg.eigvalsh": _symmetric, "linalg.eigh:values": _symmetric,
        "linalg.pinv": _inverse, "linalg.matrix_rank": _inverse, "linalg.lu": lambda d: ([_square(d)], {}), "linalg.diag_part:bands": _diag_bands, "linalg.diag:placed": _diag_placed, "linalg.tridiagonal_solve": _tridiagonal,
        "linalg.tensor_diag": _tensor_diag, "linalg.tensor_diag_part": _tensor_diag_part, "image.draw_bounding_boxes": _boxes, "math.scalar_mul": _scaled, "nn.isotonic_regression": _ordered,
        "quantization.fake_quant_with_min_max_args": _fake_quant, "nn.ctc_loss": _ctc, "image.yiq_to_rgb": lambda d: ([d.reals(0, 1, (2, 3, 3))], {}), "image.yuv_to_rgb": lambda d: ([d.reals(0, 1, (2, 3, 3))], {}),
        "operators:reflected": lambda d: ([d.array(NUMBERS, d.shape()), d.between(0, 3)], {}), "operators:compared": lambda d: ([*(lambda x: (x, d.like(x, d.broadcast(x.shape))))(d.array(NUMBERS, d.shape()))], {}),
        "operators:power": lambda d: ([d.array(FLOATS + ("int32", "int64"), d.shape()), d.between(0, 4)], {}),
    })  # fmt: skip
    return found
