"""LeNet-5 on small pictures: scripts/python examples/lenet.py [EPOCHS]"""
import sys

import numpy as np

import tandemflow as tf
from tandemflow.keras import layers


def pictures(count, seed=0):
    """28x28 pictures of a bar in one of ten directions, with noise."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, count)
    row, column = np.mgrid[-13.5:14, -13.5:14]
    angle = labels[:, None, None] * np.pi / 10
    distance = np.abs(row * np.cos(angle) - column * np.sin(angle))
    x = (distance < 2) + rng.normal(0, 0.3, (count, 28, 28))
    return x[..., None].astype("float32"), labels


def lenet5():
    return tf.keras.Sequential([
        layers.Input((28, 28, 1)),
        layers.Conv2D(6, 5, padding="same", activation="tanh"),
        layers.AveragePooling2D(2),
        layers.Conv2D(16, 5, activation="tanh"),
        layers.AveragePooling2D(2),
        layers.Flatten(),
        layers.Dense(120, activation="tanh"),
        layers.Dense(84, activation="tanh"),
        layers.Dense(10, activation="softmax"),
    ], name="lenet_5")


def main(epochs=3):
    tf.keras.utils.set_random_seed(1)
    model = lenet5()
    model.summary()
    model.compile(optimizer=tf.keras.optimizers.SGD(0.05, momentum=0.9), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(*pictures(2000), epochs=epochs, batch_size=64, validation_data=pictures(500, seed=1))
    print(f"accuracy on pictures it has not seen: {history.history['val_accuracy'][-1]:.3f}")


main(*map(int, sys.argv[1:]))
