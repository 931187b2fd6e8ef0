"""Infinities, NaN, zeros and the ends of integers, as TensorFlow answers them: tests/data/special.npz."""
from pathlib import Path

import numpy as np
import pytest
import special_cases

import tandemflow as tf

ANSWERS = np.load(Path(__file__).parent.parent / "data/special.npz")
CASES = special_cases.cases()
# Refusals that are answers; elsewhere TensorFlow has no kernel for a dtype that has one here.
REFUSED = ("math.floordiv_by_zero", "math.floormod_by_zero", "truncatediv_by_zero", "truncatemod_by_zero", "pow_negative")
# Where TensorFlow's answer is not the function's value, or where there is work left.
OTHERWISE = {
    "math.erf/float64": "NaN of infinities",
    "nn.leaky_relu/float64": "alpha is a float32 there",
    "nn.softmax/float32": "a NaN makes some of its row zero there, and NaN here",
    "nn.softmax/bfloat16": "a NaN makes some of its row zero there, and NaN here",
}
# Of the dtype a result is computed in, in units of its last place.
EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}
SMALLEST = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float64": 2.0**-1022}
# Functions whose own error TensorFlow's polynomials or ours may show near the ends of their range.
ULPS = {"pow": 40, "math.lgamma": 16, "reduce_prod": 8, "norm": 8, "math.xlogy": 8,
        "image.resize_mitchellcubic_to_its_size": 32,  # weights of both signs
        "math.igamma": 64, "math.polygamma": 64, "math.bessel_i0e": 64, "math.bessel_i1e": 64}


def check(got, wanted, name, dtype):
    assert got.shape == wanted.shape and got.dtype == wanted.dtype, (got.dtype, wanted.dtype)
    if got.dtype.kind not in "fV":
        assert np.array_equal(got, wanted), np.flatnonzero(got != wanted)
        return
    assert np.array_equal(np.isnan(got), np.isnan(wanted)), np.flatnonzero(np.isnan(got) != np.isnan(wanted))
    assert np.array_equal(np.isinf(got), np.isinf(wanted)), np.flatnonzero(np.isinf(got) != np.isinf(wanted))
    assert np.array_equal(got[np.isinf(got)], wanted[np.isinf(got)])
    finite = np.isfinite(got)
    a, b = got[finite].astype(np.float64), wanted[finite].astype(np.float64)
    # TensorFlow takes denormal results for zero.
    error = np.abs(a - b) - 4 * SMALLEST[dtype]
    assert (error <= ULPS.get(name, 4) * EPSILON[dtype] * np.abs(b)).all(), np.flatnonzero(finite)[np.argmax(error)]


@pytest.mark.parametrize("case", [case for case in CASES if case not in OTHERWISE])
def test_special_values_are_answered_as_tensorflow_does(case):
    name, dtype = case.split("/")
    if f"{case}/error" in ANSWERS:
        if name in REFUSED:
            with pytest.raises((tf.errors.InvalidArgumentError, tf.errors.InternalError)):
                CASES[case](tf)
        return
    results = CASES[case](tf)
    for i, result in enumerate(results if isinstance(results, list) else [results]):
        result = tf.cast(result, tf.float32) if result.dtype == tf.bfloat16 else result
        kind = "float32" if name.startswith("cast_to_") or ANSWERS[f"{case}/{i}"].dtype == np.float64 and dtype != "float64" else dtype
        kind = name.removeprefix("cast_to_") if name.startswith("cast_to_") and name[8:] in EPSILON else kind
        if (kind in special_cases.INTEGERS or name.startswith("image.")) and result.dtype.is_floating:
            kind = result.dtype.name
        check(result.numpy(), ANSWERS[f"{case}/{i}"], name, kind if kind in EPSILON else "float32")
