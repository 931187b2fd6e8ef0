"""A device that fails in a loop of one's own leaves the group, and results stay those of one device."""
import pytest

from test_distribute import run

LOOP = """
import logging
import sys
import numpy as np
import tandemflow as tf
from tandemflow import _tandem

keras = tf.keras
x = np.random.RandomState(0).rand(90, 6).astype("float32")
y = x.sum(1, keepdims=True)
lines = []


class Told(logging.Handler):
    def emit(self, record):
        lines.append(record.getMessage())


tf.get_logger().addHandler(Told())
tf.get_logger().propagate = False


def program(strategy, kind):
    \"\"\"Losses of each step, what a metric says, weights, and how many results a step gave.\"\"\"
    tf.random.set_seed(1)
    with strategy.scope():
        model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8, use_bias=False), keras.layers.BatchNormalization(synchronized=True),
                                  keras.layers.Activation("relu"), keras.layers.Dropout(0.2), keras.layers.Dense(1)])
        optimizer = keras.optimizers.Adam(0.01)
        seen = keras.metrics.MeanSquaredError()
        total = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM, trainable=False)
    batches = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)  # 90 = 5 * 16 + 10
    if kind == "own batches":
        halves = tf.data.Dataset.from_tensor_slices((x, y)).batch(16 // strategy.num_replicas_in_sync)
        distributed = strategy.distribute_datasets_from_function(lambda context: halves)
    else:
        distributed = strategy.experimental_distribute_dataset(batches)

    def step(x, y):
        with tf.GradientTape() as tape:
            made = model(x, training=True)
            loss = tf.nn.compute_average_loss(tf.reduce_mean((made - y) ** 2, -1))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        seen.update_state(y, made)
        total.assign_add(loss)
        return loss, made

    tf.random.set_seed(2)
    losses, rows = [], []
    if kind == "eager":
        run = lambda *batch: strategy.run(step, args=batch)
    else:
        run = tf.function(lambda *batch: strategy.run(step, args=batch))
    if kind == "loop":
        @tf.function
        def epoch():
            added = 0.0
            for batch in distributed:
                loss, _ = strategy.run(step, args=batch)
                added += strategy.reduce("SUM", loss, axis=None)
            return added
        losses = [epoch() for _ in range(3)]
    elif kind == "iterator":
        @tf.function
        def five(iterator):
            added = 0.0
            for _ in tf.range(5):
                loss, _ = strategy.run(step, args=next(iterator))
                added += strategy.reduce("SUM", loss, axis=None)
            return added
        losses = [five(iter(distributed)) for _ in range(3)]
    else:
        kept = []
        for _ in range(3):
            for batch in distributed:
                loss, made = run(*batch)
                kept.append((loss, made))  # read when all is over
        for loss, made in kept:
            losses.append(strategy.reduce("SUM", loss, axis=None))
            rows.append(strategy.gather(made, 0).shape[0])
            assert len(strategy.experimental_local_results(loss)) <= strategy.num_replicas_in_sync
    return [float(loss) for loss in losses], float(seen.result()), float(total), model.get_weights(), rows


kind, fault, devices, left = sys.argv[1], sys.argv[2], eval(sys.argv[3]), eval(sys.argv[4])
one = program(tf.distribute.OneDeviceStrategy("/CPU:0"), kind)
strategy = tf.distribute.MirroredStrategy(devices)
_tandem.set_faults(fault)
several = program(strategy, kind)
_tandem.set_faults("")
for a, b in zip(several[:3], one[:3]):
    np.testing.assert_allclose(a, b, rtol=2e-4)
for a, b in zip(several[3], one[3]):
    np.testing.assert_allclose(a, b, rtol=2e-3, atol=1e-5)
assert several[4] == one[4], (several[4], one[4])
assert strategy.devices == left, strategy.devices
assert strategy.num_replicas_in_sync == len(devices) == len(strategy.extended.worker_devices)
assert set(strategy.extended.worker_devices) == set(left)
assert len(lines) == len(devices) - len(left) and all(" failed and has left the group; its rows go to " in line for line in lines), lines
print("equal", strategy.explain())
"""

KINDS = ["eager", "traced", "loop", "iterator", "own batches"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_loop_goes_on_without_a_device_that_is_lost(kind):
    lines = run(LOOP, kind, "opencl.lost:400", repr(["/CPU:0", "/GPU:0"]), repr(["/CPU:0"]), gpus=1)
    assert lines[-1] == "equal /CPU:0 100 %: /GPU:0 has left the group (it failed)"
