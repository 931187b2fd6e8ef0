"""Ops under TensorFlow's names."""
import inspect

import numpy as np
import pytest

import tandemflow as tf

A = tf.constant([[1.0, 2.0], [3.0, 4.0]])


def values(tensor):
    return tensor.numpy().tolist()


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("A + A", [[2, 4], [6, 8]]), ("A - 1", [[0, 1], [2, 3]]), ("1 - A", [[0, -1], [-2, -3]]),
        ("A * A", [[1, 4], [9, 16]]), ("A / 2", [[0.5, 1], [1.5, 2]]), ("2 / A[0]", [2, 1]), ("A ** 2", [[1, 4], [9, 16]]),
        ("2 ** A[0]", [2, 4]), ("-A", [[-1, -2], [-3, -4]]), ("+A", [[1, 2], [3, 4]]), ("abs(-A)", [[1, 2], [3, 4]]),
        ("A @ A", [[7, 10], [15, 22]]), ("A // 2", [[0, 1], [1, 2]]), ("A % 2", [[1, 0], [1, 0]]),
        ("tf.constant([-7, 7]) // 2", [-4, 3]), ("tf.constant([-7, 7]) % 3", [2, 1]), ("tf.constant([7]) % -3", [-2]),
        ("7 // tf.constant([2])", [3]), ("tf.constant([7]) / 2", [3.5]),
        ("A < 2", [[True, False], [False, False]]), ("A <= 2", [[True, True], [False, False]]),
        ("A > 2", [[False, False], [True, True]]), ("2 >= A", [[True, True], [False, False]]),
        ("A == [1, 2]", [[True, True], [False, False]]), ("A != 1", [[False, True], [True, True]]),
        ("~(A > 2)", [[True, True], [False, False]]), ("(A > 1) & (A < 4)", [[False, True], [True, False]]),
        ("(A < 2) | (A > 3)", [[True, False], [False, True]]),
    ],
)  # fmt: skip
def test_operators(expression, expected):
    assert values(eval(expression)) == expected


def test_integers_divide_to_float64():
    assert (tf.constant(7) / 2).dtype is tf.float64


def test_equality_of_other_shapes_has_an_answer():
    assert not (tf.constant([1, 2]) == tf.constant([1, 2, 3]))
    assert tf.constant([1, 2]) != tf.constant([1, 2, 3])
    assert (tf.constant(1) == None) is False  # noqa: E711
    assert values(tf.constant(["a", "b"]) == "a") == [True, False]


def test_other_classes_may_take_over():
    class Mine:
        def __radd__(self, other):
            return "mine"

    assert A + Mine() == "mine"
    with pytest.raises(TypeError):
        A + object()


@pytest.mark.parametrize(
    "tensor, expected",
    [
        (tf.reduce_sum(A), 10), (tf.reduce_sum(A, 0), [4, 6]), (tf.reduce_sum(input_tensor=A, axis=-1, keepdims=True), [[3], [7]]),
        (tf.reduce_mean(A, axis=[0, 1]), 2.5), (tf.reduce_max(A, 1), [2, 4]), (tf.reduce_min(A, 1), [1, 3]),
        (tf.reduce_any(A > 3, 1), [False, True]), (tf.reduce_all(A > 2, 1), [False, True]),
        (tf.argmax(A), [1, 1]), (tf.argmax(A, axis=1, output_type=tf.int32), [1, 1]), (tf.argmin(A, 1), [0, 0]),
        (tf.math.reduce_sum(A), 10), (tf.math.add(A, A), [[2, 4], [6, 8]]), (tf.linalg.matmul(A, A, transpose_b=True), [[5, 11], [11, 25]]),
        (tf.nn.relu([-1.0, 2.0]), [0, 2]), (tf.math.floormod(7, 3), 1), (tf.clip_by_value(A, 2, 3), [[2, 2], [3, 3]]),
        (tf.transpose(A), [[1, 3], [2, 4]]), (tf.transpose(A, [0, 1]), [[1, 2], [3, 4]]),
        (tf.concat([A, A], axis=0), [[1, 2], [3, 4], [1, 2], [3, 4]]), (tf.concat([[1], [2]], 0), [1, 2]),
        (tf.stack([[1, 2], [3, 4]], axis=1), [[1, 3], [2, 4]]), (tf.unstack(A)[1], [3, 4]), (tf.split(A, 2, axis=1)[0], [[1], [3]]),
        (tf.split(tf.range(5), [2, -1])[1], [2, 3, 4]), (tf.tile([1, 2], [2]), [1, 2, 1, 2]), (tf.expand_dims([1, 2], 0), [[1, 2]]),
        (tf.squeeze([[1], [2]]), [1, 2]), (tf.squeeze([[[1], [2]]], axis=0), [[1], [2]]), (tf.reshape(A, [-1]), [1, 2, 3, 4]),
        (tf.pad([[1]], [[1, 0], [0, 2]], constant_values=9), [[9, 9, 9], [1, 9, 9]]), (tf.gather([5, 6, 7], [2, 0]), [7, 5]),
        (tf.gather(A, [1], axis=1), [[2], [4]]), (tf.one_hot([0, 2], 3), [[1, 0, 0], [0, 0, 1]]),
        (tf.one_hot([1], depth=2, on_value=5, off_value=-1, dtype=tf.int32), [[-1, 5]]), (tf.slice(A, [0, 1], [2, 1]), [[2], [4]]),
        (tf.where([True, False], 1.0, [5.0, 6.0]), [1, 6]), (tf.cast([1.7, -1.7], tf.int32), [1, -1]), (tf.range(5), [0, 1, 2, 3, 4]),
        (tf.range(1, 5, 2), [1, 3]), (tf.range(3.0), [0, 1, 2]), (tf.range(5, delta=2), [0, 2, 4]), (tf.linspace(0.0, 1.0, 3), [0, 0.5, 1]),
        (tf.fill([2], 3), [3, 3]), (tf.eye(2), [[1, 0], [0, 1]]), (tf.zeros_like([1, 2]), [0, 0]), (tf.ones_like(A, tf.int32), [[1, 1], [1, 1]]),
        (tf.shape(A), [2, 2]), (tf.size(A), 4), (tf.rank(A), 2), (tf.add_n([A, A, A])[0], [3, 6]), (tf.broadcast_to([1], [3]), [1, 1, 1]),
        (tf.nn.max_pool2d(tf.reshape(tf.range(16.0), [1, 4, 4, 1]), 2, 2, "VALID")[0, :, :, 0], [[5, 7], [13, 15]]),
        (tf.nn.conv2d(tf.ones([1, 3, 3, 1]), tf.ones([2, 2, 1, 1]), strides=[1, 2, 2, 1], padding="SAME")[0, :, :, 0], [[4, 2], [2, 1]]),
        (tf.nn.bias_add(A, [10, 20]), [[11, 22], [13, 24]]), (tf.add(1, 2), 3), (tf.add(x=[1], y=[2], name="sum"), [3]),
    ],
)  # fmt: skip
def test_ops_give(tensor, expected):
    assert values(tensor) == expected


def test_the_gradient_of_labels_that_do_not_add_up_to_one_is_tensorflows():
    # TensorFlow 2.21's answers; its kernel gives softmax - labels whatever the sum.
    labels = tf.constant([[0.5, 0.2, 0.9], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 1.0, -1.0]])
    logits = tf.constant([[1.0, 2.0, 0.5], [0.3, 0.2, 0.1], [1.0, 0.0, 2.0], [0.0, 1.0, 2.0]])
    expected = [[-0.26877612, 0.4285317, -0.7597556], [0.36716542, 0.332225, 0.30060962], [-0.75527155, 0.09003057, 0.66524094], [-1.9099694, -0.75527155, 1.665241]]
    for loss in (tf.nn.softmax_cross_entropy_with_logits, lambda a, b: tf.keras.losses.categorical_crossentropy(a, b, from_logits=True)):
        for run in (lambda f: f, tf.function):
            with tf.GradientTape() as tape:
                tape.watch(logits)
                value = run(loss)(labels, logits)
            np.testing.assert_allclose(value.numpy(), [2.5929902, 0.0, 1.4076059, 5.8152113], rtol=1e-5)
            np.testing.assert_allclose(tape.gradient(value, logits).numpy(), expected, rtol=1e-5)


def test_networks_functions_are_right():
    logits = tf.constant([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]])
    soft = np.exp(logits.numpy()) / np.exp(logits.numpy()).sum(1, keepdims=True)
    np.testing.assert_allclose(tf.nn.softmax(logits).numpy(), soft, rtol=1e-6)
    np.testing.assert_allclose(tf.nn.log_softmax(logits, axis=-1).numpy(), np.log(soft), rtol=1e-5)
    sparse = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[2, 0], logits=logits)
    np.testing.assert_allclose(sparse.numpy(), -np.log([soft[0, 2], soft[1, 0]]), rtol=1e-5)
    dense = tf.nn.softmax_cross_entropy_with_logits(labels=tf.one_hot([2, 0], 3), logits=logits)
    np.testing.assert_allclose(dense.numpy(), sparse.numpy(), rtol=1e-5)
    turned = tf.nn.softmax_cross_entropy_with_logits(tf.transpose(tf.one_hot([2, 0], 3)), tf.transpose(logits), axis=0)
    np.testing.assert_allclose(turned.numpy(), sparse.numpy(), rtol=1e-5)
    np.testing.assert_allclose(tf.nn.gelu([1.0]).numpy(), [0.841345], rtol=1e-5)
    np.testing.assert_allclose(tf.nn.gelu([1.0], approximate=True).numpy(), [0.841192], rtol=1e-5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="as long as"):
        tf.nn.bias_add(A, [1, 2, 3], data_format="NCHW")


def test_random_numbers_repeat_with_the_seed():
    tf.random.set_seed(3)
    a, b = tf.random.normal((100,), mean=5, stddev=0.1), tf.random.uniform((100,), 1, 2)
    tf.random.set_seed(3)
    assert np.array_equal(tf.random.normal((100,), 5, 0.1).numpy(), a.numpy())
    assert np.array_equal(tf.random.uniform((100,), minval=1, maxval=2).numpy(), b.numpy())
    assert 4.9 < a.numpy().mean() < 5.1 and 1 <= b.numpy().min() and b.numpy().max() < 2
    dice = tf.random.uniform((100,), 1, 7, dtype=tf.int32).numpy()
    assert set(dice) <= {1, 2, 3, 4, 5, 6}
    with pytest.raises(ValueError, match="maxval"):
        tf.random.uniform((2,), dtype=tf.int32)


def test_every_op_has_a_docstring_and_a_signature():
    from tandemflow import _ops

    for name, op in _ops.records.items():
        assert op.__name__ == name and len(op.__doc__) > 20
        parameters = inspect.signature(op).parameters
        assert list(parameters)[-1] == "name"
    assert str(inspect.signature(tf.add)) == "(x, y, name=None)"
    assert str(inspect.signature(tf.reduce_sum)) == "(input_tensor, axis=None, keepdims=False, name=None)"
    assert str(inspect.signature(tf.nn.conv2d)).startswith("(input, filters, strides, padding, data_format='NHWC'")


def test_device_scopes_nest_and_tell_what_was_asked():
    with tf.device("/CPU:0"):
        with tf.device(None):
            x = A + 1
        scope = tf.device("CPU:0")
        with scope, scope:
            y = A + 1
    assert tf.explain(y, verbose=False).requested == "/CPU:0" and tf.explain(x, verbose=False).device == "/CPU:0"
    assert x.device == "/job:localhost/replica:0/task:0/device:CPU:0"
    with pytest.raises(ValueError):
        tf.device("nonsense")


def test_a_missing_device_is_replaced_or_refused():
    absent = "/GPU:7"
    with tf.device(absent):
        assert values(tf.constant([1]) + 1) == [2]
    assert tf.config.get_soft_device_placement() is True
    tf.config.set_soft_device_placement(False)
    try:
        with pytest.raises(tf.errors.InvalidArgumentError), tf.device(absent):
            tf.constant([1]) + 1
    finally:
        tf.config.set_soft_device_placement(True)
    assert values(tf.constant([1]) + 1) == [2]  # the scope is left even though an op failed in it


def test_explanations_can_be_read():
    why = tf.explain(tf.matmul(A, A), verbose=False)
    assert why.op == "matmul" and why.kernel and why.reason and why["text"] == str(why)
    assert any(c["accepted"] and c["kernel"] == why.kernel for c in why.candidates)
    assert [d.op for d in tf.last_decisions(1)] == ["matmul"]
