"""Devices of a mirrored training: unequal ones, failing ones, small ones, several on the host."""
import numpy as np
import pytest

import tandemflow as tf
from tandemflow._tandem import Shards, Tuner
from test_distribute import run

FAILING = """
import sys
import numpy as np
import tandemflow as tf

keras = tf.keras
x = np.random.RandomState(0).rand(128, 6).astype("float32")
y = x.sum(1, keepdims=True)


def train(strategy, **fit):
    def make():
        tf.random.set_seed(1)
        model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dropout(0.2), keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(0.01), "mse")
        return model
    with tf.distribute.OneDeviceStrategy("/CPU:0").scope() if strategy is None else strategy.scope():
        model = make()
    tf.random.set_seed(2)
    return model.fit(x, y, batch_size=16, epochs=3, verbose=0, **fit).history["loss"], model.get_weights()


devices, options = eval(sys.argv[1])
strategy = tf.distribute.MirroredStrategy(devices, **options)
strategy.set_speeds([1] * len(devices))
one = train(None)
several = train(strategy, callbacks=[keras.callbacks.LambdaCallback(on_train_batch_end=lambda b, logs: None)] if sys.argv[2] == "hooked" else None)
np.testing.assert_allclose(several[0], one[0], rtol=1e-4)
for a, b in zip(several[1], one[1]):
    np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)
print(strategy.devices, strategy.explain())
"""


@pytest.mark.parametrize("how", ["plain", "hooked"])
def test_a_device_that_fails_leaves_the_group_and_the_losses_stay_those_of_one_device(how):
    # Both GPUs pass the site once a step: the 10th is /GPU:1 in the fifth step.
    lines = run(FAILING, repr((["/GPU:0", "/GPU:1"], {})), how, TANDEM_FAULT="plan.device:10")
    assert lines[-1].startswith("['/GPU:0'] /GPU:0 100 %: /GPU:1 has left the group (it failed)"), lines
    three = run(FAILING, repr((["/CPU:0", "/GPU:0", "/GPU:1"], {})), how, TANDEM_FAULT="plan.device:10")
    assert three[-1].startswith("['/CPU:0', '/GPU:0'] /CPU:0 50 %, /GPU:0 50 %: /GPU:1 has left the group"), three


def test_a_failing_device_stops_training_where_that_is_wanted():
    with pytest.raises(AssertionError, match="failed on /GPU:1"):
        run(FAILING, repr((["/GPU:0", "/GPU:1"], {"on_failure": "stop"})), "plain", TANDEM_FAULT="plan.device:10")


def test_a_device_may_fail_in_a_validation_and_in_a_prediction():
    lines = run("""
import numpy as np
import tandemflow as tf
from tandemflow import _tandem

keras = tf.keras
x = np.random.RandomState(0).rand(64, 4).astype("float32")
y = x.sum(1, keepdims=True)


def make(strategy):
    with strategy.scope():
        tf.random.set_seed(1)
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.1), "mse")
    return model


def fit(strategy, fault):
    model = make(strategy)
    _tandem.set_faults(fault)
    history = model.fit(x, y, batch_size=16, epochs=2, shuffle=False, validation_data=(x, y), verbose=0).history
    _tandem.set_faults("")
    return history["loss"] + history["val_loss"], model.predict(x, verbose=0)


one = fit(tf.distribute.OneDeviceStrategy("/CPU:0"), "")
strategy = tf.distribute.MirroredStrategy(["/CPU:0", "/GPU:0"])
strategy.set_speeds([1, 1])
several = fit(strategy, "plan.device:6")  # four steps of training, then the validation
np.testing.assert_allclose(several[0], one[0], rtol=1e-4)
np.testing.assert_allclose(several[1], one[1], rtol=1e-4)
print(strategy.devices)

strategy = tf.distribute.MirroredStrategy(["/CPU:0", "/GPU:0"])
strategy.set_speeds([1, 1])
model = make(strategy)
expected = model.predict(x, batch_size=16, verbose=0)
_tandem.set_faults("plan.device:3")
np.testing.assert_allclose(model.predict(x, batch_size=16, verbose=0), expected, rtol=1e-5)
print(strategy.devices)
""", gpus=1)
    assert lines == ["['/CPU:0']"] * 2


SHARDED = """
import numpy as np
import tandemflow as tf

keras = tf.keras
MB = 1 << 20
WIDTH, DEPTH, LIMIT = 512, 12, 8  # 12 MiB of weights; each device may use 8 MiB
gpus = tf.config.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=LIMIT)])
x = np.random.RandomState(0).rand(64, WIDTH).astype("float32")
y = x[:, :1]


def train(strategy):
    def make():
        tf.random.set_seed(1)
        model = keras.Sequential([keras.Input((WIDTH,))] + [keras.layers.Dense(WIDTH, activation="tanh") for _ in range(DEPTH)] + [keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(1e-4), "mse")
        return model
    with tf.distribute.OneDeviceStrategy("/CPU:0").scope() if strategy is None else strategy.scope():
        model = make()
    return model.fit(x, y, batch_size=16, epochs=2, shuffle=False, verbose=0).history["loss"], model


strategy = tf.distribute.MirroredStrategy(["/GPU:0", "/GPU:1"], sharded=True)
strategy.set_speeds([1, 1])
several, model = train(strategy)
one, _ = train(None)
parameters = sum(w.nbytes for w in model.get_weights())
assert parameters > 1.5 * LIMIT * MB, parameters
np.testing.assert_allclose(several, one, rtol=1e-4)
homes = strategy.homes_of(model.trainable_variables)
assert set(homes) == {"/GPU:0", "/GPU:1"}
for name in ("GPU:0", "GPU:1"):
    assert tf.config.experimental.get_memory_info(name)["peak"] <= LIMIT * MB
print("trained")
"""


def test_parameters_and_state_larger_than_a_device_train_on_two_with_the_losses_of_one():
    assert run(SHARDED)[-1] == "trained"


def test_variables_that_are_evicted_between_two_steps_keep_their_values():
    lines = run("""
import numpy as np
import tandemflow as tf

keras = tf.keras
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("GPU")[0], [tf.config.LogicalDeviceConfiguration(memory_limit=8)])
x = np.random.RandomState(0).rand(64, 256).astype("float32")
y = x[:, :1]

def train(device):
    tf.random.set_seed(1)
    with tf.distribute.OneDeviceStrategy(device).scope():
        model = keras.Sequential([keras.Input((256,)), keras.layers.Dense(256, activation="tanh"), keras.layers.Dense(256, activation="tanh"), keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(1e-3), "mse")
    losses = []
    for _ in range(4):
        losses += model.fit(x, y, batch_size=16, shuffle=False, verbose=0).history["loss"]
        with tf.device(device):
            others = [tf.zeros((256, 1024)) + i for i in range(12)]  # 12 MiB: whatever the step left there is evicted
            assert float(tf.add_n(others)[0, 0]) == 66
        del others
    return losses

np.testing.assert_allclose(train("/GPU:0"), train("/CPU:0"), rtol=1e-3)
print("kept")
""", gpus=1)
    assert lines[-1] == "kept"


def test_two_devices_on_the_host_compute_on_threads_of_their_own():
    lines = run("""
import contextlib
import numpy as np
import tandemflow as tf

tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
keras = tf.keras
x = np.random.RandomState(0).rand(200, 10).astype("float32")
y = x.argmax(1)

def train(strategy):
    def make():
        tf.random.set_seed(1)
        model = keras.Sequential([keras.Input((10,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dropout(0.3), keras.layers.Dense(10, activation="softmax")])
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        return model
    with strategy.scope() if strategy else contextlib.nullcontext():
        model = make()
    tf.random.set_seed(2)
    history = model.fit(x, y, batch_size=64, epochs=20, verbose=0).history
    return history["loss"], history["accuracy"]

one = train(None)
two = train(tf.distribute.MirroredStrategy(["/CPU:0", "/CPU:1"]))
np.testing.assert_allclose(two, one, rtol=1e-4)
names = {open(f"/proc/self/task/{t}/comm").read().strip() for t in __import__("os").listdir("/proc/self/task")}
assert "tandem-lane1" in names, names
print("equal")
""", gpus=0)
    assert lines[-1] == "equal"


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
    shards.take_measured([1000, 3000])
    clock, tuner = Clock(shards, [1000, 1500]), Tuner(shards)
    before = clock.seconds()
    settle(tuner, clock)
    assert clock.seconds() < 0.85 * before and clock.seconds() < 1.03 * 1000 / 2500
    assert "by how long steps take: /CPU:0" in shards.reason and "ms a step" in shards.reason
    clock.speeds = [1000, 300]  # somebody else uses the GPU
    slow = clock.seconds()
    for _ in range(Tuner.PATIENCE):
        tuner.note(10, 10 * clock.seconds())
    settle(tuner, clock)
    assert clock.seconds() < 0.6 * slow and "steps had become slower" in shards.reason


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
told(lambda: tf.distribute.MirroredStrategy(on_failure="maybe"))
told(lambda: tf.distribute.MirroredStrategy(cross_device_ops="nccl"))
told(lambda: strategy.set_speeds([1]))
told(lambda: strategy.experimental_distribute_dataset(3))
told(lambda: strategy.distribute_datasets_from_function(lambda context: None))
""")
    assert lines[:3] == ["1", "1", "[2, 2, 2] -2"]
    assert "was not created in the distribution strategy scope" in lines[3]
    assert lines[4] == 'ValueError on_failure must be "leave" or "stop", got \'maybe\''
    assert lines[5].startswith("ValueError cross_device_ops must be a tf.distribute.CrossDeviceOps, got 'nccl'")
    assert lines[6].startswith("ValueError set_speeds needs 2 numbers")
    assert lines[7].startswith("TypeError experimental_distribute_dataset needs a tf.data.Dataset")
    assert lines[8].startswith("TypeError distribute_datasets_from_function: the function must return a tf.data.Dataset")
