"""Tensors print as NumPy and TensorFlow print them."""
import numpy as np
import pytest

import tandemflow as tf
from random_arrays import random_array
from tandemflow import _tandem

# The rules changed in NumPy 2.3 (when exponents appear) and 2.2 (shape= for long arrays).
same_rules = pytest.mark.skipif(
    tuple(int(n) for n in np.__version__.split(".")[:2]) < (2, 3), reason="this NumPy prints by older rules"
)


@same_rules
@pytest.mark.parametrize("seed", range(10))
def test_random_arrays_print_as_numpy_prints_them(seed):
    rng = np.random.default_rng(seed)
    for _ in range(300):
        array = random_array(rng)
        tensor = tf.constant(array)
        assert _tandem.numpy_str(tensor) == str(array)
        assert _tandem.numpy_repr(tensor) == repr(array)


@same_rules
def test_every_half_prints_as_numpy_prints_it():
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    for row in halves.reshape(-1, 64):
        assert _tandem.numpy_str(tf.constant(row)) == str(row)


@same_rules
def test_scalars_print_as_numpy_prints_them():
    rng = np.random.default_rng(0)
    floats = rng.integers(0, 2**32, 3000, dtype=np.uint32).view(np.float32)
    doubles = rng.integers(0, 2**63, 3000, dtype=np.uint64).view(np.float64)
    for value in [*floats, *doubles, *(np.float32(2.0) ** np.arange(-149, 128)), *(2.0 ** np.arange(-1074, 1024))]:
        assert _tandem.numpy_str(tf.constant(value)) == str(value)
        assert repr(tf.constant(value)).endswith(f"numpy={value.item()!r}>")


@pytest.mark.parametrize(
    "value, text, representation",
    [
        (1.0, "tf.Tensor(1.0, shape=(), dtype=float32)", "<tf.Tensor: shape=(), dtype=float32, numpy=1.0>"),
        (
            [[1.0, 2.0], [3.0, 4.0]],
            "tf.Tensor(\n[[1. 2.]\n [3. 4.]], shape=(2, 2), dtype=float32)",
            "<tf.Tensor: shape=(2, 2), dtype=float32, numpy=\narray([[1., 2.],\n       [3., 4.]], dtype=float32)>",
        ),
        (
            [1, 2, 3],
            "tf.Tensor([1 2 3], shape=(3,), dtype=int32)",
            "<tf.Tensor: shape=(3,), dtype=int32, numpy=array([1, 2, 3], dtype=int32)>",
        ),
        ("abc", "tf.Tensor(b'abc', shape=(), dtype=string)", "<tf.Tensor: shape=(), dtype=string, numpy=b'abc'>"),
        (
            ["a'b", b"\xff\n"],
            "tf.Tensor([b\"a'b\" b'\\xff\\n'], shape=(2,), dtype=string)",
            "<tf.Tensor: shape=(2,), dtype=string, numpy=array([b\"a'b\", b'\\xff\\n'], dtype=object)>",
        ),
        (True, "tf.Tensor(True, shape=(), dtype=bool)", "<tf.Tensor: shape=(), dtype=bool, numpy=True>"),
    ],
)
def test_tensors_read_as_in_tensorflow(value, text, representation):
    tensor = tf.constant(value)
    assert str(tensor) == text
    assert repr(tensor) == representation


def test_bfloat16_prints_short_numbers():
    tensor = tf.constant([1.0, 2.5, 1e-5, 1e10, float("nan"), -0.0, 0.1], tf.bfloat16)
    assert str(tensor) == "tf.Tensor([1 2.5 1.00136e-05 9.99922e+09 nan -0 0.100098], shape=(7,), dtype=bfloat16)"


def test_variables_read_as_in_tensorflow():
    assert repr(tf.Variable(1.0, name="w")) == "<tf.Variable 'w:0' shape=() dtype=float32, numpy=1.0>"
    assert repr(tf.Variable([1.0, 2.0])) == (
        "<tf.Variable 'Variable:0' shape=(2,) dtype=float32, numpy=array([1., 2.], dtype=float32)>"
    )


def test_format_is_that_of_the_value():
    assert f"{tf.constant(1.5):.3f}" == "1.500"
    assert f"{tf.constant(1.5)}" == "1.5"
    assert f"{tf.constant([1, 2])}" == "[1 2]"
    with pytest.raises(TypeError, match="unsupported format string"):
        f"{tf.constant([1.5]):.3f}"


def test_shapes_and_dtypes_read_as_in_tensorflow():
    shape = tf.ones((2, 3)).shape
    assert (str(shape), repr(shape), str(tf.constant([1]).shape)) == ("(2, 3)", "TensorShape([2, 3])", "(1,)")
    assert (str(tf.float32), repr(tf.float32), repr(tf.string)) == ("<dtype: 'float32'>", "tf.float32", "tf.string")
    assert repr(tf.config.list_physical_devices("CPU")) == (
        "[PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]"
    )
    assert repr(tf.config.list_logical_devices("CPU")) == "[LogicalDevice(name='/device:CPU:0', device_type='CPU')]"


def test_strings_are_printed_with_quotation_marks_unless_they_stand_alone(capfd):
    word = tf.constant('q"uo\\te\n')
    tf.print(tf.constant("alone"))
    tf.print("beside", word, tf.constant(["a", "b"]), {"k": tf.constant("s")}, [tf.constant("s"), "t"])
    tf.print("rows", tf.ragged.constant([["a"], []]), tf.ragged.constant([[1, 2], [3]]), tf.ragged.constant([[1.5]]), tf.ragged.constant([list(range(9))]))
    assert capfd.readouterr().err.splitlines() == [
        "alone",
        """beside "q\\"uo\\\\te\\n" ["a" "b"] {'k': "s"} ["s", 't']""",
        "rows [['a'], []] [[1, 2], [3]] [[1.500000]] [[0, 1, 2, ..., 6, 7, 8]]",
    ]
