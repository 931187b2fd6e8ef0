"""The node tests that the onnx package brings, run through tf.onnx.load."""
import functools
import warnings

import numpy as np

import tandemflow as tf
from tandemflow.onnx import messages, tensors


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
    if isinstance(value, np.ndarray) or np.isscalar(value):
        return np.asarray(value)
    return [_array(one) for one in value] if isinstance(value, list) else value


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
    wanted = _array(wanted)
    if getattr(got, "dtype", None) == tf.bfloat16 and wanted.dtype.name == "bfloat16":  # which NumPy itself has not
        got, wanted = tf.cast(got, tf.float32), wanted.astype(np.float32)
    got = np.asarray(got.numpy() if hasattr(got, "numpy") else got)
    assert got.shape == wanted.shape, f"the shape is {got.shape}, wanted {wanted.shape}"
    if wanted.dtype.kind in "OUS":
        assert [v.decode() if isinstance(v, bytes) else str(v) for v in got.ravel()] == [str(v) for v in wanted.ravel()]
        return
    assert got.dtype == wanted.dtype, f"the dtype is {got.dtype}, wanted {wanted.dtype}"
    np.testing.assert_allclose(got.astype(np.float64), wanted.astype(np.float64), rtol=rtol, atol=atol)


def run(model, inputs, outputs, rtol, atol):
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
        return text if text.startswith("the ") else "the values differ"
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the reason
        return f"{type(error).__name__}: {str(error).splitlines()[0].split(';')[0][:90]}"
    return None
