"""tf.distribute as programs use it: the values are those that TensorFlow 2.21 gives with two logical CPU devices."""
import ast

import numpy as np

from test_distribute import run

BEGIN = """
import os
import tempfile
import numpy as np
import tandemflow as tf

tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["/CPU:0", "/CPU:1"])
context = tf.distribute.get_replica_context


def local(value):
    return [np.asarray(one).tolist() for one in strategy.experimental_local_results(value)]


def told(function):
    try:
        print("not told:", function())
    except Exception as error:
        print(f"{type(error).__name__}: {error}".splitlines()[0])
"""


def assert_close(lines, expected):
    """Lines that are lists of numbers, up to their rounding."""
    assert len(lines) == len(expected)
    for line, numbers in zip(lines, expected):
        np.testing.assert_allclose(ast.literal_eval(line), numbers, rtol=2e-5, atol=2e-4)


def test_variables_that_replicas_assign_are_put_together_as_they_were_made_to_be():
    lines = run(BEGIN + """
How, When = tf.VariableAggregation, tf.VariableSynchronization

def one_more(variable):
    def of_replica():
        variable.assign_add(tf.cast(context().replica_id_in_sync_group + 1, tf.float32))
        return tf.identity(variable)
    return of_replica

for how in (How.SUM, How.MEAN, How.ONLY_FIRST_REPLICA):
    for when in (When.AUTO, When.ON_WRITE, When.ON_READ):
        with strategy.scope():
            variable = tf.Variable(0.0, synchronization=when, aggregation=how, trainable=when is not When.ON_READ)
        results = local(strategy.run(one_more(variable)))
        first = float(variable.read_value())
        variable.assign(8.0)
        tf.function(lambda: strategy.run(one_more(variable)))()
        print(how.name, when.name, first, float(variable.read_value()), *([] if when is When.ON_READ else results))
        variable.assign(1.0)
        strategy.run(lambda: variable.assign(3.0 * (context().replica_id_in_sync_group + 1)))
        print("assigned", float(variable.numpy()))
variable = tf.Variable(1.0, aggregation=How.SUM)
print(float(variable.assign_sub(3.0)), variable.aggregation is How.SUM)  # outside of replicas: as every variable
told(lambda: strategy.run(lambda: variable.assign(1.0) if context().replica_id_in_sync_group == 0 else None))
""", gpus=0)  # fmt: skip
    expected = []
    for how, added, assigned in (("SUM", 3.0, 9.0), ("MEAN", 1.5, 4.5), ("ONLY_FIRST_REPLICA", 1.0, 3.0)):
        for when in ("AUTO", "ON_WRITE", "ON_READ"):
            expected.append(f"{how} {when} {added} {8 + added}" + ("" if when == "ON_READ" else f" {added} {added}"))
            expected.append(f"assigned {assigned}")
    assert lines[:-1] == [*expected, "-2.0 True"]
    assert lines[-1].startswith("RuntimeError: Some replicas made a different number of replica_context().merge_call() calls. One is at assign of Variable")


def test_what_some_replicas_give_is_theirs_in_the_next_run():
    lines = run(BEGIN + """
strategy.set_speeds([0, 1])
batch = next(iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(4))))


def twice(batch):
    doubled = strategy.run(lambda x: {"rows": x * 2, "sum": tf.reduce_sum(x)}, args=(batch,))
    return strategy.run(lambda x, more: x + more["rows"] + more["sum"], args=(batch, doubled)), doubled


for run in (twice, tf.function(twice)):
    made, doubled = run(batch)
    assert strategy.gather(made, 0).numpy().tolist() == [6, 9, 12, 15]
    assert [one["rows"].numpy().tolist() for one in strategy.experimental_local_results(doubled)] == [[0, 2, 4, 6]]
print("kept apart")
""", gpus=0)  # fmt: skip
    assert lines == ["kept apart"]


def test_a_traced_function_may_be_given_to_run_but_not_be_called_by_each_replica_to_meet_the_others():
    lines = run(BEGIN + """
together = tf.function(lambda x: context().all_reduce("SUM", x * 2))
assert [local(strategy.run(together, args=(tf.constant(n),))) for n in (1.0, 2.0)] == [[4, 4], [8, 8]]
told(lambda: strategy.run(lambda: together(tf.constant(1.0))))
""", gpus=0)  # fmt: skip
    assert len(lines) == 1 and lines[0].startswith("RuntimeError: all_reduce: replicas cannot meet inside a `tf.function` that each of them calls by itself")


def test_a_model_learns_from_and_is_tested_on_a_distributed_dataset_also_when_a_device_has_left():
    lines = run("""
import numpy as np
import tandemflow as tf
from tandemflow import _tandem

keras = tf.keras
x = np.random.RandomState(0).rand(20, 3).astype("float32")
batches = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).batch(8)


def program(strategy, fault=""):
    with strategy.scope():
        tf.random.set_seed(1)
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.1), "mse")
    distributed = strategy.experimental_distribute_dataset(batches)
    _tandem.set_faults(fault)
    seen = model.fit(distributed, epochs=3, verbose=0).history["loss"]
    _tandem.set_faults("")
    return np.concatenate([seen, [model.evaluate(distributed, verbose=0)], model.predict(distributed, verbose=0).ravel()])


one = program(tf.distribute.OneDeviceStrategy("/CPU:0"))
for fault in ("", "plan.device:4"):
    strategy = tf.distribute.MirroredStrategy(["/CPU:0", "/GPU:0"])
    np.testing.assert_allclose(program(strategy, fault), one, rtol=1e-5)
    print(len(strategy.devices))
""", gpus=1)  # fmt: skip
    assert lines == ["2", "1"]


def test_datasets_are_divided_also_in_loops_of_traced_functions():
    lines = run(BEGIN + """
batches = tf.data.Dataset.range(10).batch(4)
divided = strategy.experimental_distribute_dataset(batches)
print([local(batch) for batch in divided])
print([local(batch) for batch in strategy.experimental_distribute_dataset(tf.data.Dataset.range(3).batch(1))])
iterator = iter(divided)
print(local(next(iterator)), local(iterator.get_next()))
found = []
while (following := iterator.get_next_as_optional()).has_value():
    found.append(local(following.get_value()))
print(found)
told(iterator.get_next)
by_replica = strategy.distribute_datasets_from_function(lambda context: tf.data.Dataset.range(10).batch(context.get_per_replica_batch_size(4)))
print([local(batch) for batch in by_replica])
print(local(iter(by_replica).get_next_as_optional().get_value()))

def added(batch):
    return strategy.reduce("SUM", strategy.run(tf.reduce_sum, args=(batch,)), axis=None)

@tf.function
def epoch(batches):
    total = tf.constant(0, tf.int64)
    for batch in batches:
        total += added(batch)
    return total

print(int(epoch(divided)), int(epoch(by_replica)), int(epoch(iter(divided))))  # a smaller last batch among them

@tf.function
def three(iterator):
    total = tf.constant(0, tf.int64)
    for _ in tf.range(3):
        total += added(next(iterator))
    return total

print(int(three(iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(12).batch(4, drop_remainder=True))))))
print(divided.element_spec)

@tf.function(input_signature=[divided.element_spec])
def given(batch):
    return added(batch)

print([int(given(batch)) for batch in divided])
told(lambda: next(iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(3)))))
told(lambda: strategy.distribute_datasets_from_function(lambda context: tf.data.Dataset.range(3).batch(context.get_per_replica_batch_size(3))))
""", gpus=0)  # fmt: skip
    assert lines[0] == "[[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8], [9]]]"
    assert lines[1] == "[[[0], []], [[1], []], [[2], []]]"
    assert lines[2] == "[[0, 1], [2, 3]] [[4, 5], [6, 7]]"
    assert lines[3] == "[[[8], [9]]]"
    assert lines[4] == "OutOfRangeError: End of sequence"
    assert lines[5] == "[[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9], []]]"
    assert lines[6] == "[[0, 1], [2, 3]]"
    assert lines[7] == "45 45 45" and lines[8] == "66"
    assert "".join(lines[9:-3]).count("TensorSpec(shape=(None,), dtype=tf.int64") == 2
    assert lines[-3] == "[6, 22, 17]"
    assert lines[-2].startswith("ValueError: a distributed dataset divides batches along their first axis")
    assert lines[-1] == "ValueError: The `global_batch_size` 3 is not divisible by `num_replicas_in_sync` 2 "


def test_values_are_those_of_tensorflow():
    lines = run(BEGIN + """
values = strategy.experimental_distribute_values_from_function(lambda ctx: tf.constant([1.0, 2.0]) * (ctx.replica_id_in_sync_group + 1))
for op in ("SUM", "mean", tf.distribute.ReduceOp.SUM):
    print([np.asarray(strategy.reduce(op, values, axis=axis)).tolist() for axis in (None, 0, -1)])
print(local(strategy.run(lambda a, b: a + b, args=(values,), kwargs={"b": values})), strategy.gather(values, axis=0).numpy().tolist())
print(strategy.run(lambda: None), strategy.run(lambda: 5), isinstance(values, tf.distribute.DistributedValues), type(values).__name__)
print(local(strategy.run(lambda: context().replica_id_in_sync_group)), strategy.gather(tf.constant([1, 2]), axis=0).numpy().tolist())

def merge(strategy, value):
    return strategy.extended.reduce_to("SUM", value, "/CPU:0"), strategy.extended.batch_reduce_to("MEAN", [(value, None)] * 2)[1]

first, second = strategy.run(lambda: context().merge_call(merge, args=(tf.constant(2.0) + context().replica_id_in_sync_group,)))
print(local(first), local(second))
with strategy.scope():
    variable = tf.Variable(3.0)

def subtract(strategy, gradient):
    total = strategy.extended.reduce_to("SUM", gradient, variable)
    return strategy.extended.update(variable, lambda v, g: v.assign_sub(g), args=(total,))

strategy.run(lambda: context().merge_call(subtract, args=(tf.constant(1.0),)))
print(float(variable), len(strategy.extended.worker_devices), strategy.extended.variable_created_in_scope(variable))

def losses():
    each = tf.constant([1.0, 2.0, 3.0])
    return (tf.nn.compute_average_loss(each), tf.nn.compute_average_loss(each, global_batch_size=12),
            tf.nn.compute_average_loss(each, sample_weight=tf.constant([1.0, 0.0, 2.0])), tf.nn.scale_regularization_loss(tf.constant([1.0, 3.0])))

print([[round(one, 4) for one in local(loss)] for loss in strategy.run(losses)])
told(lambda: strategy.run(lambda: strategy.run(lambda: 1)))
told(lambda: tf.distribute.MirroredStrategy(["banana"]))
told(lambda: tf.distribute.MirroredStrategy(["/CPU:0", "/cpu:0"]))
told(lambda: strategy.gather(strategy.run(lambda: tf.constant(1)), axis=0))
told(lambda: strategy.run(lambda: tf.nn.compute_average_loss(tf.constant([1.0, 2.0]), global_batch_size=-1)))
with strategy.scope():
    with strategy.scope():
        print(tf.distribute.get_strategy() is strategy)
""", gpus=0)  # fmt: skip
    assert lines[:3] == ["[[3.0, 6.0], 9.0, 9.0]", "[[1.5, 3.0], 2.25, 2.25]", "[[3.0, 6.0], 9.0, 9.0]"]
    assert lines[3:6] == ["[[2.0, 4.0], [4.0, 8.0]] [1.0, 2.0, 2.0, 4.0]", "None 5 True PerReplica", "[0, 1] [1, 2]"]
    assert lines[6:8] == ["[5.0] [2.5]", "1.0 2 True"]
    assert lines[8] == "[[1.0, 1.0], [0.5, 0.5], [1.1667, 1.1667], [2.0, 2.0]]"
    assert lines[9].startswith("RuntimeError: Method requires being in cross-replica context, use get_replica_context().merge_call()")
    assert lines[10] == "ValueError: Device /BANANA:0 is not available; the devices are /CPU:0, /CPU:1"
    assert "No duplicates allowed in `devices` argument" in lines[11]
    assert lines[12].startswith("ValueError: Expected non-scalar values")
    assert lines[13:] == ["InvalidArgumentError: global_batch_size must be non-negative, got -1", "True"]


# What TensorFlow gives with one CPU device: with two, its own program fails for the optimizer inside tf.function.
TUTORIAL = """
r = np.random.RandomState(0)
WEIGHTS = [r.randn(6, 8).astype("float32") * 0.3, np.zeros(8, "float32"), r.randn(8, 3).astype("float32") * 0.3, np.zeros(3, "float32")]
x = r.rand(64, 6).astype("float32")
y = (x @ r.randn(6, 3)).argmax(-1).astype("int64")
keras = tf.keras
Loss = keras.losses.SparseCategoricalCrossentropy


def build():
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(3)])
    model.set_weights(WEIGHTS)
    return model


def rounded(values):
    return [round(float(value), 4) for value in values]
"""


def test_the_tutorial_of_custom_loops_gives_the_values_of_tensorflow():
    lines = run(BEGIN + TUTORIAL + """
BATCH = 16
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH)
train_dataset, test_dataset = (strategy.experimental_distribute_dataset(dataset) for _ in range(2))
with strategy.scope():
    loss_object = Loss(from_logits=True, reduction=None)

    def compute_loss(labels, predictions, model_losses):
        loss = tf.nn.compute_average_loss(loss_object(labels, predictions), global_batch_size=BATCH)
        return loss + tf.nn.scale_regularization_loss(tf.add_n(model_losses)) if model_losses else loss

    test_loss = keras.metrics.Mean(name="test_loss")
    train_accuracy = keras.metrics.SparseCategoricalAccuracy(name="train_accuracy")
    test_accuracy = keras.metrics.SparseCategoricalAccuracy(name="test_accuracy")
    model = build()
    optimizer = keras.optimizers.Adam(learning_rate=0.01)
    checkpoint = tf.train.Checkpoint(optimizer=optimizer, model=model)


def train_step(inputs):
    images, labels = inputs
    with tf.GradientTape() as tape:
        predictions = model(images, training=True)
        loss = compute_loss(labels, predictions, model.losses)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    train_accuracy.update_state(labels, predictions)
    return loss


def test_step(inputs):
    images, labels = inputs
    predictions = model(images, training=False)
    test_loss.update_state(loss_object(labels, predictions))
    test_accuracy.update_state(labels, predictions)


@tf.function
def distributed_train_step(inputs):
    return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(train_step, args=(inputs,)), axis=None)


@tf.function
def distributed_test_step(inputs):
    return strategy.run(test_step, args=(inputs,))


prefix = os.path.join(tempfile.mkdtemp(), "ckpt")
for epoch in range(3):
    total_loss, num_batches = 0.0, 0
    for inputs in train_dataset:
        total_loss += distributed_train_step(inputs)
        num_batches += 1
    for inputs in test_dataset:
        distributed_test_step(inputs)
    if epoch % 2 == 0:
        checkpoint.save(prefix)
    print(rounded([total_loss / num_batches, train_accuracy.result(), test_loss.result(), test_accuracy.result()]))
    for metric in (test_loss, train_accuracy, test_accuracy):
        metric.reset_state()

eval_accuracy = keras.metrics.SparseCategoricalAccuracy(name="eval_accuracy")
alone = build()  # a checkpoint says nothing of the strategy
tf.train.Checkpoint(optimizer=keras.optimizers.Adam(), model=alone).restore(tf.train.latest_checkpoint(os.path.dirname(prefix)))
for images, labels in dataset:
    eval_accuracy(labels, alone(images, training=False))
print(rounded([eval_accuracy.result()]))
iterator = iter(train_dataset)
print(rounded([distributed_train_step(next(iterator)) for _ in range(3)]))


@tf.function
def distributed_train_epoch(dataset):
    total_loss, num_batches = 0.0, 0
    for inputs in dataset:
        per_replica_losses = strategy.run(train_step, args=(inputs,))
        total_loss += strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica_losses, axis=None)
        num_batches += 1
    return total_loss / tf.cast(num_batches, dtype=tf.float32)


print(rounded([distributed_train_epoch(train_dataset)]))
""", gpus=0)
    assert_close(lines, [
        [1.1254, 0.3281, 0.9698, 0.7656], [0.9035, 0.875, 0.7952, 0.9375], [0.7437, 0.9375, 0.6557, 0.9375], [0.9375],
        [0.6649, 0.5555, 0.603], [0.5264],
    ])  # fmt: skip


def test_fit_in_a_scope_with_callbacks_gives_the_values_of_tensorflow():
    lines = run(BEGIN + TUTORIAL + """
def compiled():
    with strategy.scope():
        model = build()
        model.compile(keras.optimizers.Adam(0.01), Loss(from_logits=True), metrics=["accuracy"])
    return model

rates = []

class Rates(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        rates.append(round(float(self.model.optimizer.learning_rate.numpy()), 5))

folder = tempfile.mkdtemp()
callbacks = [
    keras.callbacks.ModelCheckpoint(filepath=folder + "/{epoch}.weights.h5", save_weights_only=True),
    keras.callbacks.LearningRateScheduler(lambda epoch: 1e-2 if epoch < 2 else 1e-3), Rates(),
    keras.callbacks.EarlyStopping(monitor="loss", patience=10), keras.callbacks.TerminateOnNaN(),
    keras.callbacks.ReduceLROnPlateau(monitor="loss", patience=5),
]
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
model = compiled()
history = model.fit(dataset, epochs=4, callbacks=callbacks, verbose=0, validation_data=dataset).history
print(rounded(history["accuracy"] + history["loss"] + history["val_loss"] + rates))
model.load_weights(folder + "/3.weights.h5")
model.save(folder + "/m.keras")
with strategy.scope():
    again = keras.models.load_model(folder + "/m.keras")
for one in (model, keras.models.load_model(folder + "/m.keras"), again):
    print(rounded(one.evaluate(dataset, verbose=0)))
print(rounded([np.abs(model.predict(dataset, verbose=0)).sum()]))

class Interrupt(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2:
            raise RuntimeError("interrupted")

backup = keras.callbacks.BackupAndRestore(folder + "/backup")
try:
    compiled().fit(x, y, batch_size=16, epochs=4, verbose=0, shuffle=False, callbacks=[backup, Interrupt()])
except RuntimeError as error:
    print(error)
history = compiled().fit(x, y, batch_size=16, epochs=4, verbose=0, shuffle=False, callbacks=[keras.callbacks.BackupAndRestore(folder + "/backup")])
print(rounded(history.history["loss"] + history.epoch))
model = compiled()
print(rounded(model.fit(strategy.experimental_distribute_dataset(dataset), epochs=2, verbose=0).history["loss"]))
""", gpus=0)  # fmt: skip
    assert lines.pop(5) == "interrupted"
    assert_close(lines, [
        [0.3281, 0.875, 0.9375, 0.9375, 1.1254, 0.9035, 0.7898, 0.7751, 0.9698, 0.7952, 0.7803, 0.7658, 0.01, 0.01, 0.001, 0.001],
        *[[0.7803, 0.9375]] * 3, [70.2218], [0.7437, 0.6121, 2, 3], [1.1254, 0.9035],
    ])  # fmt: skip
