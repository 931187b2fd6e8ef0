"""Variables and gradient tapes."""
import math
import threading

import numpy as np
import pytest

import tandemflow as tf


def test_gradients_are_those_computed_by_hand():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x + 2.0 * x + tf.exp(x) / x
    expected = 2 * 3 + 2 + np.exp(3) / 3 - np.exp(3) / 9
    assert tape.gradient(y, x).numpy() == pytest.approx(expected, rel=1e-6)


def test_sources_may_be_nested():
    a, b = tf.Variable(2.0), tf.Variable(5.0)
    with tf.GradientTape() as tape:
        y = a * b
    grads = tape.gradient(y, {"a": a, "rest": [b, (a,), tf.constant(1.0)]})
    assert float(grads["a"]) == 5 and float(grads["rest"][0]) == 2 and float(grads["rest"][1][0]) == 5
    assert grads["rest"][2] is None


def test_targets_are_summed_and_weighted():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = x * x, 3.0 * x
    assert tape.gradient([y, z], x).numpy().tolist() == [5, 7]
    assert tape.gradient(y, x, output_gradients=tf.constant([1.0, 10.0])).numpy().tolist() == [2, 40]
    assert tape.gradient(y, x, output_gradients=[1, 10]).numpy().tolist() == [2, 40]


def test_unconnected_sources_are_none_or_zero():
    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        y = tf.constant(1.0) * 2.0
    assert tape.gradient(y, [v]) == [None]
    assert tape.gradient(y, v, unconnected_gradients="zero").numpy().tolist() == [0, 0]
    assert tape.gradient(y, v, unconnected_gradients=tf.UnconnectedGradients.ZERO).numpy().tolist() == [0, 0]


def test_a_tape_gives_gradients_once_unless_it_is_persistent():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(RuntimeError):
        tape.gradient(y, x)


def test_recording_can_be_interrupted():
    x = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
        with tape.stop_recording():
            z = y * x
        w = y + 1.0
    assert tape.gradient(z, x) is None and float(tape.gradient(w, x)) == 6
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        y = x * x
    assert tape.gradient(y, x) is None


def test_tapes_nest_for_second_derivatives():
    x = tf.Variable(2.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x * x * x
        first = inner.gradient(y, x)
    assert float(first) == 12 and float(outer.gradient(first, x)) == 12


def test_stop_gradient_stops_it():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * tf.stop_gradient(x)
    assert float(tape.gradient(y, x)) == 2


def test_an_exception_in_the_block_leaves_no_tape_behind():
    x = tf.Variable(2.0)
    with pytest.raises(KeyError):
        with tf.GradientTape():
            raise KeyError
    with tf.GradientTape() as tape:
        y = x * x
    assert float(tape.gradient(y, x)) == 4


def test_watching_integers_warns():
    with tf.GradientTape() as tape, pytest.warns(UserWarning, match="floating"):
        tape.watch(tf.constant([1, 2]))


def test_variables_are_assigned_and_compute_like_tensors():
    v = tf.Variable([1.0, 2.0], name="weights")
    before = v.value()
    assert v.assign_add([1, 1]) is v
    v.assign_sub(tf.constant([0.5, 0.5]))
    assert v.numpy().tolist() == [1.5, 2.5] and before.numpy().tolist() == [1, 2]
    v.assign([7, 8])
    assert (v + 1).numpy().tolist() == [8, 9] and (1 - v).numpy().tolist() == [-6, -7] and float(v[0]) == 7
    assert tf.add(v, v).numpy().tolist() == [14, 16] and tf.reduce_sum(v).numpy() == 15 and len(v) == 2
    assert np.asarray(v).tolist() == [7, 8] and (v == v).numpy().all() and v.ref() == v.ref()
    assert (v.name, v.dtype, v.shape, v.trainable) == ("weights:0", tf.float32, (2,), True)
    assert tf.Variable(lambda: tf.ones(2), trainable=False, dtype=tf.float32).trainable is False


@pytest.mark.parametrize("bad", [[1.0, 2.0, 3.0], "text", None, [[1.0, 2.0]]])
def test_a_variable_refuses_what_does_not_fit(bad):
    v = tf.Variable([1.0, 2.0])
    with pytest.raises((ValueError, TypeError)):
        v.assign(bad)
    assert v.numpy().tolist() == [1, 2]


def test_a_line_is_fitted():
    x = tf.constant([0.0, 1.0, 2.0, 3.0])
    y = 2 * x + 1
    w, b = tf.Variable(0.0), tf.Variable(0.0)
    for _ in range(200):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(w * x + b - y))
        dw, db = tape.gradient(loss, [w, b])
        w.assign_add(-0.1 * dw)
        b.assign_add(-0.1 * db)
    np.testing.assert_allclose((w * x + b).numpy(), y.numpy(), atol=2e-2)


def test_threads_have_tapes_of_their_own():
    results = [None] * 8

    def work(i):
        x = tf.Variable(float(i))
        for _ in range(50):
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(x * tf.ones((100, 200)))  # large enough to run without the interpreter's lock
            results[i] = float(tape.gradient(y, x))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [20000.0] * 8


def test_gradients_at_zeros_and_steps_are_those_of_tensorflow():
    def gradient(f, *values):
        x = tf.constant(values)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    for step in (tf.floor, tf.math.ceil, tf.round):
        assert gradient(step, 1.5) is None
    np.testing.assert_array_equal(gradient(tf.math.cumprod, 1.0, 0.0, 3.0), [1.0, 0.0, 0.0])
    np.testing.assert_allclose(gradient(tf.nn.selu, 0.0, 1.0), [1.0507009, 1.0507009], rtol=1e-6)


def test_remainders_are_right_where_the_quotient_has_more_digits_than_a_float():
    x = np.array([1e8 + 8, 123456789.0, -987654321.0, 3e13], "float32")
    np.testing.assert_array_equal(tf.math.floormod(x, np.float32(3)), np.mod(x.astype("float64"), 3).astype("float32"))


def test_a_variable_has_the_gradient_one_with_respect_to_itself():
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = v * 4.0
    assert [g if g is None else g.numpy() for g in tape.gradient(v, [v, w])] == [1, None]
    assert tape.gradient([y, v], v).numpy() == 5
    assert tape.gradient(v, v, output_gradients=tf.constant(7.0)).numpy() == 7
    with tf.GradientTape(persistent=True) as tape:
        chosen = v if y > 0 else w  # neither is read
    assert tape.gradient(chosen, v).numpy() == 1 and tape.gradient(chosen, w) is None
    assert [g.numpy() for g in tape.gradient(chosen, [v, w], unconnected_gradients=tf.UnconnectedGradients.ZERO)] == [1, 0]


def test_only_tensors_and_variables_are_watched():
    with tf.GradientTape() as tape:
        for wrong in ("a", 3.0, [1]):
            with pytest.raises(ValueError, match="not tf.Tensor or tf.Variable"):
                tape.watch(wrong)


def test_derivatives_forwards_are_those_of_the_tape():
    x, direction = tf.constant([1.0, 2.0, 3.0]), tf.constant([1.0, 0.0, -1.0])
    with tf.autodiff.ForwardAccumulator(x, direction) as accumulator:
        y, z = tf.reduce_sum(x**3), tf.sin(x)
    assert accumulator.jvp(y).numpy() == 3 - 27
    np.testing.assert_allclose(accumulator.jvp({"z": z})["z"], np.cos(x) * direction, rtol=1e-6)
    assert accumulator.jvp(tf.constant(1.0)) is None and accumulator.jvp(tf.constant(1.0), tf.UnconnectedGradients.ZERO).numpy() == 0


def test_the_hessian_times_a_vector_is_a_derivative_forwards_of_a_gradient():
    v = tf.Variable([1.0, 2.0])
    with tf.autodiff.ForwardAccumulator(v, tf.constant([1.0, 0.0])) as accumulator:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(v**3)
        gradient = tape.gradient(y, v)
    assert accumulator.jvp(gradient).numpy().tolist() == [6, 0]
    with pytest.raises(ValueError, match=r"shape \(2,\) has a tangent of shape \(3,\)"):
        tf.autodiff.ForwardAccumulator(v, tf.ones([3]))


IMAGES = np.random.default_rng(0).normal(size=(1, 4, 4, 2)).astype("float32")
STEPS = np.array([-4.0, -0.7, 0.3, 7.0], "float32")


@pytest.mark.parametrize("name,function,x", [
    *((f.__name__, f, STEPS) for f in (tf.nn.relu, tf.nn.relu6, tf.nn.leaky_relu, tf.nn.crelu, tf.keras.activations.hard_sigmoid, tf.abs)),
    ("max_pool2d", lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID"), IMAGES),
    ("max_pool1d", lambda x: tf.nn.max_pool1d(x[0], 2, 2, "VALID"), IMAGES),
    ("max_pool3d", lambda x: tf.nn.max_pool3d(x[:, None], [1, 2, 2], [1, 2, 2], "VALID"), IMAGES),
])  # fmt: skip
def test_second_gradients_of_what_is_piecewise_linear_are_zeros_and_not_none(name, function, x):
    def second(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = function(x)
            dx = inner.gradient(y, x)
        return outer.gradient(dx, x)

    for run in (second, tf.function(second)):
        np.testing.assert_array_equal(run(tf.constant(x)), np.zeros_like(x), err_msg=name)


def test_first_gradients_of_activations_with_corners_are_steps():
    x = tf.constant([-4.0, 0.0, 2.0, 6.0, 7.0, math.nan])
    for function, expected in [
        (tf.nn.relu6, [0, 0, 1, 0, 0, 0]),
        (lambda v: tf.keras.activations.soft_shrink(v, 2.0), [1, 0, 0, 1, 1, 0]),
        (tf.keras.activations.hard_sigmoid, [0, 1 / 6, 1 / 6, 0, 0, 0]),
        (lambda v: tf.nn.leaky_relu(v, 0.25), [0.25, 0.25, 1, 1, 1, 0.25]),
    ]:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        np.testing.assert_allclose(tape.gradient(y, x), expected, rtol=1e-6)


def test_lgamma_has_gradients_of_every_order():
    x = tf.constant([0.3, 1.0, 4.5], tf.float64)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        orders = [tf.math.lgamma(x)]
        for _ in range(4):
            orders.append(tape.gradient(orders[-1], x))
    zeta3 = 1.2020569031595942
    np.testing.assert_allclose(orders[3][1], -2 * zeta3, rtol=1e-12)
    for order in (3, 4):
        n = order - 1  # lgamma's derivative of this order is the polygamma function n
        k = np.arange(200000)[:, None] + x.numpy()
        expected = (-1) ** (n + 1) * math.factorial(n) * ((k ** -(n + 1.0)).sum(0) + (k[-1] + 0.5) ** -n / n)
        np.testing.assert_allclose(orders[order], expected, rtol=1e-9)


def test_acosh_has_no_gradient_where_it_has_no_value():
    x = tf.constant([-2.0, 0.5, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.math.acosh(x)
    np.testing.assert_allclose(tape.gradient(y, x), [math.nan, math.nan, 3**-0.5], rtol=1e-6)


def test_a_tape_follows_what_a_traced_function_takes_from_outside():
    x, v = tf.constant([2.0, 3.0]), tf.Variable([1.0, 1.0])
    squares = tf.function(lambda: x * x * v)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = squares()
        dx, dv = tape.gradient(y, [x, v])
    assert dx.numpy().tolist() == [4, 6] and dv.numpy().tolist() == [4, 9]
    assert outer.gradient(dx, x).numpy().tolist() == [2, 2]
    with tf.GradientTape() as tape:
        y = squares()
    assert tape.gradient(y, x) is None  # which it does not watch now
    with tf.GradientTape() as tape:
        tape.watch(x)
        doubled = x * 2.0
        total = tf.function(lambda factor: tf.reduce_sum(factor * doubled))(tf.ones([3, 2]))
    assert tape.gradient(total, x).numpy().tolist() == [6, 6]


def test_a_tape_cannot_be_entered_while_it_records():
    with tf.GradientTape() as tape:
        with pytest.raises(ValueError, match="still recording"):
            with tape:
                pass


def test_gradients_are_asked_of_and_by_tensors():
    v = tf.Variable(1.0)
    for wrong in (("a", v), (None, v), (v, [v, "a"]), (v, None)):
        with tf.GradientTape() as tape:
            v * v
        with pytest.raises(TypeError, match="must be tensors or variables"):
            tape.gradient(*wrong)
