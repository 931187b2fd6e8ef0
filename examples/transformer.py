"""A transformer of two layers that learns to turn sequences round: scripts/python examples/transformer.py [EPOCHS]"""
import sys

import numpy as np

import tandemflow as tf
from tandemflow.keras import layers

LENGTH, WORDS, WIDTH = 8, 10, 48


class Positions(layers.Layer):
    """Adds to every element a vector that it learns for its place."""

    def build(self, input_shape):
        self.places = self.add_weight(shape=input_shape[1:], initializer="uniform", name="places")

    def call(self, x):
        return x + self.places


def transformer_layer(x):
    attention = layers.MultiHeadAttention(num_heads=4, key_dim=WIDTH // 4)(x, x)
    x = layers.LayerNormalization()(x + attention)
    hidden = layers.Dense(2 * WIDTH, activation="gelu")(x)
    return layers.LayerNormalization()(x + layers.Dense(WIDTH)(hidden))


def transformer():
    inputs = tf.keras.Input((LENGTH,), dtype="int32")
    x = Positions()(layers.Embedding(WORDS, WIDTH)(inputs))
    for _ in range(2):
        x = transformer_layer(x)
    return tf.keras.Model(inputs, layers.Dense(WORDS, activation="softmax")(x), name="transformer")


def main(epochs=6):
    tf.keras.utils.set_random_seed(1)
    x = np.random.default_rng(0).integers(0, WORDS, (2048, LENGTH))
    model = transformer()
    model.summary()
    model.compile(optimizer=tf.keras.optimizers.Adam(3e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(x, x[:, ::-1], epochs=epochs, batch_size=64)
    print(x[0], "becomes", model.predict(x[:1], verbose=0)[0].argmax(axis=-1))
    print(f"words in their place: {history.history['accuracy'][-1]:.3f}")


main(*map(int, sys.argv[1:]))
