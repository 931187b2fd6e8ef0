"""Errors can be caught by TensorFlow's names and by Python's."""
import pytest

import tandemflow as tf


def test_shapes_that_do_not_fit_are_invalid_arguments():
    for kind in (tf.errors.InvalidArgumentError, tf.errors.OpError, ValueError):
        with pytest.raises(kind, match=r"E0102 matmul: inner sizes differ"):
            tf.matmul(tf.ones((2, 3)), tf.ones((2, 3)))


def test_mixed_dtypes_are_type_errors_too():
    for kind in (tf.errors.InvalidArgumentError, TypeError, ValueError):
        with pytest.raises(kind):
            tf.constant([1.0]) + tf.constant([1])


def test_memory_that_does_not_suffice_is_a_memory_error():
    for kind in (tf.errors.ResourceExhaustedError, MemoryError, RuntimeError):
        with pytest.raises(kind):
            tf.zeros((1 << 30, 1 << 20))
    assert float(tf.reduce_sum(tf.ones(3))) == 3  # and life goes on


def test_the_code_and_message_can_be_read():
    try:
        tf.reshape(tf.ones(3), [2])
    except tf.errors.InvalidArgumentError as error:
        assert error.code == 102 and error.error_code == tf.errors.INVALID_ARGUMENT and error.message.startswith("E0102 reshape")


@pytest.mark.parametrize(
    "bad, message",
    [
        (lambda: tf.add(tf.constant(1.0)), r"add\(\) missing required argument: 'y'"),
        (lambda: tf.add(1.0, 2.0, z=3), r"add\(\) got an unexpected keyword argument 'z'"),
        (lambda: tf.add(1.0, 2.0, x=3), r"add\(\) got multiple values for argument 'x'"),
        (lambda: tf.add(1.0, 2.0, None, 4), r"add\(\) takes at most 3 arguments"),
        (lambda: tf.cast(1.0), r"cast\(\) missing required argument: 'dtype'"),
        (lambda: tf.concat(5, 0), "list of tensors"),
        (lambda: tf.nn.softmax([1.0], axis=1.5), "integer"),
        (lambda: tf.one_hot([1], "3"), "integer"),
    ],
)
def test_wrong_calls_are_type_errors(bad, message):
    with pytest.raises(TypeError, match=message):
        bad()


@pytest.mark.parametrize(
    "bad",
    [
        lambda: tf.reduce_sum(tf.ones(2), axis=5),
        lambda: tf.reshape(tf.ones(3), [-1, -1]),
        lambda: tf.zeros([-1]),
        lambda: tf.nn.conv2d(tf.ones((1, 4, 4, 1)), tf.ones((2, 2, 1, 1)), 1, "DIAGONAL"),
        lambda: tf.gather([1, 2], [5]),
        lambda: tf.transpose(tf.ones((2, 3)), [0, 0]),
        lambda: tf.concat([tf.ones((2, 2)), tf.ones((3, 3))], 0),
        lambda: tf.split(tf.ones(5), 2),
        lambda: tf.constant([1, 2]) // 0,
        lambda: tf.range(0, 5, 0),
        lambda: tf.ones([1] * 9),
        lambda: tf.constant([[[[[[[[[1]]]]]]]]]),
    ],
)
def test_wrong_values_are_value_errors(bad):
    with pytest.raises(ValueError) as caught:
        bad()
    assert len(str(caught.value)) > 15


def test_a_list_that_contains_itself_is_refused():
    loop = []
    loop.append(loop)
    with pytest.raises((ValueError, RecursionError)):
        tf.constant(loop)


def test_errors_are_made_as_tensorflow_makes_them_and_know_its_numbers():
    for kind, number in [("InvalidArgumentError", 3), ("NotFoundError", 5), ("ResourceExhaustedError", 8), ("OutOfRangeError", 11), ("DataLossError", 15)]:
        error = getattr(tf.errors, kind)(None, None, "what is wrong")
        assert (str(error), error.message, error.error_code, error.op) == ("what is wrong", "what is wrong", number, None)


def test_a_traced_tensor_used_as_a_python_value_is_a_type_error():
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="was used as a Python bool") as caught:
        tf.function(lambda x: 1 if x > 0 else 2, autograph=False)(tf.constant(1))
    assert isinstance(caught.value, TypeError)


class Adding:
    """A value that knows what to do with tensors, though they do not know it."""

    __radd__ = __add__ = lambda self, other: "added"


def test_operators_refuse_what_is_no_value_as_tensorflow_does():
    x, variable, numbers = tf.constant([1.0]), tf.Variable([1.0]), tf.constant([1])
    for call in (
        lambda: x + None, lambda: None + x, lambda: x - None, lambda: x * None, lambda: x / None, lambda: x // None, lambda: x % None,
        lambda: x**None, lambda: x @ None, lambda: x < None, lambda: None >= x, lambda: variable + None, lambda: None * variable,
        lambda: numbers & None, lambda: tf.add(x, None), lambda: tf.function(lambda a: a + None)(x),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"Attempt to convert a value \(None\) with an unsupported type \(<class 'NoneType'>\) to a Tensor."):
            call()
    with pytest.raises(ValueError, match="unsupported type \\(<class 'object'>\\)"):
        x + object()
    assert (x == None) is False and (x != None) is True  # noqa: E711
    assert x + Adding() == Adding() + x == "added"
