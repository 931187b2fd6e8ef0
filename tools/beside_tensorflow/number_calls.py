"""Elementwise functions, reductions, sums along axes and linear algebra."""
import numpy as np

from .draw import ANY, FLOATS, INTEGERS, NUMBERS, Operand

_UNARY = """abs sign square sqrt math.rsqrt exp math.log math.expm1 math.log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
sigmoid floor math.ceil round math.rint math.reciprocal math.reciprocal_no_nan math.erf math.erfc math.erfinv math.lgamma math.digamma math.ndtri
math.is_nan math.is_inf math.is_finite negative nn.relu nn.relu6 nn.elu nn.selu nn.silu nn.gelu nn.softplus nn.softsign nn.leaky_relu
math.log_sigmoid identity stop_gradient zeros_like ones_like math.bessel_i0 math.bessel_i1 keras.activations.hard_sigmoid
keras.activations.mish keras.activations.relu6 keras.activations.leaky_relu keras.activations.softsign keras.activations.hard_silu math.softplus
math.is_strictly_increasing math.is_non_decreasing math.l2_normalize math.zero_fraction nn.l2_loss nn.crelu""".split()
_ONLY_FLOATS = {"math.is_nan", "math.is_inf", "math.is_finite"}
_BINARY = """add subtract multiply divide math.floordiv math.floormod pow maximum minimum atan2 math.squared_difference math.xlogy math.xdivy
math.xlog1py math.divide_no_nan math.multiply_no_nan truncatemod truncatediv math.truediv math.mod equal not_equal less less_equal greater
greater_equal math.nextafter""".split()
_BITWISE = "bitwise.bitwise_and bitwise.bitwise_or bitwise.bitwise_xor bitwise.left_shift bitwise.right_shift".split()
_REDUCTIONS = """reduce_sum reduce_mean reduce_max reduce_min reduce_prod reduce_logsumexp math.reduce_variance math.reduce_std
math.reduce_euclidean_norm math.count_nonzero""".split()

WITHOUT_GRADIENT = {"linalg.qr", "linalg.svd", "linalg.eigh", "linalg.expm", "linalg.lstsq", "math.nextafter"}
#: fixed expressions: their letters have the sizes that the operands draw
_EXPRESSIONS = """ij,jk->ik ij,jk ij->ji ij->i ij-> ii->i ii-> bij,bjk->bik bij,bkj->bik ij,ij->ij i,j->ij ij,j->i i,i-> bhqd,bhkd->bhqk bqhd,bkhd->bhqk
ijk,jil->kl ij,jk,kl->il ...ij,...jk->...ik ...i->... b...,b...->b... ij,ik->jk abc,cd->abd a,ab,abc->abc ijk->kji iij->j ij,kl->ijkl bi,bj->bij i->i ->""".split()


def _unary(name):
    def drawn(d):
        return [d.array(FLOATS if name in _ONLY_FLOATS or d.chance(2) else ANY, d.shape())], {}

    return drawn


def _pair(d, dtypes):
    x = d.array(dtypes, d.shape())
    pair = [x, d.like(x, d.broadcast(x.shape))]
    return pair[::-1] if d.flag() else pair


def _binary(dtypes):
    return lambda d: (_pair(d, dtypes), {})


def _cast(d):
    x = d.array(ANY, d.shape())
    to = d.one_of(*ANY)
    if x.floating and to in INTEGERS:  # what does not fit is left open
        x = d.reals(-100 if to[0] != "u" else 0, 100, x.shape, x.dtype)
    return [x, to], {}


def _saturate_cast(d):
    x = d.array(NUMBERS, d.shape())
    if x.floating:
        x.array = np.nan_to_num(x.array, nan=0.5)
    return [x, d.one_of(*NUMBERS)], {}


def _reduction(dtypes):
    def drawn(d):
        x = d.array(dtypes, d.shape())
        return [x], d.options(axis=lambda: d.axes(len(x.shape)), keepdims=d.flag)

    return drawn


def _arg(d):
    x = d.array(ANY, d.shape(1))
    return [x], d.options(axis=lambda: d.axis(len(x.shape)), output_type=lambda: d.one_of("int32", "int64"))


def _cumulative(dtypes):
    def drawn(d):
        x = d.array(dtypes, d.shape(1))
        return [x], d.options(axis=lambda: d.axis(len(x.shape)), exclusive=d.flag, reverse=d.flag)

    return drawn


def _norm(d):
    x = d.array(FLOATS, d.shape(1, 3))
    axis = d.axis(len(x.shape)) if d.flag() else None
    ord = d.one_of("euclidean", 1, 2, np.inf, 3, 0.5)
    if axis is not None and len(x.shape) >= 2 and d.chance(3):
        axis, ord = [-2, -1], d.one_of("euclidean", "fro", 1, np.inf)
    return [x], dict(ord=ord, axis=axis, **d.options(keepdims=d.flag))


def _segment(d):
    x = d.array(NUMBERS, d.shape(1, 3))
    ids = np.sort(d.random.integers(0, 6, x.shape[:1]))
    return [x, Operand(ids.astype(d.one_of("int32", "int64")), "int32")], {}


def _unsorted_segment(d):
    x = d.array(NUMBERS, d.shape(1, 3))
    ids = d.integers(-1 if d.chance(4) else 0, 5, x.shape[: d.between(1, len(x.shape))])
    return [x, ids, d.between(6, 8) if not d.chance(8) else 2], {}


def _sparse_segment(d):
    x = d.array(("float32", "float64"), (d.between(1, 5), *d.shape(0, 2)))
    count = d.between(0, 6)
    ids = np.sort(d.random.integers(0, 5, count)).astype("int32")
    return [x, d.integers(0, x.shape[0] - 1, (count,)), Operand(ids, "int32")], {}


def _bincount(d):
    shape = d.shape(1, 2)
    x = d.integers(0, 6, shape)
    more = d.options(minlength=lambda: d.between(0, 9), maxlength=lambda: d.between(0, 9), axis=lambda: d.one_of(None, 0, -1), binary_output=d.flag)
    if d.chance(3) and not more.get("binary_output"):
        more["weights"] = d.array(("float32", "int32", "int64", "float64"), shape)
    elif d.flag():
        more["dtype"] = d.one_of("int32", "int64", "float32", "float64")
    return [x], more


def _histogram(d):
    x = d.array(("float32", "float64", "int32", "int64"), d.shape())
    ends = Operand(np.array([-2, 3]).astype(x.array.dtype), x.dtype)
    return [x, ends], d.options(nbins=lambda: d.between(1, 12))


def _clip(d):
    x = d.array(NUMBERS, d.shape())
    return [x, d.like(x, d.broadcast(x.shape) if d.flag() else ()), d.like(x, d.broadcast(x.shape) if d.flag() else ())], {}


def _matmul(d):
    rows, inner, columns = (d.between(1, 5) if not d.chance(15) else 0 for _ in range(3))
    batch = d.shape(0, 2, 3)
    turned = [d.flag(), d.flag()]
    sizes = [(inner, rows) if turned[0] else (rows, inner), (columns, inner) if turned[1] else (inner, columns)]
    if d.chance(25):
        sizes[1] = (sizes[1][0] + 1, sizes[1][1])
    a = d.array(FLOATS + ("int32", "int64"), batch + sizes[0])
    b = d.like(a, (d.broadcast(batch) if d.chance(4) else batch) + sizes[1])
    return [a, b], dict(transpose_a=turned[0], transpose_b=turned[1])


def _matvec(d):
    batch, rows, columns = d.shape(0, 2, 3), d.between(1, 4), d.between(1, 4)
    a = d.array(("float32", "float64", "int32"), (*batch, rows, columns))
    return [a, d.like(a, (*batch, columns))], {}


def _tensordot(d):
    a = d.array(("float32", "float64", "int32"), d.shape(1, 4, 4))
    count = d.between(0, len(a.shape))
    if d.flag():
        return [a, d.like(a, a.shape[len(a.shape) - count :] + d.shape(0, 2, 4)), count], {}
    axes = [int(x) for x in d.random.permutation(len(a.shape))[:count]]
    return [a, d.like(a, tuple(a.shape[i] for i in axes) + d.shape(0, 2, 4)), [axes, list(range(count))]], {}


def _einsum(d):
    text = d.one_of(*_EXPRESSIONS)
    sizes = {letter: d.between(1, 4) if not d.chance(20) else 0 for letter in "abcdefghijklmnopqrstuvwxyz"}
    between = d.shape(0, 2, 3)
    dtype = d.dtype(("float32", "float64", "int32", "int64", "float16", "bfloat16"))
    operands = []
    for term in text.split("->")[0].split(","):
        shape = []
        for part in term.replace("...", "*"):
            shape += between if part == "*" else [sizes[part]]
        operands.append(d.array(dtype, tuple(shape)))
    return [text, *operands], {}


def _square(d, more=()):
    size = d.between(1, 5) if not d.chance(20) else 0
    return d.reals(-2, 2, (*d.shape(0, 2, 3), size, size, *more))


def _definite(d):
    a = _square(d)
    a.array = (a.array @ np.swapaxes(a.array, -1, -2) + np.eye(a.shape[-1])).astype(a.array.dtype)
    return a


def _well(d):
    a = _square(d)
    a.array = (a.array + 3 * np.eye(a.shape[-1])).astype(a.array.dtype)
    return a


def _solve(d):
    a = _well(d)
    return [a, d.like(a, (*a.shape[:-1], d.between(1, 4)))], d.options(adjoint=d.flag)


def _triangular(d):
    a = _well(d)
    return [a, d.like(a, (*a.shape[:-1], d.between(1, 4)))], d.options(lower=d.flag, adjoint=d.flag)


def _factors(**flags):
    def drawn(d):
        a = d.reals(-2, 2, (*d.shape(0, 1, 3), d.between(1, 5), d.between(1, 5)))
        return [a], {name: d.flag() for name in flags}

    return drawn


def _band(d):
    x = d.array(ANY, d.shape(2, 4))
    return [x, d.between(-1, 4), d.between(-1, 4)], {}


def _diag(d):
    x = d.array(ANY, d.shape(1, 3))
    return [x], d.options(k=lambda: d.between(-2, 2))


def _diag_part(d):
    x = d.array(ANY, d.shape(2, 3))
    return [x], d.options(k=lambda: d.between(-3, 3))


def _set_diag(d):
    x = d.array(ANY, d.shape(2, 3))
    return [x, d.like(x, (*x.shape[:-2], min(x.shape[-2:])))], {}


def _moments(d):
    x = d.array(FLOATS, d.shape(1))
    return [x, d.axes(len(x.shape)) or [0]], d.options(keepdims=d.flag)


def _clip_by_norm(d):
    x = d.array(FLOATS, d.shape())
    return [x, d.one_of(0.5, 1.0, 3.0, 0.0)], d.options(axes=lambda: d.axes(len(x.shape)))


def _clip_by_global_norm(d):
    x = d.array(("float32", "float64", "float16"), d.shape())
    return [[x, d.like(x, d.shape())], d.one_of(0.5, 1.0, 30.0)], {}


def _logical(count):
    def drawn(d):
        x = d.array("bool", d.shape())
        return [x, *(d.like(x, d.broadcast(x.shape)) for _ in range(count - 1))], {}

    return drawn


def _add_n(d):
    x = d.array(NUMBERS, d.shape())
    return [[x, *(d.like(x) for _ in range(d.below(4)))]], {}


def _leaky(d):
    return [d.array(NUMBERS, d.shape())], d.options(alpha=lambda: d.one_of(0.2, 0.5, 0.0, 1.5))


def _axis_of_floats(d):
    x = d.array(FLOATS, d.shape(1))
    return [x], d.options(axis=lambda: d.axis(len(x.shape)))


def _polyval(d):
    x = d.array(("float32", "float64"), d.shape(0, 2))
    return [[d.like(x) for _ in range(d.below(4))], x], {}


def _top_k(d):
    x = d.array(NUMBERS, d.shape(1, 3))
    return [x, d.between(0, x.shape[-1])], d.options(sorted=lambda: True)


def _in_top_k(d):
    rows, classes = d.between(1, 5), d.between(1, 5)
    return [d.integers(0, classes - 1, (rows,), "int32"), d.array("float32", (rows, classes)), d.between(1, classes)], {}


def _confusion(d):
    count = d.between(0, 6)
    return [d.integers(0, 3, (count,)), d.integers(0, 3, (count,))], dict(num_classes=4)


def _eye(d):
    return [d.between(0, 5)], d.options(num_columns=lambda: d.between(0, 5), batch_shape=lambda: list(d.shape(0, 2, 3)), dtype=lambda: d.one_of(*ANY))


def calls():
    found = {name: _unary(name) for name in _UNARY}
    found.update({name: _binary(NUMBERS) for name in _BINARY})
    found.update({name: _binary(INTEGERS) for name in _BITWISE})
    found.update({name: _reduction(NUMBERS) for name in _REDUCTIONS})
    found.update({name: _reduction(("bool",)) for name in ("reduce_any", "reduce_all")})
    found.update({name: _arg for name in ("argmax", "argmin")})
    found.update({name: _cumulative(NUMBERS) for name in ("cumsum", "math.cumprod")})
    found.update({f"math.segment_{name}": _segment for name in ("sum", "mean", "max", "min", "prod")})
    found.update({f"math.unsorted_segment_{name}": _unsorted_segment for name in ("sum", "mean", "max", "min", "prod", "sqrt_n")})
    found.update({f"sparse.segment_{name}": _sparse_segment for name in ("sum", "mean", "sqrt_n")})
    found.update({name: _logical(2) for name in ("logical_and", "logical_or", "math.logical_xor")})
    found.update({name: _axis_of_floats for name in ("nn.softmax", "nn.log_softmax", "nn.l2_normalize")})
    found.update({
        "bitwise.invert": lambda d: ([d.array(INTEGERS, d.shape())], {}), "logical_not": _logical(1), "cast": _cast, "saturate_cast": _saturate_cast,
        "math.cumulative_logsumexp": _cumulative(("float32", "float64", "float16")), "norm": _norm, "math.bincount": _bincount, "histogram_fixed_width": _histogram,
        "histogram_fixed_width_bins": _histogram, "clip_by_value": _clip, "matmul": _matmul, "linalg.matvec": _matvec, "tensordot": _tensordot, "einsum": _einsum,
        "linalg.cholesky": lambda d: ([_definite(d)], {}), "linalg.inv": lambda d: ([_well(d)], d.options(adjoint=d.flag)), "linalg.det": lambda d: ([_square(d)], {}),
        "linalg.slogdet": lambda d: ([_well(d)], {}), "linalg.logdet": lambda d: ([_definite(d)], {}), "linalg.solve": _solve, "linalg.triangular_solve": _triangular,
        "linalg.qr": _factors(full_matrices=1), "linalg.svd": _factors(full_matrices=1, compute_uv=1), "linalg.trace": lambda d: ([d.array(("float32", "int32", "float64"), d.shape(2, 4))], {}),
        "linalg.expm": lambda d: ([_square(d)], {}), "linalg.cholesky_solve": lambda d: (lambda a: ([a, d.like(a, (*a.shape[:-1], 2))], {}))(_well(d)),
        "linalg.matrix_transpose": lambda d: ([d.array(ANY, d.shape(2, 4))], {}), "linalg.band_part": _band, "linalg.diag": _diag, "linalg.diag_part": _diag_part, "linalg.set_diag": _set_diag,
        "linalg.cross": lambda d: (lambda a: ([a, d.like(a)], {}))(d.array(("float32", "int32", "float64"), (*d.shape(0, 2), 3))), "linalg.adjoint": lambda d: ([d.array(NUMBERS, d.shape(2, 3))], {}),
        "nn.moments": _moments, "clip_by_norm": _clip_by_norm, "clip_by_global_norm": _clip_by_global_norm, "linalg.global_norm": lambda d: ([[d.array("float32", d.shape()), d.array("float32", d.shape())]], {}),
        "add_n": _add_n, "nn.leaky_relu:alpha": _leaky, "math.polyval": _polyval, "math.top_k": _top_k, "math.in_top_k": _in_top_k, "math.confusion_matrix": _confusion, "eye": _eye,
        "nn.gelu:approximate": lambda d: ([d.array(FLOATS, d.shape())], dict(approximate=True)), "nn.silu:beta": lambda d: ([d.array(FLOATS, d.shape())], dict(beta=d.one_of(1.0, 0.5, 2.0))),
        "math.igamma": _binary(("float32", "float64")), "math.igammac": _binary(("float32", "float64")), "math.zeta": _binary(("float32", "float64")),
        "math.lbeta": lambda d: ([d.reals(0.1, 4, d.shape(1, 3))], {}), "linalg.normalize": lambda d: ([d.array(("float32", "float64"), d.shape(1, 3))], d.options(axis=lambda: -1)),
    })  # fmt: skip
    return found
