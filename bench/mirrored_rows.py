"""Mirrored training beside the devices alone: `mirrored_rows.py CASE` prints the figures of what it compares, in each of some rounds, as a
JSON list; run.py starts processes for a case, because which devices there are, and which cores they have, is decided when a process begins."""
import json
import statistics
import sys
import time

import numpy as np

import tandemflow as tf

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
    """Seconds a step of each, timed in turn: the best of all rounds."""
    return [min(seconds) for seconds in zip(*in_turn(trainings, rounds))]


def speeds_in_turn(trainings):
    """Rows a second of each."""
    return [[training.batch / seconds for training, seconds in zip(trainings, one)] for one in in_turn(trainings)]


def in_turn(trainings, rounds=8):
    """The same, of each round: what others do to the machine within a second, they do to all."""
    return [[training.seconds_a_step() for training in trainings] for _ in range(rounds)]


def devices_and_both(make):
    """Speeds of /CPU:0, of /GPU:0 and of both together."""
    one = tf.distribute.OneDeviceStrategy
    mirrored = tf.distribute.MirroredStrategy(["/CPU:0", "/GPU:0"])
    rounds = speeds_in_turn([Training(make, strategy, 0.2) for strategy in (one("/CPU:0"), one("/GPU:0"), mirrored)])
    print(mirrored.explain(), file=sys.stderr)
    return rounds


def two_gpus():
    return speeds_in_turn([Training(mlp, tf.distribute.OneDeviceStrategy("/GPU:0"), 0.2), Training(mlp, tf.distribute.MirroredStrategy(), 0.2)])


def small_step():
    """Seconds."""
    tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
    return [best([Training(small, tf.distribute.MirroredStrategy(["/CPU:0", "/CPU:1"]), 0.2)])]


def one_replica():
    """Seconds a step with one, and without a strategy: the median of several models of each kind, each kind first in half of the pairs. Where the arrays of
    a model happen to lie, and which was made first, moves its steps by as much as the goal allows (two kinds without a strategy differ by 1.4 %)."""
    strategy, pairs = tf.distribute.MirroredStrategy(["/CPU:0"]), 6
    kinds = [strategy, None, None, strategy] * (pairs // 2)
    steps = best([Training(small, kind, 0.1) for kind in kinds], 6)
    return [[statistics.median(s for s, kind in zip(steps, kinds) if kind is wanted) for wanted in (strategy, None)]]


MEASURE = {
    "mirrored_mlp": lambda: devices_and_both(mlp),
    "mirrored_cnn": lambda: devices_and_both(cnn),
    "mirrored_two_gpus": two_gpus,
    "mirrored_small": small_step,
    "mirrored_one_replica": one_replica,
}

if __name__ == "__main__":
    print(json.dumps(MEASURE[sys.argv[1]]()))
