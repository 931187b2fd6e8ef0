"""Writes tests/data/saved_models with TensorFlow: directories of tf.saved_model.save and Model.export, and what they answer.

Run with an interpreter that has TensorFlow: python tools/saved_models.py tests/data/saved_models
"""
import os
import shutil
import sys

import numpy as np
import tensorflow as tf


class Module(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(np.random.rand(3, 2).astype("float32"), name="w")
        self.b = tf.Variable([0.5, -0.5])
        self.parts = [tf.Variable(2.0), {"o": tf.Variable(3, trainable=False)}]

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    def __call__(self, x):
        return tf.nn.relu(x @ self.w + self.b) * self.parts[0]

    @tf.function
    def two(self, x, y=3, flag=True):
        return {"s": x + y, "d": [x - y, (x,)]} if flag else {"s": x, "d": [x, (x,)]}

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def loop(self, n):
        s = 0
        for i in tf.range(n):
            if i % 2 == 0:
                s += i
        return s

    @tf.function(input_signature=[])
    def count(self):
        self.parts[0].assign_add(1.0)
        return self.parts[0].read_value()


class Words(tf.Module):
    """Tables: one of constants, one of the lines of a file."""

    def __init__(self, path):
        super().__init__()
        words = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64))
        lines = tf.lookup.TextFileInitializer(path, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE)
        self.numbers = tf.lookup.StaticHashTable(words, -1)
        self.names = tf.lookup.StaticHashTable(lines, "?")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def __call__(self, x):
        numbers = self.numbers.lookup(tf.strings.lower(x))
        return {"numbers": numbers, "names": self.names.lookup(numbers)}


def cnn():
    layers = tf.keras.layers
    return tf.keras.Sequential([
        tf.keras.Input([16, 16, 3]), layers.Conv2D(8, 3, activation="relu", padding="same"), layers.BatchNormalization(), layers.MaxPooling2D(),
        layers.DepthwiseConv2D(3), layers.Conv2D(4, 1, strides=2), layers.GlobalAveragePooling2D(), layers.Dropout(0.5), layers.Dense(5, activation="softmax"),
    ])  # fmt: skip


def rnn():
    layers = tf.keras.layers
    return tf.keras.Sequential([tf.keras.Input([6, 4]), layers.LSTM(5, return_sequences=True), layers.GRU(3), layers.Dense(2)])


def main(folder):
    np.random.seed(0)
    module, x = Module(), np.random.rand(4, 3).astype("float32")
    module.two(tf.constant(1))
    module.two(tf.constant([1.0, 2.0]), 2.0, False)
    tf.saved_model.save(module, os.path.join(folder, "module"), signatures=module.__call__)
    answers = {"module_in": x, "module_out": module(x).numpy()}
    for make, shape in ((cnn, (2, 16, 16, 3)), (rnn, (3, 6, 4))):
        model, given = make(), np.random.rand(*shape).astype("float32")
        answers |= {f"{make.__name__}_in": given, f"{make.__name__}_out": model(given).numpy()}
        model.export(os.path.join(folder, make.__name__), verbose=False)
    lines = os.path.join(folder, "lines.txt")
    with open(lines, "w") as file:
        file.write("zero\none\ntwo\n")
    tf.saved_model.save(Words(lines), os.path.join(folder, "words"))
    os.remove(lines)
    np.savez_compressed(os.path.join(folder, "answers.npz"), **answers)
    for name in ("module", "cnn", "rnn", "words"):  # what nothing reads
        os.remove(os.path.join(folder, name, "fingerprint.pb"))
        if name != "words":
            shutil.rmtree(os.path.join(folder, name, "assets"), ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1])
