"""One line says where one device alone should be faster than all together, whoever has written the steps."""
import json

import pytest
from test_distribute import run

BEGIN = """
import logging
import numpy as np
import tandemflow as tf


class Handler(logging.Handler):
    def emit(self, record):
        print(record.getMessage())


tf.get_logger().addHandler(Handler())
keras = tf.keras
x = np.random.RandomState(0).rand(96, 32).astype("float32")
y = x.sum(1, keepdims=True)
OPTIONS = {}
strategy = tf.distribute.MirroredStrategy(["/CPU:0", "/GPU:0"], **OPTIONS)
strategy.set_speeds([1, 1])  # nothing is searched for: the line can only come from a prediction
with strategy.scope():
    model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    optimizer = keras.optimizers.Adam()
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
"""
LOOP = """
def in_replica(x, y):
    with tf.GradientTape() as tape:
        loss = tf.nn.compute_average_loss(tf.reduce_sum(tf.square(model(x, training=True) - y), 1))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


@tf.function
def step(x, y):
    return strategy.reduce("SUM", strategy.run(in_replica, (x, y)), axis=None)


for _ in range(2):
    for batch in strategy.experimental_distribute_dataset(dataset):
        float(step(*batch))
"""
PROGRAMS = {
    "fit over arrays": "model.fit(x, y, batch_size=32, epochs=2, verbose=0)",
    "fit over a dataset": "model.fit(dataset, epochs=2, verbose=0)",
    "fit over a distributed dataset": "model.fit(strategy.experimental_distribute_dataset(dataset), epochs=2, verbose=0)",
    "a loop of one's own": LOOP,
}


def machine(folder, launch_us, kinds=("/CPU:0", "/GPU:0"), cores=((), ())):
    """Devices of one speed, of which the second takes so long to start a kernel; and the name of the file that says so."""
    device = {"memory": 1 << 33, "peak_gflops": {"float32": 1.0}, "gb_per_s": 10}
    described = {
        "name": "test",
        "devices": [{"name": name, "launch_us": us, "cores": on, **device} for name, us, on in zip(kinds, (0.1, launch_us), cores)],
        "links": [{"from": a, "to": b, "latency_us": 0.1, "gb_per_s": 10} for a, b in (kinds, kinds[::-1])],
    }
    file = folder / "machine.json"
    file.write_text(json.dumps(described))
    return str(file)


def lines_of(program, file, begin=BEGIN, **settings):
    return [line for line in run(begin + program, TANDEM_MACHINE=file, **{"gpus": 1, **settings}) if line.startswith("MirroredStrategy: ")]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_line_says_once_where_one_device_is_predicted_to_be_faster(name, tmp_path):
    lines = lines_of(PROGRAMS[name], machine(tmp_path, launch_us=5000))
    assert len(lines) == 1 and " ms on /CPU:0, /GPU:0 together and about " in lines[0]
    assert "a step is predicted to take" in lines[0] and 'OneDeviceStrategy("/CPU:0") is faster here' in lines[0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_said_where_all_together_are_predicted_to_be_faster(name, tmp_path):
    assert lines_of(PROGRAMS[name], machine(tmp_path, launch_us=0.1)) == []


@pytest.mark.parametrize("options", [{"on_failure": "stop"}, {"sharded": True}])
@pytest.mark.parametrize("name", ["fit over arrays", "a loop of one's own"])
def test_a_line_says_so_whatever_becomes_of_devices_that_fail_and_of_variables(name, options, tmp_path):
    begin = BEGIN.replace("OPTIONS = {}", f"OPTIONS = {options}")
    lines = lines_of(PROGRAMS[name], machine(tmp_path, launch_us=5000), begin)
    assert len(lines) == 1 and 'OneDeviceStrategy("/CPU:0") is faster here' in lines[0]
    assert lines_of(PROGRAMS[name], machine(tmp_path, launch_us=0.1), begin) == []


@pytest.mark.parametrize("cores, launch_us, said", [
    (((0, 1), (0, 1)), 2, 1),
    (((0, 1), (0, 1)), 0.1, 0),  # less than 2 %: not told
    (((0,), (1,)), 2, 0),
])  # fmt: skip
def test_devices_on_the_same_cores_take_the_sum_of_their_times(cores, launch_us, said, tmp_path):
    """Each of the logical CPUs has half of the rows; what is started for both is started twice."""
    begin = BEGIN.replace("import tandemflow as tf\n", """import tandemflow as tf
cpu, = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
""").replace("/GPU:0", "/CPU:1")
    file = machine(tmp_path, launch_us, kinds=("/CPU:0", "/CPU:1"), cores=cores)
    lines = lines_of(PROGRAMS["fit over arrays"], file, begin, gpus=0)
    assert len(lines) == said and all('OneDeviceStrategy("/CPU:0") is faster here' in line for line in lines)


FITS = [name for name in PROGRAMS if name.startswith("fit")]


@pytest.mark.parametrize("name", FITS)
def test_what_fit_measures_is_said_where_a_prediction_has_not_said_it(name, tmp_path):
    lines = lines_of("""
from tandemflow.keras._engine import mirrored

# The figures are given: one device alone is faster than any step can be.
mirrored._seconds = lambda step, leaves, device: 1e-6 if "CPU" in device else 2e-6
mirrored.Division.STRETCH = 0.001
strategy = tf.distribute.MirroredStrategy(["/CPU:0", "/GPU:0"])
with strategy.scope():
    model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
dataset = dataset.repeat(10)
x, y = np.tile(x, (10, 1)), np.tile(y, (10, 1))
""" + PROGRAMS[name].replace("epochs=2", "epochs=400"), machine(tmp_path, launch_us=0.1))  # fmt: skip
    assert len(lines) == 1 and lines[0].startswith("MirroredStrategy: a step takes ")
    assert " ms on /CPU:0, /GPU:0 together and about " in lines[0] and "ms on /CPU:0 alone" in lines[0]
