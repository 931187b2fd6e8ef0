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


# By numerical integration with thirty digits.
PLACES = [1e-6, 0.3, 1.0, 2.5, 3.5, 7.0, 24.0, 26.0, 90.0]
NAMED = {
    "bessel_j0": [0.99999999999975, 0.9776262465382961, 0.7651976865579666, -0.048383776468198, -0.3801277399872634, 0.3000792705195556, -0.056230274166859266, 0.15599931552242113, 0.026630016699969512],
    "bessel_j1": [4.999999999999375e-07, 0.148318816273104, 0.4400505857449335, 0.49709410246427405, 0.1373775273623272, -0.004682823482345833, -0.15403806518312121, 0.015045730586915811, 0.07992564670886808],
    "bessel_y0": [-8.869031481659444, -0.8072735778045195, 0.08825696421567696, 0.4980703596152319, 0.1890219439208265, -0.025949743967209265, -0.15283402879758778, 0.012044625860755602, 0.07977647585487777],
    "bessel_y1": [-636619.772372175, -2.2931051383885293, -0.7812128213002887, 0.1459181379667858, 0.41018841788751187, -0.30266723702418485, 0.05305977612120217, -0.15579655322960265, -0.02618723860776823],
    "bessel_k0": [13.93144207362642, 1.3724600605442974, 0.42102443824070834, 0.06234755320036619, 0.01959889717036849, 0.0004247957418692318, 9.608818780833116e-12, 1.2498773979850725e-12, 1.0810242556984254e-40],
    "bessel_k1": [999999.9999927843, 3.055992033457325, 0.6019072301972346, 0.07389081634774707, 0.022239392925923834, 0.00045418248688489695, 9.806998930441144e-12, 1.2736907792389236e-12, 1.0870134457498335e-40],
    "bessel_k0e": [13.931456005075459, 1.8526273007720142, 1.144463079806895, 0.7595486903280996, 0.6490263376886884, 0.4658450960930159, 0.25452917420902205, 0.2446380149415515, 0.13192855628918504],
    "bessel_k1e": [1000000.9999932843, 4.12515776224447, 1.6361534862632583, 0.900174423907878, 0.7364675480289125, 0.49807157509547656, 0.2597787923956998, 0.24929899875354783, 0.13265947901608843],
    "dawsn": [9.999999999993333e-07, 0.28263166502131193, 0.5380795069127684, 0.2230837221674355, 0.14962159308075648, 0.0721809746582363, 0.020851465124759393, 0.019245024851840636, 0.005555898554609865],
    "expint": [-13.238293893062492, -0.30266853926582593, 1.8951178163559368, 7.0737658945786, 13.925353995152335, 191.5047433355014, 1154115391.8491828, 7842940991.898187, 1.371416869507252e+37],
    "fresnel_cos": [1e-06, 0.2994009760520472, 0.7798934003768229, 0.45741300964177706, 0.5325724350280009, 0.5454670925469698, 0.4999926706655444, 0.4999942352727201, 0.4999998610134687],
    "fresnel_sin": [5.235987755982988e-19, 0.014116998006576583, 0.43825914739035476, 0.6191817558195929, 0.41524801197243755, 0.49970478945344676, 0.48673710022664085, 0.4877573202131747, 0.49646322350323224],
    "spence": [1.6449192513305106, 0.8893776242860387, 0.0, -1.1473806603755707, -1.6988958419950142, -3.0899420510880318, -6.517581469971647, -6.785907899712119, -11.707657746682303],
}


@pytest.mark.parametrize("name", NAMED)
def test_functions_of_math_special(name):
    function, wanted = getattr(tf.math.special, name), np.array(NAMED[name])
    got = function(np.array(PLACES)).numpy()
    np.testing.assert_allclose(got, wanted, rtol=3e-13, atol=1e-15 if "spence" in name or "fresnel" in name else 0)
    np.testing.assert_allclose(function(np.array(PLACES, np.float32)), wanted.astype(np.float32), rtol=2e-5, atol=1e-6)
    x = tf.constant([0.4, 1.0, 2.0, 6.5], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    step = (function(x + 1e-5) - function(x - 1e-5)).numpy() / 2e-5
    np.testing.assert_allclose(tape.gradient(y, x), step, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(tf.function(function)(x), y)
    assert np.isnan(function(np.array([np.nan]))).all()


def test_the_incomplete_gamma_function_by_its_first_argument():
    a, x = tf.constant([0.5, 2.0, 7.0, 30.0], tf.float64), tf.constant([0.7, 1.5, 9.0, 28.0], tf.float64)
    for function, sign in ((tf.math.igamma, 1), (tf.math.igammac, -1)):
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = function(a, x)
        wanted = [-0.5313388305051272, -0.3134886378250793, -0.10549943367004838, -0.07049269276012013]
        np.testing.assert_allclose(tape.gradient(y, a), sign * np.array(wanted), rtol=1e-8)


def test_ends_of_the_functions_of_math_special():
    """Where a function has no value, TensorFlow's."""
    ends = np.array([0.0, np.inf, -1.0])
    wanted = {
        "bessel_j0": [1, 0, NAMED["bessel_j0"][2]], "bessel_j1": [0, 0, -NAMED["bessel_j1"][2]], "bessel_y0": [-np.inf, 0, -np.inf], "bessel_y1": [-np.inf, 0, -np.inf],
        "bessel_k0": [np.inf, 0, np.inf], "bessel_k1e": [np.inf, 0, np.inf], "dawsn": [0, 0, -NAMED["dawsn"][2]], "expint": [-np.inf, np.inf, np.nan],
        "fresnel_cos": [0, 0.5, -NAMED["fresnel_cos"][2]], "fresnel_sin": [0, 0.5, -NAMED["fresnel_sin"][2]], "spence": [math.pi**2 / 6, -np.inf, np.nan],
    }  # fmt: skip
    for name, values in wanted.items():
        np.testing.assert_allclose(getattr(tf.math.special, name)(ends), values, rtol=1e-13, err_msg=name)
