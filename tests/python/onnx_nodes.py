"""The node tests that the onnx package brings, run through tf.onnx.load."""
import functools
import warnings

import numpy as np

import tandemflow as tf
from tandemflow.onnx import messages, tensors
from tandemflow.onnx.narrow import BFLOAT16, FORMATS

# What the onnx package calls them in NumPy, with another package.
_FOREIGN = {
    "bfloat16": BFLOAT16, "float8_e4m3fn": 17, "float8_e4m3fnuz": 18, "float8_e5m2": 19, "float8_e5m2fnuz": 20, "uint4": 21, "int4": 22,
    "float4_e2m1fn": 23, "float8_e8m0fnu": 24, "uint2": 25, "int2": 26,
}  # fmt: skip


# Why values differ, by a part of the test's name.
_WHY = {
    "bernoulli": "the numbers are drawn, and are others than NumPy's",
    "training_dropout": "the numbers are drawn, and are others than NumPy's",
    "dft_inverse": "the wanted values have rounding errors of 2e-7 where the answer is 0",
    "bf16_expanded": "sums are rounded in another order: the last of 8 bits differs by more than one unit",
    "fp16_expanded": "sums are rounded in another order: the last of 11 bits differs by more than one unit",
    "bf16": "the wanted values are rounded after every step, up to 1.7 units of the last of 8 bits from the exact ones; ours are rounded once",
}


@functools.lru_cache(None)
def cases():
    """(name, model as bytes, inputs, outputs, rtol, atol)"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package's own arithmetic
        from onnx.backend.test.case.node import collect_testcases

        found = collect_testcases(None)
    return [(c.name, c.model.SerializeToString(), *c.data_sets[0], c.rtol, c.atol) for c in found if c.data_sets]


def _array(value):
    if type(value).__name__ == "TensorProto":
        return tensors.to_array(messages.Tensor.parse(value.SerializeToString()))
    if isinstance(value, (np.ndarray, np.generic)) or np.isscalar(value):
        value = np.asarray(value)
        return value.astype(tensors.dtype_of(_narrow(value))) if _narrow(value) else value
    return [_array(one) for one in value] if isinstance(value, list) else value


def _narrow(value):
    """ONNX' number of a dtype that NumPy has not, or None."""
    number = value.data_type if type(value).__name__ == "TensorProto" else _FOREIGN.get(np.asarray(value).dtype.name)
    return number if number == BFLOAT16 or number in FORMATS else None


def _given(model, inputs):
    """A node's inputs that were left out are no inputs of the model; an optional value may be None."""
    given = [value for value in inputs if value is not None]
    return [_array(value) for value in (given if len(given) == len(model.input_names) else inputs)]


def _expect_equal(got, wanted, rtol, atol):
    if isinstance(wanted, list):
        assert len(got) == len(wanted), f"the sequence has {len(got)} values, wanted {len(wanted)}"
        for one, other in zip(got, wanted):
            _expect_equal(one, other, rtol, atol)
        return
    narrow = _narrow(wanted)
    wanted = _array(wanted)
    if narrow == BFLOAT16:
        assert got.dtype == tf.bfloat16, f"the dtype is {got.dtype.name}, wanted bfloat16"
        got, rtol = tf.cast(got, tf.float32), max(rtol, 2.0**-7)  # a unit in the last place
    got = np.asarray(got.numpy() if hasattr(got, "numpy") else got)
    assert got.shape == wanted.shape, f"the shape is {got.shape}, wanted {wanted.shape}"
    if wanted.dtype.kind in "OUS":
        assert [v.decode() if isinstance(v, bytes) else str(v) for v in got.ravel()] == [str(v) for v in wanted.ravel()]
        return
    assert got.dtype == wanted.dtype, f"the dtype is {got.dtype}, wanted {wanted.dtype}"
    np.testing.assert_allclose(got.astype(np.float64), wanted.astype(np.float64), rtol=rtol, atol=atol)


def run(name, model, inputs, outputs, rtol, atol):
    """None when the node gives what it should; else the reason, short and without numbers that vary."""
    try:
        loaded = tf.onnx.load(model)
        got = loaded(*_given(loaded, inputs))
        for one, wanted in zip(got if isinstance(got, tuple) else (got,), outputs):
            _expect_equal(one, wanted, rtol, atol)
    except NotImplementedError as error:
        text = str(error).split(";")[0]
        return text.split(": ", 1)[-1] if text.startswith("node '") else text
    except AssertionError as error:
        text = str(error).strip().splitlines()[0]
        return text if text.startswith("the ") else next((why for part, why in _WHY.items() if part in name), "the values differ")
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the reason
        text = str(error).splitlines()[0].split(";")[0].split(" Got ")[0]
        return f"{type(error).__name__}: {text[:90]}"
    return None
