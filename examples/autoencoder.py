"""A convolutional autoencoder that takes noise out of pictures: scripts/python examples/autoencoder.py [EPOCHS]"""
import sys

import numpy as np

import tandemflow as tf
from tandemflow.keras import layers


def waves(count, seed=0):
    """28x28 pictures of waves, between 0 and 1."""
    rng = np.random.default_rng(seed)
    row, column = np.mgrid[0:28, 0:28] / 28
    a, b, phase = (rng.uniform(low, high, (count, 1, 1)) for low, high in ((1, 3), (1, 3), (0, 6.28)))
    return (np.sin(6.28 * (a * row + b * column) + phase) / 2 + 0.5)[..., None].astype("float32")


class Autoencoder(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = tf.keras.Sequential([
            layers.Conv2D(16, 3, strides=2, padding="same", activation="relu"),
            layers.Conv2D(8, 3, strides=2, padding="same", activation="relu"),
        ])
        self.decoder = tf.keras.Sequential([
            layers.Conv2DTranspose(8, 3, strides=2, padding="same", activation="relu"),
            layers.Conv2DTranspose(16, 3, strides=2, padding="same", activation="relu"),
            layers.Conv2D(1, 3, padding="same", activation="sigmoid"),
        ])

    def call(self, x):
        return self.decoder(self.encoder(x))


def main(epochs=5):
    tf.keras.utils.set_random_seed(1)
    clean = waves(1000)
    noisy = clean + np.random.default_rng(1).normal(0, 0.3, clean.shape).astype("float32")
    model = Autoencoder()
    model.compile(optimizer=tf.keras.optimizers.Adam(3e-3), loss="mse")
    model.fit(noisy, clean, epochs=epochs, batch_size=50)
    model.summary()
    before, after = np.mean((noisy - clean) ** 2), np.mean((model.predict(noisy, verbose=0) - clean) ** 2)
    print(f"noise left: {after / before:.3f}")


main(*map(int, sys.argv[1:]))
