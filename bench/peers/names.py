"""Tries names out in one library: python -m peers.names MODULE, names on stdin. A line of JSON for each name, in order.

{"resolves": …} says whether the name is there, "value" is what its example gave, "error" why it gave nothing.
"""
import importlib
import json
import os
import struct
import sys
import tempfile
import zlib

import numpy as np

from .libraries import flatten
from .name_examples import EXAMPLES


def resolve(module, name):
    """The object that "tf.a.b" names."""
    found = module
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def plain(value):
    """Numbers, strings and lists of them: what JSON can carry and what can be compared."""
    if hasattr(value, "as_list"):
        return value.as_list()
    if isinstance(value, bytes):
        return value.decode("latin1")
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    if array.dtype == object or array.dtype.kind in "SU":
        return [plain(item) for item in array.ravel().tolist()] + [list(array.shape)]
    return [array.astype(np.float64).ravel().tolist(), list(array.shape)]


class Helpers:
    """What examples call beside the library."""

    def __init__(self, tf):
        self.tf = tf

    def run(self, layer, *inputs):
        layer(*inputs)
        layer.set_weights([(np.arange(w.size, dtype=w.dtype).reshape(w.shape) % 7 + 1) * w.dtype.type(0.1) for w in layer.get_weights()])
        return layer(*inputs)

    def trained(self, optimizer):
        variable = self.tf.Variable([1.0, 2.0])
        for _ in range(3):
            optimizer.apply_gradients([(self.tf.constant([0.5, -1.0]), variable)])
        return variable.numpy()

    def measured(self, metric, *arguments):
        metric.update_state(*arguments)
        return metric.result()

    def functional(self, tf, x, where=None):
        keras = tf.keras
        inputs = keras.Input((2,))
        outputs = keras.layers.Dense(3, activation="relu")(inputs)
        return self.run((keras.models if where else keras).Model(inputs, outputs), x)

    @staticmethod
    def gradient(tf, function, x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x)

    @staticmethod
    def device(tf, name, x):
        with tf.device(name):
            return x + 1

    @staticmethod
    def folder(use):
        """use(path) of an empty folder, which goes afterwards."""
        with tempfile.TemporaryDirectory() as path:
            return use(path)

    @staticmethod
    def file(use, content):
        """use(path) of a file with these bytes."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "file")
            with open(path, "wb") as out:
                out.write(content)
            return use(path)

    @staticmethod
    def checkpointed(tf, path):
        """What a variable is after it was saved, changed and restored."""
        variable = tf.Variable(3.0)
        checkpoint = tf.train.Checkpoint(v=variable)
        checkpoint.save(os.path.join(path, "c"))
        variable.assign(9.0)
        checkpoint.restore(tf.train.latest_checkpoint(path))
        return variable.numpy()

    @staticmethod
    def managed(tf, path):
        """How many checkpoints a manager keeps."""
        manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=tf.Variable(3.0)), path, max_to_keep=2)
        for _ in range(3):
            manager.save()
        return len(manager.checkpoints)

    @staticmethod
    def saved(tf, path, options=None):
        """What a function gives after it was saved and loaded."""
        module = tf.Module()
        module.double = tf.function(lambda a: a * 2.0, input_signature=[tf.TensorSpec([None], tf.float32)])
        tf.saved_model.save(module, path, options=options)
        return tf.saved_model.load(path).double(tf.constant([1.0, 2.0]))

    @staticmethod
    def recorded(tf, path):
        """Records as they are read after they were written."""
        name = os.path.join(path, "r")
        with tf.io.TFRecordWriter(name) as writer:
            writer.write(b"one")
            writer.write(b"two")
        return list(tf.data.TFRecordDataset(name).as_numpy_iterator())

    @staticmethod
    def example(tf):
        number = tf.train.Feature(int64_list=tf.train.Int64List(value=[7]))
        return tf.train.Example(features=tf.train.Features(feature={"a": number}))


def png():
    """A grey picture of 2 × 1 pixels."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", 2, 1, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\x00\x40\xc0")) + chunk(b"IEND", b"")


def scope(tf):
    helpers = Helpers(tf)
    rng = np.random.default_rng(7)
    made = {name: getattr(helpers, name) for name in vars(Helpers) if not name.startswith("_")}
    return made | {
        "tf": tf, "np": np, "x": tf.constant([[1.0, 2.0], [3.0, 4.0]]), "v": tf.constant([3.0, -1.0, 4.0, 1.0, -5.0, 9.0]), "png": png(),
        "i": tf.constant([[1, 2, 3], [3, 4, 5]]), "s": tf.constant(["aB", "c"]), "labels": tf.constant([0, 2, 1, 1]),
        "image": tf.constant(rng.uniform(0, 255, (1, 8, 8, 3)).astype("float32")),
        "sequence": tf.constant(rng.normal(size=(2, 5, 4)).astype("float32")), "scores": tf.constant(rng.normal(size=(4, 3)).astype("float32")),
    }  # fmt: skip


def try_out(tf, name, given):
    try:
        resolve(tf, name)
    except Exception as error:  # a module may fail in any way while it is looked into
        return {"resolves": False, "error": f"{type(error).__name__}: {error}"[:200]}
    if name not in EXAMPLES:
        return {"resolves": True}
    try:
        value = eval(EXAMPLES[name], given)
        parts = value if isinstance(value, (list, tuple, dict)) and not hasattr(value, "as_list") else [value]
        return {"resolves": True, "value": [plain(part) for part in flatten(parts)]}
    except Exception as error:
        return {"resolves": True, "error": f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"[:200]}


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    tf = importlib.import_module(sys.argv[1])
    for name in sys.stdin.read().split():
        print(json.dumps(try_out(tf, name, scope(tf))), file=answers, flush=True)


if __name__ == "__main__":
    main()
