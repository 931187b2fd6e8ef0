"""Calls with special values, for tests/data/special.npz: tools/special_values.py runs them with TensorFlow, test_special_values.py with ours.

Infinities, NaN, both zeros, the ends of each integer dtype, shifts beyond the width, division by zero.
"""
import numpy as np

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
# bfloat16 is made of float32, which NumPy has.
_NUMPY = {"bfloat16": "float32"}

_LARGE = {"float16": [6e4, 1e4, -300], "bfloat16": [1e30, -1e38, 1e8], "float32": [1e7, 1e8, -1e10, 1e22, 3e38], "float64": [1e8, -1e16, 1e22, 1e300, -1.7e308]}
# Normal: denormal numbers are zero to TensorFlow, and numbers to NumPy and here.
_SMALL = {"float16": [1e-4, -7e-5], "bfloat16": [2e-38, 1e-6], "float32": [2e-38, -2e-38, 1e-6], "float64": [3e-308, -3e-308, 1e-10]}


def _floats(dtype):
    plain = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -7.0, 88.0, -90.0, 1e-3]
    return np.array([*plain, *_LARGE[dtype], *_SMALL[dtype], np.inf, -np.inf, np.nan]).astype(_NUMPY.get(dtype, dtype))


def _integers(dtype):
    info = np.iinfo(dtype)
    values = [0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.max // 2 + 1, *([info.min, info.min + 1, -1, -2, -7] if info.min else [200])]
    return np.array(values, dtype)


def values(dtype):
    return _integers(dtype) if dtype in INTEGERS else _floats(dtype)


def _pairs(dtype, zeros=True):
    x = values(dtype)
    y = x if zeros else x[x != 0]
    return np.repeat(x, len(y)), np.tile(y, len(x))


def _quotients(dtype):
    """Pairs without those whose quotient is denormal, which is zero to TensorFlow, or has more digits than a number."""
    x, y = _pairs(dtype)
    with np.errstate(all="ignore"):
        size = np.abs(x.astype(np.float64) / y.astype(np.float64))
    kept = ~np.isfinite(x) | ~np.isfinite(y) | (y == 0) | (x == 0) | ((size > 2.0**-10) & (size < 2.0**10))
    return x[kept], y[kept]


def _named(tf, name):
    for part in name.split("."):
        tf = getattr(tf, part)
    return tf


def _tensor(tf, x, dtype):
    return tf.cast(tf.constant(x.astype("float32")), tf.bfloat16) if dtype == "bfloat16" else tf.constant(x.astype(dtype))


UNARY_FLOAT = """abs sign square sqrt math.rsqrt exp math.log math.expm1 math.log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh
atanh sigmoid floor math.ceil round math.rint math.reciprocal math.erf math.erfc math.lgamma math.is_nan math.is_inf math.is_finite
negative nn.relu nn.relu6 nn.elu nn.selu nn.silu nn.softplus nn.softsign nn.leaky_relu math.log_sigmoid""".split()
UNARY_INTEGER = "abs sign square negative nn.relu nn.relu6 bitwise.invert".split()
COMPARISONS = "equal not_equal less less_equal greater greater_equal".split()
BINARY_FLOAT = """add subtract multiply divide math.floordiv math.floormod pow maximum minimum atan2 math.squared_difference math.xlogy
math.xdivy math.divide_no_nan math.multiply_no_nan truncatemod""".split() + COMPARISONS
BINARY_INTEGER = """add subtract multiply maximum minimum math.squared_difference bitwise.bitwise_and bitwise.bitwise_or bitwise.bitwise_xor
bitwise.left_shift bitwise.right_shift""".split() + COMPARISONS
DIVISIONS = "divide math.floordiv math.floormod truncatediv truncatemod".split()
REDUCTIONS = "reduce_sum reduce_prod reduce_max reduce_min reduce_mean".split()


def _rows(dtype):
    """Rows with NaN first, in the middle, last, alone, nowhere, and with both infinities; of integers, sums that overflow."""
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        return np.array([[info.max, 1, 2, 3], [info.min, info.min, 5, 1], [info.max, info.max, info.max, 7], [3, 3, 0, 2]], dtype)
    nan, inf = np.nan, np.inf
    return np.array([[nan, 1, 3, 2], [1, nan, 3, 2], [1, 3, 2, nan], [nan, nan, nan, nan], [1, 3, 3, -2], [inf, -inf, 1, 2], [nan, inf, 5, inf],
                     [-inf, -inf, -inf, -inf], [0.0, -0.0, 0.0, -0.0]]).astype(_NUMPY.get(dtype, dtype))  # fmt: skip


def cases():
    """{name: function of the module tf}; each gives a tensor or a list of them."""
    found = {}

    def add(name, function, *arrays, dtype):
        found[f"{name}/{dtype}"] = lambda tf: function(tf, *(_tensor(tf, x, dtype) for x in arrays))

    def named(op):
        return lambda tf, *operands: _named(tf, op)(*operands)

    for dtype in FLOATS:
        for op in UNARY_FLOAT:
            add(op, named(op), values(dtype), dtype=dtype)
        for op in BINARY_FLOAT:
            add(op, named(op), *(_quotients(dtype) if op in DIVISIONS else _pairs(dtype)), dtype=dtype)
    for dtype in INTEGERS:
        for op in UNARY_INTEGER:
            add(op, named(op), values(dtype), dtype=dtype)
        for op in BINARY_INTEGER:
            add(op, named(op), *_pairs(dtype), dtype=dtype)
        for op in DIVISIONS:
            add(op, named(op), *_pairs(dtype, zeros=False), dtype=dtype)
            add(f"{op}_by_zero", named(op), values(dtype), np.zeros_like(values(dtype)), dtype=dtype)
        x = values(dtype)
        add("pow", named("pow"), np.repeat(x, 4), np.tile(np.array([0, 1, 2, 5], dtype), len(x)), dtype=dtype)
        if np.iinfo(dtype).min:
            add("pow_negative", named("pow"), x, np.full_like(x, -2), dtype=dtype)
    for dtype in FLOATS + INTEGERS:
        rows = _rows(dtype)
        for op in REDUCTIONS:
            add(op, lambda tf, x, op=op: [_named(tf, op)(x, 1), _named(tf, op)(x, 0), _named(tf, op)(x)], rows, dtype=dtype)
        for op in ("argmax", "argmin"):
            add(op, lambda tf, x, op=op: [_named(tf, op)(x, 1), _named(tf, op)(x, 0)], rows, dtype=dtype)
        # Where a NaN comes in order is left open there: it depends on the place.
        rows = rows[~np.isnan(rows.astype(np.float64)).any(1)]
        for op in ("sort", "argsort"):
            for way in ("ASCENDING", "DESCENDING"):
                add(f"{op}_{way}", lambda tf, x, op=op, way=way: _named(tf, op)(x, direction=way, **({"stable": True} if op == "argsort" else {})), rows, dtype=dtype)
        add("top_k", lambda tf, x: list(tf.math.top_k(x, 3)), rows, dtype=dtype)
        for op in ("sum", "prod", "max", "min"):
            add(f"segment_{op}", lambda tf, x, op=op: _named(tf, f"math.unsorted_segment_{op}")(x, tf.constant(np.arange(len(x)) // 2 * 2), 6), rows, dtype=dtype)
        rows = _rows(dtype)
        add("cumsum", lambda tf, x: tf.cumsum(x, 1), rows, dtype=dtype)
        add("cumprod", lambda tf, x: tf.math.cumprod(x, 1), rows, dtype=dtype)
        add("clip", lambda tf, x: tf.clip_by_value(x, tf.cast(1, x.dtype), tf.cast(2, x.dtype)), rows, dtype=dtype)
        for other in FLOATS + INTEGERS + ("bool",):
            # What a float that does not fit becomes as an integer is left open.
            x = values(dtype)
            if dtype in FLOATS and other in INTEGERS:
                x = np.array([0.0, -0.0, 1.9, 2.5, 100.7] + ([-1.9, -7.5] if np.iinfo(other).min else []), x.dtype)
            add(f"cast_to_{other}", lambda tf, x, other=other: tf.cast(x, other), x, dtype=dtype)
    for dtype in FLOATS:
        rows = _rows(dtype)
        for op in ("nn.softmax", "nn.log_softmax", "reduce_logsumexp", "math.reduce_variance", "math.reduce_std", "norm"):
            add(op, named(op), rows, dtype=dtype)
        rows = rows[~np.isnan(rows.astype(np.float64)).any(1)]  # passed over there, in places
        add("math.cumulative_logsumexp", lambda tf, x: [tf.math.cumulative_logsumexp(x, 1), tf.math.cumulative_logsumexp(x, 0, reverse=True)], rows, dtype=dtype)
    for dtype in ("float32", "float64"):
        ends = np.array([0.5, 1.0, 2.0, 2.5, 10.0, np.inf, np.nan], dtype)
        pairs = np.repeat(ends, len(ends)), np.tile(ends, len(ends))
        for op in ("igamma", "zeta", "polygamma"):
            add(f"math.{op}", named(f"math.{op}"), *pairs, dtype=dtype)
        for op in ("bessel_i0e", "bessel_i1e"):
            add(f"math.{op}", named(f"math.{op}"), np.array([0.0, -0.0, 1e-20, -1e-9, 0.3, -1.0, 5.0, -80.0, 999.0, -2000.0, 1e9, 1e30, np.inf, -np.inf, np.nan], dtype), dtype=dtype)
        bases = np.array([0.0, 1.0, -2.0, 3.0, np.inf], dtype)
        add("pow_gradient", lambda tf, x, y: _gradients(tf, tf.pow, x, y), np.repeat(bases, len(bases)), np.tile(bases, len(bases)), dtype=dtype)
    for dtype in FLOATS + INTEGERS:
        add("searchsorted", lambda tf, x: [tf.searchsorted(x[:3], x, side=side) for side in ("left", "right")], np.array([0, 1, 3, 2, 1, 0, 7]), dtype=dtype)
        for shape in ((0,), (0, 3), (3, 0), (2, 0, 3)):
            for op in REDUCTIONS:
                add(f"{op}_of_{'x'.join(map(str, shape))}", lambda tf, x, op=op: [_named(tf, op)(x), _named(tf, op)(x, 0), _named(tf, op)(x, -1)], np.zeros(shape), dtype=dtype)
        pixels = np.arange(12).reshape(2, 2, 3)
        add("image.adjust_contrast", lambda tf, x: tf.image.adjust_contrast(x, 2.0), pixels, dtype=dtype)
        add("image.resize", lambda tf, x: tf.image.resize(x, [3, 3]), pixels, dtype=dtype)
        add("image.per_image_standardization", named("image.per_image_standardization"), pixels, dtype=dtype)
        add("image.to_int16", lambda tf, x: tf.image.convert_image_dtype(x, tf.int16, saturate=True), np.array([0, 1, 2, 100]), dtype=dtype)
    for dtype in INTEGERS:
        add("nn.leaky_relu", named("nn.leaky_relu"), values(dtype), dtype=dtype)
    _add_shapes(add)
    _add_segments(add)
    _add_losses(add)
    return found


def _add_shapes(add):
    """Nothing, ends, and elements that are left out whatever they are."""
    for dtype in FLOATS:
        ends = np.array([0.0, -3e4, np.inf, 1.0, np.nan, 5.0]).astype(_NUMPY.get(dtype, dtype))
        add("linspace", lambda tf, x: [tf.linspace(x, x[::-1], n, axis=axis) for n in (1, 2, 5) for axis in (0, -1)], ends, dtype=dtype)
    for dtype in ("float32", "float64"):
        square = np.array([[1, np.nan, np.inf], [2, 3, np.nan], [-np.inf, 4, 5]], dtype)
        add("einsum_diagonal", lambda tf, x: [tf.einsum("ii->i", x), tf.einsum("ii->", x)], square, dtype=dtype)
        lower = np.array([[2, 9, 9], [1, 4, 9], [3, 1, 5]], dtype)
        for way in (True, False):
            add(f"triangular_solve_gradient_{way}", lambda tf, a, b, way=way: _gradients(tf, lambda a, b: tf.linalg.triangular_solve(a, b, lower=way), a, b), lower, np.array([[1.0], [np.inf], [2.0]], dtype), dtype=dtype)
        add("polyval", lambda tf, x: [tf.math.polyval([c], x) for c in (x, tf.ones_like(x))] + [tf.math.polyval([x, x], x)], values(dtype), dtype=dtype)
        add("xlog1py_gradient", lambda tf, x, y: _gradients(tf, tf.math.xlog1py, x, y), np.array([0, 0, 0, 2], dtype), np.array([-1, -3, np.inf, 1], dtype), dtype=dtype)
        add("hard_silu", lambda tf, x: tf.keras.activations.hard_silu(x), np.array([-np.finfo(dtype).max, -3, -1, 0, 3, np.finfo(dtype).max, np.nan], dtype), dtype=dtype)
        add("l2_loss_gradient", lambda tf, x: _gradients(tf, tf.nn.l2_loss, x), np.array([np.finfo(dtype).max, 1.0], dtype), dtype=dtype)
        picture = np.arange(12).reshape(2, 2, 3) / 10
        for method in ("gaussian", "mitchellcubic", "bicubic"):
            add(f"image.resize_{method}_to_its_size", lambda tf, x, method=method: tf.image.resize(x, [2, 2], method), picture, dtype=dtype)
    for dtype in FLOATS + INTEGERS:
        for shape, wanted in (((0, 4, 5), [0, -1]), ((3, 0), [0, -1]), ((0, 4, 6), [0, -1, 3]), ((2, 0), [-1, 0])):
            add(f"reshape_{'x'.join(map(str, shape))}_{len(wanted)}_{wanted.index(-1)}", lambda tf, x, wanted=wanted: tf.reshape(x, wanted), np.zeros(shape), dtype=dtype)
    for dtype in INTEGERS:
        for op in ("math.floordiv", "math.floormod", "truncatediv"):
            add(f"{op}_of_nothing", lambda tf, x, y, op=op: _named(tf, op)(x, y), np.zeros((2, 0)), np.zeros((2, 1)), dtype=dtype)
    for dtype in ("float32", "int32", "int8", "uint8", "int64"):
        picture = np.arange(9).reshape(1, 3, 3, 1) - (0 if dtype[0] == "u" else 12)
        add("nn.max_pool2d_explicit", lambda tf, x: tf.nn.max_pool2d(x, 2, 2, [[0, 0], [1, 0], [1, 1], [0, 0]]), picture, dtype=dtype)
    add("image.to_uint8", lambda tf, x: tf.image.convert_image_dtype(x, tf.uint8, saturate=True), np.array([-5, 2**31 - 1, 2**30, -(2**31), 0]), dtype="int32")
    add("io.png", lambda tf, x: tf.io.decode_png(tf.io.encode_png(x), dtype=tf.uint16), np.array([[[0, 65535, 258], [1, 2, 3]]]), dtype="uint16")
    add("io.png", lambda tf, x: [tf.io.decode_png(tf.io.encode_png(x), channels, tf.uint16) for channels in (0, 3, 4)], np.array([[[0], [255], [7]]]), dtype="uint8")
    add("arg_of_bools", lambda tf, x: [tf.argmin(x > 1, 1), tf.argmax(x > 1, 0)], np.array([[2, 0, 3], [2, 2, 2]]), dtype="int32")


def _add_segments(add):
    for dtype in FLOATS:
        rows = np.array([[-np.inf, 1, np.inf], [-np.inf, 2, np.inf], [3, -4, np.nan], [np.inf, -np.inf, 0]]).astype(_NUMPY.get(dtype, dtype))
        for op in ("max", "min", "sum", "mean", "prod"):
            add(f"sorted_segment_{op}", lambda tf, x, op=op: _named(tf, f"math.segment_{op}")(x, tf.constant([0, 0, 2, 5])), rows, dtype=dtype)
    for dtype in INTEGERS:
        add("sorted_segment_mean", lambda tf, x: tf.math.segment_mean(x, tf.constant([0, 1, 1, 1, 3])), values(dtype)[-5:], dtype=dtype)
    for dtype in ("float32", "float64"):
        rows = np.array([[0, 2, 3], [4, 0, 5], [6, 7, 0], [0, 0, 8]], dtype)
        for ids in ([0, 0, 0, 1], [0, 1, -1, 1]):
            add(f"unsorted_segment_prod_gradient_{ids[1]}", lambda tf, x, ids=ids: _gradients(tf, lambda x: tf.math.unsorted_segment_prod(x, tf.constant(ids), 2), x), rows, dtype=dtype)


def _add_losses(add):
    """Logits so large that a number beside them loses its digits."""
    for dtype in FLOATS:
        large = {"float16": 3e4, "bfloat16": 1e30, "float32": 1e30, "float64": 1e300}[dtype]
        rows = np.array([[large, large, 0], [-large, -large, -large], [1, 2, 3], [large, 1, -large]]).astype(_NUMPY.get(dtype, dtype))
        add("large_logits", lambda tf, x: [tf.nn.log_softmax(x), tf.nn.sparse_softmax_cross_entropy_with_logits(tf.constant([0, 2, 1, 0]), x),
                                           tf.nn.softmax_cross_entropy_with_logits(tf.one_hot([1, 0, 2, 0], 3, dtype=x.dtype), x)], rows, dtype=dtype)  # fmt: skip
    for dtype in ("float32", "float64"):
        logits = np.array([[-90.0, 0.0, 100.0], [3.0, -2.5, 20.0]], dtype)
        add("binary_focal_of_logits", lambda tf, x: tf.keras.losses.binary_focal_crossentropy(tf.constant([[0.25, 1, 0], [1, 0, 0.5]], x.dtype), x, from_logits=True), logits, dtype=dtype)
    for dtype in ("float16", "float32", "float64"):
        add("msle", lambda tf, x: tf.keras.losses.MSLE(x, x[::-1]), np.array([[0.0, 2.0], [1000.0, -1.0]]), dtype=dtype)


def _gradients(tf, function, *sources):
    with tf.GradientTape() as tape:
        tape.watch(sources)
        result = function(*sources)
    return list(tape.gradient(result, sources))
