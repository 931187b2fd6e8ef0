"""Steps that a model overrides, under a strategy: once in each replica, as in Keras, with the results of one device where losses are Keras'."""
from test_distribute import run

OWN_STEPS = """
import contextlib
import numpy as np
import tandemflow as tf

keras = tf.keras
x = np.random.RandomState(0).randn(57, 5).astype("float32")
y = x.sum(1, keepdims=True) * 2 + 1
rows = []


class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.first = keras.layers.Dense(8, activation="tanh", kernel_regularizer="l2")
        self.drop, self.last = keras.layers.Dropout(0.3), keras.layers.Dense(1)
        self.seen, self.mae = keras.metrics.Mean(name="seen"), keras.metrics.MeanAbsoluteError(name="mae")

    def call(self, x, training=False):
        return self.last(self.drop(self.first(x), training=training))

    def train_step(self, data):
        x, y = data
        rows.append(x.shape[0])
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(y=y, y_pred=y_pred)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        self.seen.update_state(tf.square(y - y_pred))
        self.mae.update_state(y, y_pred)
        return {"seen": self.seen.result(), "mae": self.mae.result(), "largest": tf.reduce_max(y) * 0 + 3.0}

    def test_step(self, data):
        rows.append(-data[0].shape[0])
        return super().test_step(data)

    def predict_step(self, data):
        return {"value": super().predict_step(data), "twice": 2 * self(data)}


class Usual(Own):
    train_step, test_step = keras.Model.train_step, keras.Model.test_step

    def predict_step(self, data):
        return super().predict_step(data)


def train(strategy, kind):
    rows.clear()
    tf.random.set_seed(1)
    with strategy.scope() if strategy else contextlib.nullcontext():
        model = kind()
        model.compile(keras.optimizers.Adam(0.01), loss="mse", metrics=["mse"])
    tf.random.set_seed(2)
    history = model.fit(x, y, batch_size=16, epochs=13, verbose=0)
    # What replicas add up lies where the loss of a GPU cannot take it along.
    assert strategy is None or kind is Usual or "CPU" in model.seen.total.device, model.seen.total.device
    return history.history, model.evaluate(x, y, batch_size=57, verbose=0, return_dict=True), model.predict(x, batch_size=20, verbose=0)


def equal(several, one):
    assert several.keys() == one.keys(), (several.keys(), one.keys())
    for name in one:
        np.testing.assert_allclose(several[name], one[name], rtol=1e-4, atol=1e-6, err_msg=name)


for kind in (Own, Usual):
    one = train(None, kind)
    alone = list(rows)
    for devices, speeds in ((["/CPU:0", "/GPU:0"], [1, 1]), (["/CPU:0", "/GPU:0", "/GPU:1"], [3, 1, 2]), (["/CPU:0", "/GPU:0"], [0, 1])):
        strategy = tf.distribute.MirroredStrategy(devices)
        strategy.set_speeds(speeds)
        several = train(strategy, kind)
        active = sum(speed > 0 for speed in speeds)
        assert len(rows) == active * len(alone) and sum(rows) == sum(alone), (rows, alone)
        equal(several[0], one[0])
        equal(several[1], one[1])
        equal(several[2], one[2])
print("equal")
"""


def test_overridden_steps_run_in_each_replica_with_the_results_of_one_device():
    assert run(OWN_STEPS)[-1] == "equal"


AS_TENSORFLOW = """
import numpy as np
import tandemflow as tf

strategy = tf.distribute.MirroredStrategy(["/CPU:0", "/GPU:0"])
strategy.set_speeds([1, 1])


class Own(tf.keras.Model):
    def __init__(self, mode):
        super().__init__()
        self.mode, self.dense = mode, tf.keras.layers.Dense(1, kernel_initializer="ones")
        self.tracker, self.mae = tf.keras.metrics.Mean(name="loss"), tf.keras.metrics.MeanAbsoluteError(name="mae")

    def call(self, x, training=False):
        return self.dense(x)

    @property
    def metrics(self):
        return [self.tracker, self.mae]

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(y=y, y_pred=y_pred) if self.mode == "keras" else tf.reduce_mean(tf.square(y - y_pred))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        self.tracker.update_state(loss)
        self.mae.update_state(y, y_pred)
        if self.mode == "other":
            return {"rows": tf.shape(x)[0], "now": loss}
        return {metric.name: metric.result() for metric in self.metrics}


# What TensorFlow 2.21 gives with two logical CPU devices.
EXPECTED = {
    "keras": ({"loss": [2.69785, 1.32308], "mae": [2.0023, 1.40058]}, [1.59059, 1.54333, 1.32479, 0.48688]),
    "raw": ({"loss": [4.82452, 1.01045], "mae": [1.82153, 0.8275]}, [1.8797, 1.84589, 1.57133, 0.76046]),
    "other": ({"now": [1.40047, 0.36309], "rows": [4.0, 4.0]}, [1.8797, 1.84589, 1.57133, 0.76046]),
}
x = np.random.RandomState(0).randn(16, 3).astype("float32")
y = x.sum(1, keepdims=True) * 2 + 1
for mode, (logs, weights) in EXPECTED.items():
    with strategy.scope():
        model = Own(mode)
        model.compile(tf.keras.optimizers.SGD(0.05), "mse")
    history = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0).history
    assert history.keys() == logs.keys(), history
    for name in logs:
        np.testing.assert_allclose(history[name], logs[name], rtol=2e-5, err_msg=f"{mode} {name}")
    np.testing.assert_allclose(np.concatenate([w.ravel() for w in model.get_weights()]), weights, rtol=2e-5, err_msg=mode)
print("equal")
"""


def test_own_train_steps_learn_and_log_what_they_do_in_tensorflow():
    assert run(AS_TENSORFLOW, gpus=1)[-1] == "equal"


FAILING = """
import contextlib
import numpy as np
import tandemflow as tf

keras = tf.keras
x = np.random.RandomState(0).rand(128, 6).astype("float32")
y = x.sum(1, keepdims=True)


class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense, self.seen = keras.layers.Dense(1), keras.metrics.Mean(name="seen")

    def call(self, x, training=False):
        return self.dense(x)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        self.seen.update_state(tf.reduce_sum(y, 1))
        return {"seen": self.seen.result()}


def train(strategy):
    tf.random.set_seed(1)
    with strategy.scope():
        model = Own()
        model.compile(keras.optimizers.Adam(0.01), "mse")
    history = model.fit(x, y, batch_size=16, epochs=3, verbose=0)
    return history.history["seen"], model.get_weights()


strategy = tf.distribute.MirroredStrategy(["/GPU:0", "/GPU:1"])
strategy.set_speeds([1, 1])
several = train(strategy)
assert strategy.devices == ["/GPU:0"], strategy.devices
one = train(tf.distribute.OneDeviceStrategy("/CPU:0"))
np.testing.assert_allclose(several[0], one[0], rtol=1e-5)
for a, b in zip(several[1], one[1]):
    np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)
print("equal")
"""


def test_a_device_that_fails_in_a_step_of_ones_own_leaves_the_group():
    assert run(FAILING, TANDEM_FAULT="plan.device:10")[-1] == "equal"
