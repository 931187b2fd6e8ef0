"""Functions whose sizes depend on values cannot be traced; they run op by op, and say so once."""
import logging

import numpy as np
import pytest
import tandemflow as tf

X = tf.constant([3, 1, 2, 1])


@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda x: tf.boolean_mask(x, x > 1), [3, 2]),
        (lambda x: tf.unique(x)[0], [3, 1, 2]),
        (lambda x: tf.where(x > 1), [[0], [2]]),
        (lambda x: tf.zeros([x[1]]), [0]),
        (lambda x: tf.range(x[0]), [0, 1, 2]),
        (lambda x: x[: x[2]], [3, 1]),
        (lambda x: tf.reshape(x, [x[2], -1]), [[3, 1], [2, 1]]),
        (lambda x: tf.repeat(x, x), [3, 3, 3, 1, 2, 2, 1]),
    ],
)
def test_sizes_that_depend_on_values(function, expected):
    assert tf.function(function)(X).numpy().tolist() == expected


def test_it_is_said_once_with_the_line(caplog):
    @tf.function
    def chosen(x):
        return tf.boolean_mask(x, x > 1)  # the line

    with caplog.at_level(logging.WARNING, "tandemflow"):
        assert chosen(X).numpy().tolist() == chosen(X).numpy().tolist() == [3, 2]
    told = [record.getMessage() for record in caplog.records if "op by op" in record.getMessage()]
    assert len(told) == 1 and "tf.function chosen" in told[0] and "test_op_by_op.py, `return tf.boolean_mask(x, x > 1)  # the line`" in told[0]


def test_a_function_around_one_and_gradients():
    weight = tf.Variable(2.0)
    inner = tf.function(lambda x: tf.boolean_mask(x, x > 1.0) * weight)
    outer = tf.function(lambda x: tf.reduce_sum(inner(x)))
    with tf.GradientTape() as tape:
        loss = outer(tf.constant([3.0, 1.0, 2.0]))
    assert loss.numpy() == 10 and tape.gradient(loss, weight).numpy() == 5


def test_what_the_users_own_lines_read_stays_an_error():
    with pytest.raises(tf.errors.FailedPreconditionError, match="E0701.*x.numpy"):
        tf.function(lambda x: x.numpy())(X)


def test_variables_may_be_made_of_drawn_numbers_at_the_first_call():
    class Dense(tf.Module):
        w = None

        @tf.function
        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable(tf.random.normal([x.shape[-1], 2]))
                self.b = tf.Variable(tf.keras.initializers.GlorotUniform()([2, 2]))
            return x @ self.w @ self.b

    layer = Dense()
    first = layer(tf.ones([1, 3])).numpy()
    np.testing.assert_array_equal(layer(tf.ones([1, 3])).numpy(), first)
    assert layer.__call__.experimental_get_tracing_count() == 1  # the second call found the variables
    layer.w.assign(tf.zeros([3, 2]))
    assert layer(tf.ones([1, 3])).numpy().tolist() == [[0, 0]]


def test_training_steps_with_chosen_rows(caplog):
    def loss_of_some(y, p):
        return tf.reduce_mean(tf.square(tf.boolean_mask(p - y, y[:, 0] > 0)))

    def fitted(loss, eagerly):
        tf.keras.utils.set_random_seed(1)
        model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1)])
        model.compile("sgd", loss, run_eagerly=eagerly)
        x, y = np.random.default_rng(0).normal(size=(8, 3)), np.random.default_rng(1).normal(size=(8, 1))
        history = model.fit(x, y, batch_size=4, epochs=2, shuffle=False, verbose=0).history["loss"]
        return history, model.evaluate(x, y, verbose=0), model.get_weights()[0]

    with caplog.at_level(logging.WARNING, "tandemflow"):
        ours = fitted(loss_of_some, False)
    for a, b in zip(ours, fitted(loss_of_some, True)):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    assert any("train step runs op by op" in record.getMessage() for record in caplog.records)


AXES = {
    "reduce_sum": (lambda x, axis: tf.reduce_sum(x, axis), 6.0), "concat": (lambda x, axis: tf.concat([x, x], axis), 12.0),
    "softmax": (lambda x, axis: tf.nn.softmax(x, axis), 3.0), "a list of axes": (lambda x, axis: tf.reduce_sum(x, [axis, 0]), 6.0),
    "a range of axes": (lambda x, axis: tf.reduce_sum(x, tf.range(tf.rank(x))), 6.0),
}  # fmt: skip


@pytest.mark.parametrize("kind", AXES)
@pytest.mark.parametrize("signature", [None, [tf.TensorSpec([None, None]), tf.TensorSpec([], tf.int32)]], ids=["any", "open sizes"])
def test_an_axis_may_be_computed(kind, signature):
    function, total = AXES[kind]
    x = tf.ones([3, 2])
    made = tf.function(function, input_signature=signature)(x, tf.constant(1))
    assert made.shape == function(x, 1).shape and float(tf.reduce_sum(made)) == pytest.approx(total)
