"""Strategies: the results of one device, on several."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import tandemflow as tf
from tandemflow._tandem import Shards

PACKAGE_ROOT = Path(tf.__file__).parent.parent

TRAIN = """
import contextlib
import sys
import numpy as np
import tandemflow as tf

keras = tf.keras
x = np.random.RandomState(0).rand(150, 12).astype("float32")
y = (x @ np.random.RandomState(1).randn(12, 4)).argmax(-1)


def train(strategy):
    tf.random.set_seed(1)
    def make():
        model = keras.Sequential([
            keras.layers.Dense(16, activation="relu", input_shape=(12,), kernel_regularizer="l2"),
            keras.layers.Dropout(0.4),
            keras.layers.Dense(4, activation="softmax"),
        ])
        model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
        return model
    with strategy.scope() if strategy else contextlib.nullcontext():
        model = make()
    tf.random.set_seed(2)
    history = model.fit(x, y, epochs=4, batch_size=32, verbose=0)  # 150 = 4 * 32 + 22: a ragged last batch
    return history.history, model.predict(x, verbose=0), model.evaluate(x, y, verbose=0)


one = train(None)
for devices, speeds in eval(sys.argv[1]):
    strategy = tf.distribute.MirroredStrategy(devices)
    assert strategy.num_replicas_in_sync == len(devices)
    if speeds:
        strategy.set_speeds(speeds)  # as told, whatever is measured
    several = train(strategy)
    for name, values in one[0].items():
        np.testing.assert_allclose(several[0][name], values, rtol=1e-4, err_msg=f"{devices} {speeds} {name}")
    np.testing.assert_allclose(several[1], one[1], atol=1e-5, err_msg=f"{devices} {speeds}")
    np.testing.assert_allclose(several[2], one[2], rtol=1e-4)
print("equal")
"""


def run(program, *arguments, gpus=2, **settings):
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE_ROOT), "TANDEM_OPENCL_CPU_AS_GPU": str(gpus), **settings}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.py"  # traced functions are read from it
        file.write_text(program)
        done = subprocess.run([sys.executable, file, *arguments], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_training_on_any_devices_in_any_shards_equals_one_device():
    cases = [
        (["/GPU:0", "/GPU:1"], [1, 1]),
        (["/GPU:0", "/GPU:1"], [3, 1]),
        (["/CPU:0", "/GPU:0"], [1, 2]),
        (["/CPU:0", "/GPU:0", "/GPU:1"], None),
        (["/CPU:0", "/GPU:0"], [1, 0]),  # a replica with an empty shard
    ]
    assert run(TRAIN, repr(cases))[-1] == "equal"


CUSTOM_LOOP = """
import numpy as np
import tandemflow as tf

strategy = tf.distribute.MirroredStrategy(["/GPU:0", "/GPU:1"])
x = np.random.RandomState(0).rand(50, 6).astype("float32")
y = x.sum(1, keepdims=True)

with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(6,))])
    optimizer = tf.keras.optimizers.SGD(0.1)
    seen = tf.keras.metrics.Mean()


def step(batch):
    x, y = batch
    with tf.GradientTape() as tape:
        errors = tf.square(model(x, training=True) - y)[:, 0]
        loss = tf.nn.compute_average_loss(errors)
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    seen.update_state(errors)
    return loss


@tf.function
def distributed(batch):
    losses = strategy.run(step, args=(batch,))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)


weights = [w.numpy().astype("float64") for w in model.trainable_variables]
dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices((x, y)).batch(16))
for i, batch in enumerate(dataset):
    assert isinstance(batch[0], tf.distribute.DistributedValues)
    loss = float(distributed(batch))
    rows = slice(16 * i, min(16 * i + 16, 50))
    error = x[rows] @ weights[0] + weights[1] - y[rows]
    np.testing.assert_allclose(loss, np.mean(error**2), rtol=1e-4)
    weights[0] -= 0.1 * 2 * x[rows].T @ error / len(error)
    weights[1] -= 0.1 * 2 * error.mean(0)
for mine, theirs in zip(weights, model.trainable_variables):
    np.testing.assert_allclose(theirs.numpy(), mine, rtol=1e-4, atol=1e-6)
assert int(optimizer.iterations) == 4
print("learnt")
"""


def test_a_loop_of_ones_own_is_exact_also_for_the_last_batch():
    assert run(CUSTOM_LOOP) == ["learnt"]


def test_shards_change_with_a_reason_and_not_for_noise():
    shards = Shards(["/CPU:0", "/GPU:0"])
    assert shards.sizes(10) == [5, 5] and "nothing has been measured" in shards.reason
    assert shards.take_measured([100, 300])
    assert "/GPU:0 75 % (300 rows/s)" in shards.reason and shards.sizes(8) == [2, 6]
    assert not shards.take_measured([105, 300])


def test_without_a_gpu_there_is_one_replica_on_the_cpu():
    lines = run("import tandemflow as tf; s = tf.distribute.MirroredStrategy(); print(s.devices, s.num_replicas_in_sync)", gpus=0)
    assert lines == ["['/CPU:0'] 1"]


def test_values_are_reduced_and_gathered():
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    assert strategy.run(lambda a: a + 1, args=(tf.constant(2),)).numpy() == 3
    values = tf.distribute.PerReplica(tf.constant([1.0, 2.0]), tf.constant([3.0]))
    assert strategy.reduce("SUM", values, axis=0).numpy() == 6
    assert strategy.reduce(tf.distribute.ReduceOp.MEAN, values, axis=0).numpy() == 2
    assert strategy.gather(values, axis=0).numpy().tolist() == [1, 2, 3]
    assert len(strategy.experimental_local_results(values)) == 2
    assert tf.distribute.get_replica_context().replica_id_in_sync_group == 0
    assert not tf.distribute.has_strategy()
    with strategy.scope():
        assert tf.distribute.get_strategy() is strategy and tf.distribute.in_cross_replica_context()


@pytest.mark.parametrize("make, text", [
    (lambda: tf.distribute.MirroredStrategy(["/GPU:7"]), "/GPU:7 is not available; the devices are /CPU:0"),
    (lambda: tf.distribute.MirroredStrategy(["/CPU:0", "CPU:0"]), "given twice"),
    (lambda: tf.distribute.OneDeviceStrategy("/TPU:0"), "/TPU:0 is not available"),
    (lambda: tf.distribute.OneDeviceStrategy("/CPU:0").reduce("PRODUCT", 1), "SUM or MEAN"),
])  # fmt: skip
def test_what_cannot_be_is_refused(make, text):
    with pytest.raises(ValueError) as caught:
        make()
    assert text in str(caught.value)


def test_losses_of_replicas_are_scaled_as_tensorflow_does():
    lines = run("""
import tandemflow as tf
strategy = tf.distribute.MirroredStrategy(["/GPU:0", "/GPU:1"])
losses = tf.constant([1.0, 2.0])
print([float(v) for v in strategy.run(lambda: tf.nn.compute_average_loss(losses)).values])
print([float(v) for v in strategy.run(lambda: tf.nn.scale_regularization_loss(losses)).values])
print(float(tf.nn.compute_average_loss(losses)), float(tf.nn.scale_regularization_loss(losses)))
with strategy.scope():
    try:
        tf.nn.compute_average_loss(losses)
    except RuntimeError as error:
        print(error)
values = strategy.experimental_distribute_values_from_function(lambda context: tf.constant(context.replica_id_in_sync_group))
print([int(v) for v in strategy.experimental_local_results(values)])
pairs = strategy.distribute_datasets_from_function(lambda context: tf.data.Dataset.range(6).batch(2))
print([[v.numpy().tolist() for v in strategy.experimental_local_results(pair)] for pair in pairs])
""")
    assert lines == [
        "[0.75, 0.75]", "[1.5, 1.5]", "1.5 3.0",
        "You are calling `compute_average_loss` in cross replica context, while it was expected to be called in replica context.",
        "[0, 1]", "[[[0, 1], [2, 3]], [[4, 5], []]]",
    ]  # fmt: skip


def test_strategies_do_not_nest():
    a, b = (tf.distribute.OneDeviceStrategy("/CPU:0") for _ in range(2))
    with a.scope(), pytest.raises(RuntimeError, match="Mixing different tf.distribute.Strategy objects"):
        with b.scope():
            pass
    assert not tf.distribute.has_strategy()


def test_a_model_is_not_fitted_in_the_scope_of_another_strategy():
    a, b = (tf.distribute.OneDeviceStrategy("/CPU:0") for _ in range(2))
    x = np.ones((4, 2), "float32")
    with a.scope():
        model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(x, x[:, :1], verbose=0)
    with b.scope():
        for call in (lambda: model.fit(x, x[:, :1], verbose=0), lambda: model.evaluate(x, x[:, :1], verbose=0), lambda: model.predict(x, verbose=0)):
            with pytest.raises(RuntimeError, match="Mixing different tf.distribute.Strategy objects"):
                call()
