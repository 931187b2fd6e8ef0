"""Functions of probability against Python's own and against known values, over their whole range."""
import math
from statistics import NormalDist

import numpy as np
import pytest

import tandemflow as tf

# The derivatives of digamma at 1, over their factorials: Euler's constant and Riemann's zeta.
ZETA = [-0.5772156649015329, math.pi**2 / 6, -1.2020569031595942, math.pi**4 / 90, -1.0369277551433699]
DTYPES = [(np.float32, 3e-6), (np.float64, 2e-14)]


@pytest.mark.parametrize("dtype,close", DTYPES)
def test_lgamma(dtype, close):
    x = np.concatenate([np.geomspace(1e-6, 1e6, 400), np.linspace(0.3, 12, 500), np.linspace(-5.93, -0.061, 96)]).astype(dtype)
    got = tf.math.lgamma(x).numpy()
    expected = np.array([math.lgamma(float(v)) for v in x])
    np.testing.assert_allclose(got, expected, rtol=close, atol=close * 20)
    # Where the value vanishes it is accurate too; Python's is not.
    small = np.array([1e-3, -1e-3, 1e-4], dtype)
    for zero in (1, 2):
        e = ((small + dtype(zero)) - dtype(zero)).astype(np.float64)
        series = ZETA[0] * e + ZETA[1] / 2 * e**2 + ZETA[2] / 3 * e**3 + ZETA[3] / 4 * e**4 + ZETA[4] / 5 * e**5
        np.testing.assert_allclose(tf.math.lgamma(small + dtype(zero)), series + (np.log1p(e) if zero == 2 else 0), rtol=close)
    special = tf.math.lgamma(np.array([0, -1, -7, np.inf, -np.inf], dtype)).numpy()
    assert (special == np.inf).all() and np.isnan(tf.math.lgamma(np.array(np.nan, dtype)).numpy())


@pytest.mark.parametrize("dtype,close", DTYPES)
def test_digamma(dtype, close):
    euler = -ZETA[0]
    x = np.array([1, 2, 0.5, 0.25, 10, -0.5, 1e-3], dtype)
    expected = [-euler, 1 - euler, -euler - 2 * math.log(2), -euler - math.pi / 2 - 3 * math.log(2), 2.251752589066721, 0.03648997397857652]
    tiny = float(x[-1])
    expected.append(-1 / tiny + sum(z * tiny**k for k, z in enumerate(ZETA)))
    np.testing.assert_allclose(tf.math.digamma(x), expected, rtol=close * 4, atol=close * 4)
    x = np.linspace(0.2, 30, 300).astype(dtype)
    np.testing.assert_allclose(tf.math.digamma(x + 1) - tf.math.digamma(x), 1 / x, rtol=close * 30, atol=close * 4)
    assert np.isnan(tf.math.digamma(np.array([0, -3], dtype)).numpy()).all()


@pytest.mark.parametrize("dtype,close", DTYPES)
def test_inverses_of_the_error_function_and_the_normal_distribution(dtype, close):
    y = np.concatenate([np.linspace(-0.999, 0.999, 301), np.geomspace(1e-30, 0.1, 40)]).astype(dtype)
    x = tf.math.erfinv(y).numpy().astype(np.float64)
    back = np.array([math.erf(v) for v in x])
    np.testing.assert_allclose(back, y, rtol=close * 2, atol=0)
    p = np.concatenate([np.geomspace(1e-30, 0.5, 200), 1 - np.geomspace(1e-4, 0.5, 50)]).astype(dtype)
    expected = [NormalDist().inv_cdf(float(v)) for v in p]
    np.testing.assert_allclose(tf.math.ndtri(p), expected, rtol=close * 4, atol=close)
    assert tf.math.erfinv(np.array([-1, 1], dtype)).numpy().tolist() == [-np.inf, np.inf]
    assert tf.math.ndtri(np.array([0, 1], dtype)).numpy().tolist() == [-np.inf, np.inf]
    for outside in (tf.math.erfinv(np.array([-1.5, 2], dtype)), tf.math.ndtri(np.array([-0.1, 1.1], dtype))):
        assert np.isnan(outside.numpy()).all()


def test_the_derivative_of_lgamma_is_digamma():
    x = tf.constant([0.3, 1.7, 6.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.math.lgamma(x)
    np.testing.assert_allclose(tape.gradient(y, x), tf.math.digamma(x), rtol=1e-6)
