"""Mirrored training beside the devices alone: `mirrored_rows.py CASE` prints one JSON list of rows; run.py starts one process a case,
because which devices there are, and which cores they have, is decided when a process begins."""
import json
import statistics
import sys
import time

import numpy as np

import tandemflow as tf

TENSORFLOW_SMALL = 2730.0  # us a step: TensorFlow with two logical CPU devices, on this class of machine
layers = tf.keras.layers

def mlp():
    return [tf.keras.Input((784,)), layers.Dense(128, activation="relu"), layers.Dense(10, activation="softmax")], (784,), 1024


def cnn():
    return [tf.keras.Input((28, 28, 3)), layers.Conv2D(32, (3, 3), activation="relu"), layers.Flatten(),
            layers.Dense(10, activation="softmax")], (28, 28, 3), 256  # fmt: skip


def small():
    return [tf.keras.Input((100,)), layers.Dense(64, activation="relu"), layers.Dense(10, activation="softmax")], (100,), 64


class Training:
    """A model that is trained on the same rows again and again, under a strategy or none."""

    def __init__(self, make, strategy, seconds):
        parts, shape, self.batch = make()
        random = np.random.RandomState(0)
        self._steps = 8
        self._x = random.rand(self._steps * self.batch, *shape).astype("float32")
        self._y = random.randint(0, 10, len(self._x))
        if strategy is None:
            self._model = self._compiled(parts)
        else:
            with strategy.scope():
                self._model = self._compiled(parts)
        each = self.seconds_a_step()
        self._epochs = max(1, int(seconds / (each * self._steps)))
        self._settle(strategy, max(self._epochs, int(1.5 / (each * self._steps))))

    def _settle(self, strategy, epochs):
        """Trains until shards stay as they are: while they are searched, a step may be any of those that are tried."""
        explain, before = getattr(strategy, "explain", lambda: ""), None
        for _ in range(12):
            self._fit(epochs)
            if explain() == before:
                return
            before = explain()

    @staticmethod
    def _compiled(parts):
        model = tf.keras.Sequential(parts)
        model.compile("adam", "sparse_categorical_crossentropy")
        return model

    def _fit(self, epochs):
        self._model.fit(self._x, self._y, batch_size=self.batch, epochs=epochs, shuffle=False, verbose=0)

    def seconds_a_step(self):
        """Of the best epoch: what fit does before the first is not a step."""
        times = EpochTimes()
        self._model.fit(self._x, self._y, batch_size=self.batch, epochs=max(3, getattr(self, "_epochs", 3)), shuffle=False,
                        verbose=0, callbacks=[times])  # fmt: skip
        return min(times.seconds) / self._steps


class EpochTimes(tf.keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.seconds = []

    def on_epoch_begin(self, epoch, logs=None):
        self._begin = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        self.seconds.append(time.perf_counter() - self._begin)


def best(trainings, rounds=4):
    """Seconds a step of each, timed in turn."""
    found = [1e9] * len(trainings)
    for _ in range(rounds):
        for i, training in enumerate(trainings):
            found[i] = min(found[i], training.seconds_a_step())
    return found


def row(name, value, unit, reference, reference_value, ratio, goal):
    return {"name": name, "value": value, "unit": unit, "reference": reference, "reference_value": reference_value,
            "ratio": ratio, "goal": goal}  # fmt: skip


def beside_both(name, make):
    """Rows a second of /CPU:0 and /GPU:0 together, beside the sum of both alone."""
    one = tf.distribute.OneDeviceStrategy
    mirrored = tf.distribute.MirroredStrategy(["/CPU:0", "/GPU:0"])
    trainings = [Training(make, strategy, 0.5) for strategy in (one("/CPU:0"), one("/GPU:0"), mirrored)]
    cpu, gpu, together = (trainings[0].batch / seconds for seconds in best(trainings))
    print(f"{name}: /CPU:0 {cpu:.0f}, /GPU:0 {gpu:.0f}, together {together:.0f} rows/s; {mirrored.explain()}", file=sys.stderr)
    return [row(name, together, "rows/s", "both devices alone, added", cpu + gpu, together / (cpu + gpu), ">= 0.88")]


def two_gpus(name):
    trainings = [Training(mlp, tf.distribute.OneDeviceStrategy("/GPU:0"), 0.5), Training(mlp, tf.distribute.MirroredStrategy(), 0.5)]
    one, two = (trainings[0].batch / seconds for seconds in best(trainings))
    return [row(name, two, "rows/s", "one of them", one, two / one, ">= 1.75")]


def small_step(name):
    tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
    step = best([Training(small, tf.distribute.MirroredStrategy(["/CPU:0", "/CPU:1"]), 0.2)])[0] * 1e6
    return [row(name, step, "us", "TensorFlow, two logical CPUs", TENSORFLOW_SMALL, step / TENSORFLOW_SMALL, "<= 0.05")]


def one_replica(name):
    """The median of several models of each kind, each kind first in half of the pairs: where the arrays of a model happen to lie, and
    which was made first, moves its steps by as much as the goal allows (two kinds without a strategy differ by 1.4 %)."""
    strategy, pairs = tf.distribute.MirroredStrategy(["/CPU:0"]), 6
    kinds = [strategy, None, None, strategy] * (pairs // 2)
    steps = best([Training(small, kind, 0.1) for kind in kinds], 6)
    with_one, without = (1e6 * statistics.median(s for s, kind in zip(steps, kinds) if kind is wanted) for wanted in (strategy, None))
    return [row(name, with_one, "us", "without a strategy", without, with_one / without, "<= 1.02")]


MEASURE = {
    "mirrored_mlp": lambda name: beside_both(name, mlp),
    "mirrored_cnn": lambda name: beside_both(name, cnn),
    "mirrored_two_gpus": two_gpus,
    "mirrored_small": small_step,
    "mirrored_one_replica": one_replica,
}

if __name__ == "__main__":
    print(json.dumps(MEASURE[sys.argv[1]](sys.argv[1])))
