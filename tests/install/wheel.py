"""Run by scripts/wheel --check in an environment that holds nothing but the wheel and a NumPy."""
import importlib.metadata
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import tandemflow as tf


def libraries():
    """The shared libraries of this process that are neither the package's, NumPy's, Python's nor the C library's."""
    with open("/proc/self/maps") as maps:
        files = {line.split()[-1] for line in maps if ".so" in line}
    kept = re.compile(r"/(lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|z|expat|ffi|bz2|lzma|crypto|ssl|uuid)|ld-linux-x86-64)[.-][\w.-]*$")
    return sorted(f for f in files if not f.startswith(sys.prefix) and "/python3" not in f and not kept.search(f))


def train():
    x = np.random.default_rng(0).normal(size=(256, 8))  # float64, cast as Keras does
    y = (x.sum(axis=1) > 0).astype("int32")
    model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(2, activation="softmax")])
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    losses = model.fit(x, y, epochs=5, verbose=0).history["loss"]
    assert losses[-1] < losses[0], losses
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "model.keras")
        model.save(file)
        again = tf.keras.models.load_model(file)
    assert np.array_equal(again.predict(x, verbose=0), model.predict(x, verbose=0))


def main():
    assert tf.__file__.startswith(sys.prefix), tf.__file__
    a = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert np.array_equal(tf.matmul(a, a).numpy(), [[7, 10], [15, 22]])
    images = tf.nn.conv2d(tf.ones((1, 8, 8, 3)), tf.ones((3, 3, 3, 4)), 1, "SAME")
    assert images.numpy()[0, 4, 4, 0] == 27
    assert tf.io.decode_png(tf.io.encode_png(tf.zeros((4, 5, 3), tf.uint8))).shape == (4, 5, 3)
    train()
    # The command line of the package, and the types beside it.
    assert b"usage" in subprocess.run([sys.executable, "-I", "-m", "tandemflow", "--help"], capture_output=True, check=True).stdout.lower()
    assert any(str(file).endswith("py.typed") for file in importlib.metadata.files("tandemflow"))
    assert libraries() == [], libraries()
    print(f"wheel: works with Python {sys.version.split()[0]} and NumPy {np.__version__}")


main()
