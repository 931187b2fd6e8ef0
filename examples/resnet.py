"""A small ResNet for 32x32 pictures, with the functional interface: scripts/python examples/resnet.py [EPOCHS]"""
import sys

import numpy as np

import tandemflow as tf
from tandemflow.keras import layers


def pictures(count, seed=0):
    """Colour pictures of a disc, a square or a cross somewhere."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, count)
    row, column = np.mgrid[0:32, 0:32]
    dy, dx = (np.abs(axis - rng.uniform(8, 24, count)[:, None, None]) for axis in (row, column))
    discs, squares, crosses = np.hypot(dy, dx) < 6, np.maximum(dy, dx) < 5, np.minimum(dy, dx) < 2
    shapes = np.choose(labels[:, None, None], [discs, squares, crosses])
    colours = rng.uniform(0.3, 1, (count, 1, 1, 3))
    return (shapes[..., None] * colours + rng.normal(0, 0.1, (count, 32, 32, 3))).astype("float32"), labels


def block(x, filters, strides=1):
    """Two convolutions and a way around them, which is projected where the shape changes."""
    around = x
    y = layers.Conv2D(filters, 3, strides, padding="same", use_bias=False)(x)
    y = layers.ReLU()(layers.BatchNormalization()(y))
    y = layers.Conv2D(filters, 3, padding="same", use_bias=False)(y)
    y = layers.BatchNormalization()(y)
    if strides != 1 or x.shape[-1] != filters:
        around = layers.BatchNormalization()(layers.Conv2D(filters, 1, strides, use_bias=False)(x))
    return layers.ReLU()(layers.Add()([y, around]))


def resnet8(classes):
    inputs = tf.keras.Input((32, 32, 3))
    x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(16, 3, padding="same", use_bias=False)(inputs)))
    for filters, strides in [(16, 1), (32, 2), (64, 2)]:
        x = block(x, filters, strides)
    x = layers.GlobalAveragePooling2D()(x)
    return tf.keras.Model(inputs, layers.Dense(classes, activation="softmax")(x), name="resnet_8")


def main(epochs=3):
    tf.keras.utils.set_random_seed(1)
    model = resnet8(3)
    model.summary()
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(*pictures(480), epochs=epochs, batch_size=32)
    print(f"accuracy in training: {history.history['accuracy'][-1]:.3f}")


main(*map(int, sys.argv[1:]))
