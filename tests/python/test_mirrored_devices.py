"""Devices of a mirrored training: unequal ones, one only, and what is told."""
from test_distribute import run

from tandemflow.distribute._mirrored import spread
from tandemflow.distribute._shards import Shards, Tuner

def test_the_state_of_the_optimizer_is_spread_over_the_devices_on_request():
    assert spread([10, 100, 60, 50], ["/GPU:0", "/GPU:1"]) == ["/GPU:0", "/GPU:0", "/GPU:1", "/GPU:1"]
    lines = run("""
import numpy as np
import tandemflow as tf

keras = tf.keras
x = np.random.RandomState(0).rand(64, 32).astype("float32")
y = x[:, :1]

def train(strategy):
    def make():
        tf.random.set_seed(1)
        model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(64, activation="tanh"), keras.layers.Dense(64), keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(0.01), "mse")
        return model
    with strategy.scope():
        model = make()
    return model.fit(x, y, batch_size=16, epochs=3, shuffle=False, verbose=0).history["loss"], model

one, _ = train(tf.distribute.OneDeviceStrategy("/CPU:0"))
strategy = tf.distribute.MirroredStrategy(["/GPU:0", "/GPU:1"], sharded=True)
strategy.set_speeds([1, 1])
several, model = train(strategy)
np.testing.assert_allclose(several, one, rtol=1e-4)
assert set(strategy.homes_of(model.trainable_variables)) == {"/GPU:0", "/GPU:1"}
state = [v for v in model.optimizer.variables if v.shape.rank == 2]
print(sorted({v.value().device.rpartition("device:")[2] for v in state}))
""")
    assert lines[-1] == "['GPU:0', 'GPU:1']"


def test_moving_averages_take_one_step_a_batch():
    lines = run("""
import numpy as np
import tandemflow as tf

strategy = tf.distribute.MirroredStrategy(["/GPU:0", "/GPU:1"])
strategy.set_speeds([3, 1])
x = np.random.RandomState(0).rand(8, 2).astype("float32")
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.BatchNormalization(momentum=0.9), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(x, x.sum(1), batch_size=8, epochs=1, shuffle=False, verbose=0)
mean, variance = model.layers[0].moving_mean.numpy(), model.layers[0].moving_variance.numpy()
np.testing.assert_allclose(mean, 0.1 * x.mean(0), rtol=1e-5)
np.testing.assert_allclose(variance, 0.9 + 0.1 * (0.75 * x[:6].var(0) + 0.25 * x[6:].var(0)), rtol=1e-5)
print("once")
""")
    assert lines == ["once"]


def test_one_device_strategy_trains_on_its_device():
    lines = run("""
import numpy as np
import tandemflow as tf

strategy = tf.distribute.OneDeviceStrategy("/GPU:1")
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])
    model.compile("sgd", "mse")
model.fit(np.ones((8, 4), "float32"), np.ones((8, 2), "float32"), verbose=0)
print(model.weights[0].value().device)
""")
    assert lines[-1].endswith("GPU:1")


def test_a_checkpoint_does_not_depend_on_the_strategy():
    lines = run("""
import tempfile
import numpy as np
import tandemflow as tf

keras = tf.keras
x = np.random.RandomState(0).rand(64, 4).astype("float32")
y = x.sum(1, keepdims=True)

def make():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.01), "mse")
    return model

strategy = tf.distribute.MirroredStrategy(["/GPU:0", "/CPU:0"])
with strategy.scope():
    model = make()
model.fit(x, y, batch_size=16, epochs=2, verbose=0)
folder = tempfile.mkdtemp()
model.save(folder + "/model.keras")
model.save_weights(folder + "/model.weights.h5")
alone = keras.models.load_model(folder + "/model.keras")
weights = make()
weights.load_weights(folder + "/model.weights.h5")
for other in (alone, weights):
    for a, b in zip(model.get_weights(), other.get_weights()):
        np.testing.assert_array_equal(a, b)
with strategy.scope():
    again = keras.models.load_model(folder + "/model.keras")
losses = [m.fit(x, y, batch_size=16, epochs=2, shuffle=False, verbose=0).history["loss"] for m in (alone, again, model)]
np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4)
np.testing.assert_allclose(losses[2], losses[0], rtol=1e-4)
print("same")
""")
    assert lines[-1] == "same"


class Clock:
    """Steps of two devices that wait for each other, the second slower than it seemed."""

    def __init__(self, shards, speeds):
        self.shards, self.speeds = shards, speeds

    def seconds(self):
        share = [s / sum(self.shards.speeds) for s in self.shards.speeds]
        return max(1000 * s / v for s, v in zip(share, self.speeds))


def settle(tuner, clock, stretches=200):
    for _ in range(stretches):
        tuner.note(10, 10 * clock.seconds())
        if tuner.settled:
            return
    raise AssertionError("it does not settle")


def test_shards_are_tuned_by_how_long_steps_take_and_again_when_a_device_becomes_slower():
    shards = Shards(["/CPU:0", "/GPU:0"])
    shards.measured([1000, 3000])
    clock, tuner = Clock(shards, [1000, 1500]), Tuner(shards)
    before = clock.seconds()
    settle(tuner, clock)
    assert clock.seconds() < 0.85 * before and clock.seconds() < 1.1 * 1000 / 2500
    assert "by how long steps take: /CPU:0" in shards.reason and "ms a step" in shards.reason
    clock.speeds = [1000, 300]  # somebody else uses the GPU
    slow = clock.seconds()
    for _ in range(Tuner.PATIENCE):
        tuner.note(10, 10 * clock.seconds())
    settle(tuner, clock)
    assert clock.seconds() < 0.6 * slow and "steps had become slower" in shards.reason


def test_a_line_says_when_all_devices_together_are_slower_than_one():
    program = """
import numpy as np
import tandemflow as tf

strategy = tf.distribute.MirroredStrategy(["/CPU:0", "/GPU:0"])
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])
    model.compile("sgd", "mse")
import logging
class Handler(logging.Handler):
    def emit(self, record):
        print(record.getMessage())
tf.get_logger().addHandler(Handler())
x = np.ones((20000, 4), "float32")
model.fit(x, x[:, :2], epochs=60, batch_size=64, verbose=0)
"""
    lines = [line for line in run(program) if line.startswith("MirroredStrategy: a step takes")]
    assert len(lines) == 1 and " ms on /CPU:0, /GPU:0 together and about " in lines[0] and "ms on /CPU:0 alone" in lines[0]


def test_bad_input_is_told():
    lines = run("""
import numpy as np
import tandemflow as tf

keras = tf.keras
x = np.random.RandomState(0).rand(5, 4).astype("float32")
y = x.sum(1, keepdims=True)
strategy = tf.distribute.MirroredStrategy(["/GPU:0", "/GPU:1"])

def make():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model

with strategy.scope():
    model = make()
print(len(model.fit(x, y, batch_size=1, verbose=0).history["loss"]))  # a batch smaller than the replicas: some get nothing

def rows():
    for i in range(3):
        yield x[:4], y[:4]

unknown = tf.data.Dataset.from_generator(rows, output_signature=(tf.TensorSpec((None, 4)), tf.TensorSpec((None, 1))))
print(len(model.fit(unknown, epochs=1, verbose=0).history["loss"]))
distributed = strategy.experimental_distribute_dataset(unknown)
print([len(strategy.experimental_local_results(a)) for a, b in distributed], int(distributed.cardinality()))

def told(function):
    try:
        function()
        print("not told")
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0])

def outside():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    with strategy.scope():
        model.compile("sgd", "mse")

told(outside)
told(lambda: tf.distribute.MirroredStrategy(cross_device_ops="nccl"))
told(lambda: strategy.set_speeds([1]))
told(lambda: strategy.experimental_distribute_dataset(3))
told(lambda: strategy.distribute_datasets_from_function(lambda context: None))
""")
    assert lines[:3] == ["1", "1", "[2, 2, 2] -2"]
    assert "was not created in the distribution strategy scope" in lines[3]
    assert lines[4].startswith("ValueError cross_device_ops must be a tf.distribute.CrossDeviceOps, got 'nccl'")
    assert lines[5].startswith("ValueError set_speeds needs 2 numbers")
    assert lines[6].startswith("TypeError experimental_distribute_dataset needs a tf.data.Dataset")
    assert lines[7].startswith("TypeError distribute_datasets_from_function: the function must return a tf.data.Dataset")
