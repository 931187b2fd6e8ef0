"""A character LSTM that learns a text and goes on writing: scripts/python examples/char_lstm.py [EPOCHS]"""
import sys

import numpy as np

import tandemflow as tf
from tandemflow.keras import layers

TEXT = "the wheel turns and the water runs and the mill goes round and the flour falls down. " * 40
LENGTH = 24


def character_lstm(characters):
    return tf.keras.Sequential([
        layers.Input((LENGTH,)),
        layers.Embedding(characters, 16),
        layers.LSTM(64, return_sequences=True),
        layers.Dense(characters),
    ], name="character_lstm")


def write(model, alphabet, begin, count):
    """The likeliest character, again and again."""
    text = begin
    for _ in range(count):
        codes = [[alphabet.index(c) for c in text[-LENGTH:]]]
        logits = model.predict(np.array(codes), verbose=0)
        text += alphabet[int(logits[0, -1].argmax())]
    return text


def main(epochs=6):
    tf.keras.utils.set_random_seed(1)
    alphabet = sorted(set(TEXT))
    codes = np.array([alphabet.index(c) for c in TEXT])
    windows = np.lib.stride_tricks.sliding_window_view(codes, LENGTH + 1)[::2]
    model = character_lstm(len(alphabet))
    model.summary()
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=tf.keras.optimizers.Adam(0.01), loss=loss, metrics=["accuracy"])
    history = model.fit(windows[:, :-1], windows[:, 1:], epochs=epochs, batch_size=64)
    print(write(model, alphabet, TEXT[:LENGTH], 40))
    print(f"characters foretold: {history.history['accuracy'][-1]:.3f}")


main(*map(int, sys.argv[1:]))
