"""Two towers, one for people and one for things, whose outputs meet in a product: scripts/python examples/two_tower.py [EPOCHS]

Named inputs of different dtypes, an embedding, shared nothing, one output: what the functional interface is for.
"""
import sys

import numpy as np

import tandemflow as tf
from tandemflow.keras import layers

PEOPLE, THINGS, TRAITS = 60, 40, 8


def two_towers():
    person = tf.keras.Input((), dtype="int32", name="person")
    thing = tf.keras.Input((TRAITS,), name="thing")
    taste = layers.Dense(16)(layers.Embedding(PEOPLE, 16)(person))
    nature = layers.Dense(16)(layers.Dense(32, activation="relu")(thing))
    likes = layers.Activation("sigmoid", name="likes")(layers.Dot(axes=1)([taste, nature]))
    return tf.keras.Model({"person": person, "thing": thing}, likes, name="two_towers")


def evenings(count):
    """Who liked what: people have a taste for traits that nobody tells the model."""
    rng = np.random.default_rng(0)
    tastes, traits = rng.normal(size=(PEOPLE, TRAITS)), rng.normal(size=(THINGS, TRAITS)).astype("float32")
    person, thing = rng.integers(0, PEOPLE, count), rng.integers(0, THINGS, count)
    liked = (tastes[person] * traits[thing]).sum(axis=1) > 0
    return {"person": person, "thing": traits[thing]}, liked.astype("float32")[:, None]


def main(epochs=8):
    tf.keras.utils.set_random_seed(1)
    model = two_towers()
    model.summary()
    model.compile(optimizer=tf.keras.optimizers.Adam(0.01), loss="binary_crossentropy", metrics=["accuracy"])
    history = model.fit(*evenings(6000), epochs=epochs, batch_size=64, validation_split=0.2)
    print(f"evenings foretold: {history.history['val_accuracy'][-1]:.3f}")


main(*map(int, sys.argv[1:]))
