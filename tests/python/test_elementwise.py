"""Elementwise ops beside NumPy and SciPy, over random and special values."""
import math

import numpy as np
import pytest

import tandemflow as tf

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-3, 88.0, -90.0, 1e30, -1e30, 1e-40, -1e-40, math.inf, -math.inf, math.nan]
erf, erfc = np.vectorize(math.erf, otypes=[float]), np.vectorize(math.erfc, otypes=[float])


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


# TandemFlow's op, NumPy's in float64, the allowed relative error in units of float32's last place.
UNARY = {
    "sin": (tf.sin, np.sin, 4), "cos": (tf.cos, np.cos, 4), "tan": (tf.tan, np.tan, 4), "asin": (tf.asin, np.arcsin, 4),
    "acos": (tf.acos, np.arccos, 4), "atan": (tf.atan, np.arctan, 4), "sinh": (tf.sinh, np.sinh, 4), "cosh": (tf.cosh, np.cosh, 4),
    "asinh": (tf.asinh, np.arcsinh, 4), "acosh": (tf.acosh, np.arccosh, 4), "atanh": (tf.atanh, np.arctanh, 4),
    "expm1": (tf.math.expm1, np.expm1, 3), "log1p": (tf.math.log1p, np.log1p, 3), "erf": (tf.math.erf, erf, 4),
    "erfc": (tf.math.erfc, erfc, 5), "reciprocal": (tf.math.reciprocal, lambda x: 1 / x, 1), "floor": (tf.floor, np.floor, 0),
    "ceil": (tf.math.ceil, np.ceil, 0), "round": (tf.round, np.round, 0), "rint": (tf.math.rint, np.rint, 0),
    "sign": (tf.sign, np.sign, 0), "softplus": (tf.nn.softplus, softplus, 4), "softsign": (tf.nn.softsign, lambda x: x / (1 + np.abs(x)), 3),
    "relu6": (tf.nn.relu6, lambda x: np.clip(x, 0, 6), 0), "elu": (tf.nn.elu, lambda x: np.where(x > 0, x, np.expm1(x)), 3),
    "selu": (tf.nn.selu, lambda x: np.where(x > 0, x * 1.0507009873554805, np.expm1(x) * 1.7580993408473769), 4),
    "leaky_relu": (lambda x: tf.nn.leaky_relu(x, alpha=0.25), lambda x: np.where(x > 0, x, 0.25 * x), 1),
    "hard_sigmoid": (tf.nn.hard_sigmoid, lambda x: np.clip(x + 3, 0, 6) / 6, 3), "log_sigmoid": (tf.math.log_sigmoid, lambda x: -softplus(-x), 4),
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_unary_functions_agree_with_numpy(name):
    ours, theirs, ulps = UNARY[name]
    rng = np.random.default_rng(5)
    x = np.concatenate([SPECIAL, rng.normal(size=3000), rng.uniform(-1, 1, 3000), rng.normal(scale=30, size=1000)]).astype(np.float32)
    if name in ("sin", "cos", "tan"):
        x = np.concatenate([x, (rng.uniform(1, 2, 3000) * 2.0 ** rng.integers(10, 127, 3000)).astype(np.float32)])
    with np.errstate(all="ignore"):
        wanted = theirs(x.astype(np.float64))
        rounded = wanted.astype(np.float32)
        got = ours(tf.constant(x)).numpy()
        assert np.array_equal(np.isnan(got), np.isnan(rounded)), x[np.isnan(got) != np.isnan(rounded)]
        infinite = np.isinf(rounded)
        assert np.array_equal(got[infinite], rounded[infinite])
        finite = np.isfinite(rounded)
        error = np.abs(got[finite].astype(np.float64) - wanted[finite]) / np.spacing(np.abs(rounded[finite]))
    assert error.max() <= ulps + 0.5, (error.max(), x[finite][error.argmax()], got[finite][error.argmax()])
    zeros = finite & (rounded == 0) & (got == 0)
    assert np.array_equal(np.signbit(got[zeros & (x == 0)]), np.signbit(rounded[zeros & (x == 0)]))


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32"])
def test_other_dtypes_follow(dtype):
    x = np.array([-3, -1, 0, 1, 2], dtype)
    assert np.array_equal(tf.round(x).numpy(), x) and np.array_equal(tf.sign(x).numpy(), np.sign(x))
    if dtype != "int32":
        np.testing.assert_allclose(tf.atan(x).numpy(), np.arctan(x), rtol=2e-3 if dtype == "float16" else 1e-14)
    else:
        with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
            tf.atan(x)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_integers_divide_as_in_numpy(dtype):
    rng = np.random.default_rng(6)
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, 4000, dtype=dtype, endpoint=True)
    y = rng.integers(max(info.min, -9), 9, 4000, dtype=dtype)
    y[y == 0] = 3
    with np.errstate(over="ignore"):
        assert np.array_equal(tf.math.floordiv(x, y).numpy(), x // y)
        assert np.array_equal(tf.math.floormod(x, y).numpy(), x % y)
        assert np.array_equal(tf.math.mod(x, y).numpy(), x % y)
        assert np.array_equal(tf.truncatemod(x, y).numpy(), np.fmod(x, y))
    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
        tf.constant([1, 2]) // tf.constant([1, 0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
        tf.truncatediv([1, 2], [1, 0])


def test_floats_divide_as_in_numpy():
    rng = np.random.default_rng(7)
    x, y = rng.normal(scale=20, size=3000).astype("float32"), rng.normal(size=3000).astype("float32")
    np.testing.assert_array_equal((tf.constant(x) // y).numpy(), np.floor(x / y))
    np.testing.assert_allclose((tf.constant(x) % y).numpy(), x % y, atol=1e-6)
    assert math.isinf((tf.constant(1.0) // 0.0).numpy()) and math.isnan((tf.constant(1.0) % 0.0).numpy())
    assert tf.math.divide_no_nan([1.0, 2.0], [0.0, 4.0]).numpy().tolist() == [0, 0.5]
    assert tf.math.multiply_no_nan([math.inf, 2.0], [0.0, 4.0]).numpy().tolist() == [0, 8]
    assert tf.math.xlogy([0.0, 1.0], [0.0, 1.0]).numpy().tolist() == [0, 0] and tf.math.xdivy([0.0, 1.0], [0.0, 4.0]).numpy().tolist() == [0, 0.25]


def test_tests_of_numbers():
    x = np.array(SPECIAL, "float32")
    assert np.array_equal(tf.math.is_nan(x).numpy(), np.isnan(x))
    assert np.array_equal(tf.math.is_inf(x).numpy(), np.isinf(x))
    assert np.array_equal(tf.math.is_finite(x).numpy(), np.isfinite(x))
    a, b = [True, True, False, False], [True, False, True, False]
    assert tf.math.logical_xor(a, b).numpy().tolist() == [False, True, True, False]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_bits(dtype):
    rng = np.random.default_rng(8)
    info = np.iinfo(dtype)
    x, y = (rng.integers(info.min, info.max, 500, dtype=dtype, endpoint=True) for _ in range(2))
    places = rng.integers(0, info.bits, 500).astype(dtype)
    assert np.array_equal(tf.bitwise.bitwise_and(x, y).numpy(), x & y)
    assert np.array_equal(tf.bitwise.bitwise_or(x, y).numpy(), x | y)
    assert np.array_equal(tf.bitwise.bitwise_xor(x, y).numpy(), x ^ y)
    assert np.array_equal(tf.bitwise.invert(x).numpy(), ~x)
    assert np.array_equal(tf.bitwise.left_shift(x, places).numpy(), x << places)
    assert np.array_equal(tf.bitwise.right_shift(x, places).numpy(), x >> places)


def test_atan2_and_clipping():
    rng = np.random.default_rng(9)
    y, x = rng.normal(size=(2, 1000)).astype("float32")
    np.testing.assert_allclose(tf.atan2(y, x).numpy(), np.arctan2(y, x), rtol=1e-6)
    np.testing.assert_array_equal(tf.clip_by_value(y, -0.5, 0.25).numpy(), np.clip(y, -0.5, 0.25))
    np.testing.assert_array_equal(tf.clip_by_value([[1, 5], [9, 0]], [2, 1], 6).numpy(), [[2, 5], [6, 1]])
    np.testing.assert_allclose(tf.math.squared_difference(x, y).numpy(), (x - y) ** 2, rtol=1e-6)
    np.testing.assert_allclose(tf.nn.silu(x).numpy(), x / (1 + np.exp(-x)), rtol=1e-6)
    np.testing.assert_allclose(tf.nn.swish(x, beta=2.0).numpy(), x / (1 + np.exp(-2 * x)), rtol=1e-5)
    np.testing.assert_allclose(tf.nn.mish(x).numpy(), x * np.tanh(softplus(x.astype("float64"))), rtol=1e-5)
    np.testing.assert_allclose(tf.nn.hard_silu(x * 4).numpy(), x * 4 * np.clip(x * 4 + 3, 0, 6) / 6, rtol=1e-5, atol=1e-7)


def test_operators_of_bits_are_logical_for_bools_and_bitwise_for_integers():
    x, y = tf.constant([1, 2, 3]), tf.constant([True, False])
    assert [(x & 1).numpy().tolist(), (x | 4).numpy().tolist(), (x ^ 1).numpy().tolist(), (~x).numpy().tolist()] == [[1, 0, 1], [5, 6, 7], [0, 3, 2], [-2, -3, -4]]
    assert [(y & True).numpy().tolist(), (y ^ True).numpy().tolist(), (~y).numpy().tolist()] == [[True, False], [False, True], [False, True]]
    with pytest.raises(TypeError, match="not defined for float32"):
        tf.constant(1.0) & 1


def test_an_empty_tensor_is_false():
    assert not tf.constant([]) and not tf.zeros([0, 3])
