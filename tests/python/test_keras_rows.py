"""Gradients of embeddings: a row that a batch names twice counts twice in the squares that optimizers keep, as in Keras."""
import numpy as np
import pytest
import tandemflow as tf
from tandemflow import keras

O = keras.optimizers
MADE = {
    "adam": lambda: O.Adam(0.1), "adamw": lambda: O.AdamW(0.1, weight_decay=0.2), "amsgrad": lambda: O.Adam(0.1, amsgrad=True),
    "rmsprop": lambda: O.RMSprop(0.1, momentum=0.5), "adagrad": lambda: O.Adagrad(0.1), "adadelta": lambda: O.Adadelta(10.0),
    "adamax": lambda: O.Adamax(0.1), "nadam": lambda: O.Nadam(0.1), "ftrl": lambda: O.Ftrl(0.1), "lamb": lambda: O.Lamb(0.1),
    "adafactor": lambda: O.Adafactor(0.1), "lion": lambda: O.Lion(0.1), "sgd": lambda: O.SGD(0.1), "clipnorm": lambda: O.SGD(0.1, clipnorm=1.0),
    "global_clipnorm": lambda: O.SGD(0.1, global_clipnorm=1.0), "clipvalue": lambda: O.SGD(0.1, clipvalue=1.0),
    "adam clipnorm": lambda: O.Adam(0.1, clipnorm=1.0), "adam global_clipnorm": lambda: O.Adam(0.1, global_clipnorm=1.0),
    "adam clipvalue": lambda: O.Adam(0.1, clipvalue=1.0), "adagrad global_clipnorm": lambda: O.Adagrad(0.1, global_clipnorm=1.0),
    "adamax clipnorm": lambda: O.Adamax(0.1, clipnorm=1.0), "adamax global_clipnorm": lambda: O.Adamax(0.1, global_clipnorm=1.0),
    "adamax clipvalue": lambda: O.Adamax(0.1, clipvalue=1.0), "rmsprop global_clipnorm": lambda: O.RMSprop(0.1, momentum=0.5, global_clipnorm=1.0),
}  # fmt: skip
# What Keras 3.15 makes of the rows in the three steps below.
OF_KERAS = {
    "adam": [0.60084, 1.30049, 1.0],
    "adamw": [0.5508, 1.23568, 0.94119],
    "amsgrad": [0.60084, 1.30049, 1.0],
    "rmsprop": [-0.12993, 2.17451, 1.0],
    "adagrad": [0.71049, 1.23575, 1.0],
    "adadelta": [0.94304, 1.04324, 1.0],
    "adamax": [0.7155, 1.28814, 1.0],
    "nadam": [0.67578, 1.26252, 1.0],
    "ftrl": [0.64699, 1.18064, 0.0],
    "lamb": [0.58635, 1.31155, 1.0],
    "adafactor": [0.62472, 1.3105, 1.0],
    "lion": [0.7, 1.3, 1.0],
    "sgd": [0.064, 4.096, 1.0],
    "clipnorm": [0.78393, 1.2525, 1.0],
    "global_clipnorm": [0.78393, 1.2525, 1.0],
    "clipvalue": [0.4, 1.3, 1.0],
    "adam clipnorm": [0.60167, 1.30042, 1.0],
    "adam global_clipnorm": [0.70231, 1.30039, 1.0],
    "adam clipvalue": [0.57574, 1.3, 1.0],
    "adagrad global_clipnorm": [0.79392, 1.22204, 1.0],
    "adamax clipnorm": [0.71997, 1.29256, 1.0],
    "adamax global_clipnorm": [0.71997, 1.29256, 1.0],
    "adamax clipvalue": [0.7, 1.3, 1.0],
    "rmsprop global_clipnorm": [0.11827, 2.12794, 1.0],
}  # fmt: skip


def one_step(layer, optimizer):
    with tf.GradientTape() as tape:
        rows = layer(np.array([0, 0, 1]))
        loss = tf.reduce_sum(rows**2 * tf.constant([[1.0], [2.0], [-3.0]]))
    optimizer.apply_gradients(zip(tape.gradient(loss, layer.trainable_variables), layer.trainable_variables))


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
@pytest.mark.parametrize("name", OF_KERAS)
def test_steps_along_rows_that_are_named_twice_are_those_of_keras(name, traced):
    layer, optimizer = keras.layers.Embedding(3, 1, embeddings_initializer="ones"), MADE[name]()
    layer.build()
    optimizer.build(layer.trainable_variables)
    step = tf.function(lambda: one_step(layer, optimizer)) if traced else lambda: one_step(layer, optimizer)
    for _ in range(3):
        step()
    np.testing.assert_allclose(layer.get_weights()[0].ravel(), OF_KERAS[name], atol=2e-5)


def test_the_velocity_of_adam_is_the_mean_of_the_squares_of_the_rows():
    layer, optimizer = keras.layers.Embedding(3, 1, embeddings_initializer="ones"), O.Adam(0.1, beta_2=0.9)
    layer.build()
    one_step(layer, optimizer)
    velocity = next(v for v in optimizer.variables if "velocity" in v.path)
    np.testing.assert_allclose(velocity.numpy().ravel(), [0.1 * (2**2 + 4**2), 0.1 * 6**2, 0], rtol=1e-5)
