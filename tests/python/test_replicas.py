"""What replicas do together: all_reduce, all_gather, merge_call, synchronised normalization, gradients through them."""
import pytest

from test_distribute import run

TOGETHER = """
import numpy as np
import tandemflow as tf

strategy = tf.distribute.MirroredStrategy(["/GPU:0", "/CPU:0"])
context = tf.distribute.get_replica_context


def values():
    me = context().replica_id_in_sync_group
    return tf.constant([1.0 + me, 10.0 * me])


def numbers(value):
    return [v.numpy().tolist() for v in strategy.experimental_local_results(value)]


def body():
    return (context().all_reduce("SUM", values()), context().all_reduce(tf.distribute.ReduceOp.MEAN, {"a": values()}),
            context().all_gather(values(), axis=0))

for run in (lambda: strategy.run(body), tf.function(lambda: strategy.run(body))):
    total, mean, gathered = run()
    assert numbers(total) == [[3, 10]] * 2, numbers(total)
    assert numbers(mean["a"]) == [[1.5, 5]] * 2
    assert numbers(gathered) == [[1, 0, 2, 10]] * 2


def merged():
    def merge(strategy, value, scale):
        assert tf.distribute.in_cross_replica_context() and tf.distribute.get_strategy() is strategy
        return strategy.reduce("SUM", value, axis=None) * scale[0]
    return context().merge_call(merge, args=(values(),), kwargs={"scale": [3.0]})

with strategy.scope():
    assert numbers(strategy.run(merged)) == [[9, 30]]  # one value for all


# The gradient of a sum over replicas is the sum over replicas of the gradients.
def gradient():
    x = values()
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = context().all_reduce("SUM", x * x)
        loss = tf.reduce_sum(total * tf.constant([1.0, 2.0])) * (1.0 + context().replica_id_in_sync_group)
    return tape.gradient(loss, x)

# sum of the losses = 3 * (x0^2 + x1^2) . [1, 2]
for run in (lambda: strategy.run(gradient), tf.function(lambda: strategy.run(gradient))):
    found = numbers(run())
    assert found == [[6, 0], [12, 120]], found


def gathered_gradient():
    x = tf.reshape(values(), [1, 2])
    with tf.GradientTape() as tape:
        tape.watch(x)
        rows = context().all_gather(x, axis=0)
        loss = tf.reduce_sum(rows * tf.constant([[1.0], [5.0]]))
    return tape.gradient(loss, x)

assert numbers(strategy.run(gathered_gradient)) == [[[2, 2]], [[10, 10]]], numbers(strategy.run(gathered_gradient))
print("together")
"""


def test_replicas_reduce_gather_and_merge_with_gradients():
    assert run(TOGETHER) == ["together"]


APART = """
import tandemflow as tf

strategy = tf.distribute.MirroredStrategy(["/GPU:0", "/GPU:1"])


def told(function):
    try:
        strategy.run(function)
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0])


def of_one():
    me = tf.distribute.get_replica_context()
    return me.all_reduce("SUM", tf.constant(1.0)) if me.replica_id_in_sync_group == 0 else tf.constant(1.0)


def failing():
    me = tf.distribute.get_replica_context()
    if me.replica_id_in_sync_group == 1:
        raise KeyError("mine")
    return me.all_reduce("SUM", tf.constant(1.0))


told(of_one)
told(failing)
told(lambda: strategy.run(lambda: 1))
told(lambda: strategy.reduce("SUM", tf.constant(1.0), axis=None))
told(lambda: strategy.scope().__enter__())
told(lambda: strategy.gather(tf.constant([1.0]), axis=0))
told(lambda: tf.distribute.get_replica_context().all_reduce("SUM", tf.ones([1 + tf.distribute.get_replica_context().replica_id_in_sync_group])))


def told_outside(function):
    try:
        print(function())
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0])


by_replica = strategy.experimental_distribute_values_from_function(lambda me: tf.ones([1 + me.replica_id_in_sync_group]))
told_outside(lambda: strategy.reduce("SUM", by_replica, axis=None))
told_outside(lambda: float(strategy.reduce("MEAN", by_replica, axis=0)))
told_outside(lambda: strategy.run(print, args=3))
told_outside(lambda: strategy.run(print, kwargs=[3]))
told_outside(lambda: tf.distribute.MirroredStrategy("/GPU:0"))
told_outside(lambda: tf.distribute.MirroredStrategy([0, 1]))
try:
    strategy.reduce("SUM", 3.0, axis=None)
except Exception as error:
    print(type(error).__name__, error)
assert strategy.reduce("MEAN", 3.0, axis=None) == 3.0
"""


def test_replicas_that_do_not_meet_are_told_and_nothing_hangs():
    lines = run(APART)
    assert lines[0].startswith("RuntimeError Some replicas made a different number of replica_context().merge_call() calls. One is at all_reduce, another at the end")
    assert lines[1] == "KeyError 'mine'"
    inside = "RuntimeError Method requires being in cross-replica context, use get_replica_context().merge_call()"
    assert all(line.startswith(inside) for line in lines[2:5])
    assert lines[5] == (
        "RuntimeError tf.distribute.Strategy.gather method requires cross-replica context, use get_replica_context().all_gather() instead"
    )
    assert lines[6].startswith("InvalidArgumentError") and "replicas add up tensors of one shape, got [1] and [2]" in lines[6]
    assert lines[7].startswith("InvalidArgumentError Values of the replicas must have the same size and shape to be added up. Input 0: [1] != input 1: [2]")
    assert lines[8] == "1.0"  # along an axis each may have its own number of elements
    assert lines[9] == "ValueError positional args must be a list or tuple, got <class 'int'>; strategy.run(fn, args=(3,)) passes one"
    assert lines[10] == "ValueError keyword args must be a dict, got <class 'list'>"
    assert lines[11] == "ValueError devices must be a list of device names, got the text '/GPU:0'; ['/GPU:0'] is a list of one"
    assert lines[12] == 'ValueError devices must be a list of device names such as "/GPU:0", got 0 in it'
    assert lines[13] == "ValueError A non-DistributedValues value 3.0 cannot be reduced with the given reduce op ReduceOp.SUM."


CURVES = """
import contextlib
import sys
import numpy as np
import tandemflow as tf

keras = tf.keras
dtype, tolerance = sys.argv[1], float(sys.argv[2])
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
keras.backend.set_floatx(dtype)
r = np.random.RandomState(0)
x = r.rand(16 * 25 - 7, 6, 4).astype(dtype)  # the last batch is smaller
y = (x.sum((1, 2)) > 12).astype("int64") + (x[:, 0, 0] > 0.5)


def make():
    tf.random.set_seed(1)
    model = keras.Sequential([
        keras.Input((6, 4)), keras.layers.Dense(8), keras.layers.BatchNormalization(synchronized=True, momentum=0.9),
        keras.layers.Activation("relu"), keras.layers.Dropout(0.3), keras.layers.Flatten(),
        keras.layers.Dense(3, activation="softmax", kernel_regularizer="l2"),
    ])
    model.compile(keras.optimizers.SGD(0.05, momentum=0.9), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


class Losses(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.seen = []

    def on_train_batch_end(self, batch, logs):
        self.seen.append((logs["loss"], logs["accuracy"]))


def train(strategy):
    with strategy.scope() if strategy else contextlib.nullcontext():
        model = make()
    tf.random.set_seed(2)
    losses = Losses()
    model.fit(x, y, epochs=2, batch_size=16, verbose=0, callbacks=[losses])
    assert len(losses.seen) == 50
    return np.array(losses.seen), model.get_weights(), model.evaluate(x, y, batch_size=50, verbose=0)


one = train(None)
for devices, speeds in ((["/GPU:0", "/GPU:1"], [1, 1]), (["/CPU:0", "/GPU:0"], [1, 3]), (["/CPU:0", "/GPU:0", "/GPU:1"], [5, 2, 1]), (["/CPU:0", "/GPU:1"], [0, 1]),
                        (["/CPU:0", "/GPU:0", "/CPU:1", "/GPU:1"], [1, 3, 2, 1])):
    strategy = tf.distribute.MirroredStrategy(devices)
    strategy.set_speeds(speeds)
    several = train(strategy)
    np.testing.assert_allclose(several[0][:, 0], one[0][:, 0], rtol=tolerance, err_msg=f"{devices} {speeds}")
    np.testing.assert_array_equal(several[0][:, 1], one[0][:, 1], err_msg="accuracy")
    for a, b in zip(several[1], one[1]):
        np.testing.assert_allclose(a, b, rtol=20 * tolerance, atol=20 * tolerance)
    np.testing.assert_allclose(several[2], one[2], rtol=20 * tolerance)
print("equal")
"""


@pytest.mark.parametrize("dtype, tolerance", [("float64", "1e-6"), ("float32", "1e-4")])
def test_the_loss_curve_is_that_of_one_device_with_dropout_and_synchronised_normalization(dtype, tolerance):
    assert run(CURVES, dtype, tolerance)[-1] == "equal"


def test_moving_averages_take_one_step_a_batch_also_when_replicas_normalize_apart():
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


REDUCTIONS = """
import contextlib
import numpy as np
import tandemflow as tf

keras = tf.keras
r = np.random.RandomState(0)
x = np.maximum(r.randn(70, 3, 2), 0).astype("float32")  # steps of zeros are masked
y = r.randn(70, 3, 1).astype("float32")
weights = r.rand(70, 1).astype("float32")


def train(strategy, reduction, masked):
    with strategy.scope() if strategy else contextlib.nullcontext():
        tf.random.set_seed(1)
        layers = [keras.Input((3, 2))] + [keras.layers.Masking(0.0)] * masked + [keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(1)]
        model = keras.Sequential(layers)
        model.compile("adam", keras.losses.MeanSquaredError(reduction=reduction), metrics=["mae"], weighted_metrics=["mse"])
    history = model.fit(x, y, sample_weight=weights, batch_size=16, epochs=4, verbose=0, shuffle=False).history
    return [history[name] for name in sorted(history)], model.get_weights()


strategy = tf.distribute.MirroredStrategy(["/GPU:0", "/CPU:0"])
strategy.set_speeds([1, 2])
for reduction in ("sum_over_batch_size", "sum", "mean_with_sample_weight"):
    for masked in (False, True):
        one, several = train(None, reduction, masked), train(strategy, reduction, masked)
        np.testing.assert_allclose(several[0], one[0], rtol=1e-4, err_msg=f"{reduction} {masked}")
        for a, b in zip(several[1], one[1]):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5, err_msg=f"{reduction} {masked}")
print("equal")
"""


def test_losses_of_every_reduction_with_weights_and_masks_are_those_of_one_device():
    assert run(REDUCTIONS) == ["equal"]


def test_an_interrupt_inside_a_replica_ends_the_run_and_the_next_one_works():
    lines = run("""
import os
import signal
import tandemflow as tf

strategy = tf.distribute.MirroredStrategy(["/GPU:0", "/CPU:0"])


def interrupted():
    os.kill(os.getpid(), signal.SIGINT)
    return tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(1.0))

try:
    strategy.run(interrupted)
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted")
print(strategy.reduce("SUM", strategy.run(lambda: tf.constant(1.0)), axis=None).numpy())
""")
    assert lines == ["interrupted", "2.0"]
