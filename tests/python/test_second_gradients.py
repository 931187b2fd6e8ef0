"""Gradients of gradients through layers: Hessian-vector products and gradient penalties, against finite differences."""
import numpy as np
import pytest
import tandemflow as tf
from tandemflow import keras

_L = keras.layers

MODELS = {
    "mlp": (lambda: [_L.Dense(5, "tanh"), _L.LayerNormalization(), _L.Dense(4, "gelu"), _L.Dense(1)], (6, 3)),
    "cnn": (
        lambda: [_L.Conv2D(3, 3, strides=2, padding="same"), _L.BatchNormalization(), _L.Activation("elu"), _L.DepthwiseConv2D(2),
                 _L.AveragePooling2D(2), _L.Conv2DTranspose(2, 2), _L.MaxPooling2D(2), _L.GlobalAveragePooling2D(), _L.Dense(1)],
        (3, 8, 8, 2),
    ),
    "lstm": (lambda: [_L.LSTM(4, return_sequences=True), _L.GRU(3, return_sequences=True), _L.SimpleRNN(3), _L.Dense(1)], (2, 5, 3)),
}  # fmt: skip


def _model(name):
    layers, shape = MODELS[name]
    keras.utils.set_random_seed(1)
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("float64")
    try:
        model = keras.Sequential(layers())
        x = tf.constant(np.random.default_rng(0).normal(size=shape))
        model(x)
    finally:
        keras.config.set_dtype_policy(policy)
    return model, x


def _directions(variables):
    rng = np.random.default_rng(2)
    return [tf.constant(rng.normal(size=v.shape)) for v in variables]


def _moved(variables, directions, step):
    for variable, direction in zip(variables, directions):
        variable.assign_add(step * direction)


def _difference(f, variables, directions, step=1e-5):
    """The derivative of f along the directions."""
    _moved(variables, directions, step)
    above = f()
    _moved(variables, directions, -2 * step)
    below = f()
    _moved(variables, directions, step)
    return [(a - b).numpy() / (2 * step) for a, b in zip(above, below)]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("traced", [False, True])
def test_a_hessian_times_a_vector_is_the_change_of_the_gradient_along_it(name, traced):
    model, x = _model(name)
    weights = model.trainable_variables
    directions = _directions(weights)

    def gradients():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.exp(model(x, training=True)))
        return tape.gradient(loss, weights, unconnected_gradients="zero")

    def product():
        with tf.GradientTape() as tape:
            along = tf.add_n([tf.reduce_sum(g * d) for g, d in zip(gradients(), directions)])
        return tape.gradient(along, weights, unconnected_gradients="zero")

    expected = _difference(gradients, weights, directions)
    for got, wanted in zip((tf.function(product) if traced else product)(), expected):
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_the_gradient_of_a_gradient_penalty_is_its_derivative(name):
    critic, x = _model(name)
    weights = critic.trainable_variables

    def penalty():
        with tf.GradientTape() as tape:
            tape.watch(x)
            score = critic(x, training=True)
        by_x = tape.gradient(score, x)
        norm = tf.sqrt(tf.reduce_sum(tf.square(by_x), list(range(1, x.ndim))))
        return tf.reduce_mean(tf.square(norm - 1.0))

    with tf.GradientTape() as tape:
        value = penalty()
    gradients = tape.gradient(value, weights, unconnected_gradients="zero")
    directions = _directions(weights)
    along = sum(np.sum(g.numpy() * d.numpy()) for g, d in zip(gradients, directions))
    np.testing.assert_allclose(along, _difference(lambda: [penalty()], weights, directions)[0], rtol=1e-5)
