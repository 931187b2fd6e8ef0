"""Jacobians, functions with gradients of their own, and what a tape has watched."""
import numpy as np
import pytest

import tandemflow as tf

X = tf.constant([[1.0, 2.0], [3.0, 4.0]])


def test_jacobians():
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(X)
        y = tf.reduce_sum(X * X, 1)
        z = X * X
    jacobian = tape.jacobian(y, X)
    assert jacobian.shape == (2, 2, 2) and jacobian.numpy().tolist() == [[[2, 4], [0, 0]], [[0, 0], [6, 8]]]
    assert tape.jacobian(y, {"x": X, "c": tf.constant(1.0)})["c"] is None
    rows = tape.batch_jacobian(z, X)
    assert rows.numpy().tolist() == [[[2, 0], [0, 4]], [[6, 0], [0, 8]]]
    with pytest.raises(ValueError, match="batch"):
        tape.batch_jacobian(z, tf.constant(1.0))


def test_a_function_may_say_its_gradient():
    @tf.custom_gradient
    def log1pexp(x):
        e = tf.exp(x)
        return tf.math.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))

    x = tf.constant(100.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = log1pexp(x)
    assert tape.gradient(y, x).numpy() == 1

    @tf.custom_gradient
    def two(x, y):
        return (x * y, x + y), lambda a, b: (a * 10, b * 100)

    with tf.GradientTape() as tape:
        tape.watch(X)
        p, q = two(X, X)
        total = tf.reduce_sum(p) + tf.reduce_sum(q * 2)
    assert tape.gradient(total, X).numpy().tolist() == [[210, 210], [210, 210]]


def test_a_gradient_may_reach_the_variables_of_its_function():
    w = tf.Variable(3.0)

    @tf.custom_gradient
    def scaled(x):
        def grad(dy, variables=None):
            assert variables[0] is w
            return dy * 5, [tf.reduce_sum(dy) * 7]

        return x * w, grad

    for function in (scaled, tf.function(scaled)):
        with tf.GradientTape() as tape:
            tape.watch(X)
            y = function(X)
        dx, dw = tape.gradient(y, [X, w])
        assert dx.numpy().tolist() == [[5, 5], [5, 5]] and dw.numpy() == 28

    @tf.custom_gradient
    def forgetful(x):
        return x * w, lambda dy: dy

    with tf.GradientTape() as tape:
        y = forgetful(X)
    with pytest.raises(TypeError, match="reads trainable variables"):
        tape.gradient(y, w)


def test_a_gradient_of_its_own_in_a_traced_function_can_be_differentiated_again():
    @tf.custom_gradient
    def log1pexp(x):
        e = tf.exp(x)
        return tf.math.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))

    def second(function):
        x = tf.constant(0.5)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = function(x)
            dx = inner.gradient(y, x)
        return dx.numpy(), outer.gradient(dx, x).numpy()

    e = np.exp(0.5)
    expected = (e / (1 + e), e / (1 + e) ** 2)
    for function in (log1pexp, tf.function(log1pexp)):
        np.testing.assert_allclose(second(function), expected, rtol=1e-5)


def test_errors_in_a_gradient_reach_the_caller():
    @tf.custom_gradient
    def broken(x):
        def grad(dy):
            raise KeyError("mine")

        return x * 2, grad

    with tf.GradientTape() as tape:
        tape.watch(X)
        y = broken(X)
    with pytest.raises(KeyError, match="mine"):
        tape.gradient(y, X)


def test_recomputing_gives_the_same_gradients():
    w = tf.Variable([[2.0, 1.0], [0.5, 3.0]])
    calls = []

    def layer(x):
        calls.append(1)
        return tf.nn.relu(tf.matmul(x, w)) * 2

    results = []
    for function in (layer, tf.recompute_grad(layer)):
        with tf.GradientTape() as tape:
            tape.watch(X)
            loss = tf.reduce_sum(function(X) ** 2)
        results.append([g.numpy() for g in tape.gradient(loss, [X, w])])
    assert len(calls) == 3
    for plain, again in zip(*results):
        np.testing.assert_array_equal(plain, again)


def test_watched_variables():
    v, frozen = tf.Variable(1.0, name="v"), tf.Variable(2.0, trainable=False)
    with tf.GradientTape() as tape:
        y = v * frozen
    assert [variable.name for variable in tape.watched_variables()] == ["v:0"]
    assert tape.gradient(y, tape.watched_variables()[0]).numpy() == 2
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        v * 2
    assert tape.watched_variables() == ()


def test_pausing_and_output_gradients():
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = X * 2
        with tape.stop_recording():
            y = y + X
    assert tape.gradient(y, X) is None
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = X * X
    assert tape.gradient(y, X, output_gradients=[[1.0, 0.0], [0.0, 10.0]]).numpy().tolist() == [[2, 0], [0, 80]]


def test_a_variable_may_be_the_argument():
    @tf.custom_gradient
    def softplus(z):
        return tf.math.log(1 + tf.exp(-tf.abs(z))) + tf.maximum(0.0, z), lambda grads: grads * (1 - 1 / (1 + tf.exp(z)))

    x = tf.Variable([1000.0])
    with tf.GradientTape() as tape:
        z = softplus(x)
    assert z.numpy().tolist() == [1000.0] and tape.gradient(z, x).numpy().tolist() == [1.0]


def test_a_variable_given_to_a_function_that_is_called_again_gets_its_gradient_once():
    v, w = tf.Variable([1.0, 2.0]), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = tf.recompute_grad(lambda x: tf.sin(x) * w)(v)
    of_v, of_w = tape.gradient(y, [v, w])
    np.testing.assert_allclose(of_v, 3 * np.cos([1.0, 2.0]), rtol=1e-6)
    np.testing.assert_allclose(of_w, np.sin([1.0, 2.0]).sum(), rtol=1e-6)


def test_what_a_function_takes_from_outside_counts_only_where_none_of_its_arguments_is_watched():
    """As TensorFlow: its ops are recorded, and its own gradient stands for them where a tape follows an argument."""
    x, w = tf.constant(2.0), tf.constant(3.0)

    @tf.custom_gradient
    def scaled(x):
        return x * w, lambda upstream: upstream * 100.0

    for watched, wanted in (([w], [None, 2.0]), ([x, w], [100.0, None])):
        with tf.GradientTape() as tape:
            tape.watch(watched)
            y = scaled(x)
        assert [None if one is None else one.numpy() for one in tape.gradient(y, [x, w])] == wanted
    with tf.GradientTape() as tape:
        tape.watch([x, w])
        y = scaled(x)
    assert tape.gradient(y, w) is None
