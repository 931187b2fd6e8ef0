"""Programs under a strategy as real ones are: their own steps, datasets of replicas, losses of layers."""
from test_distribute import run

BEGIN = """
import numpy as np
import tandemflow as tf

keras = tf.keras
x = np.random.RandomState(0).rand(40, 6).astype("float32")
y = x.sum(1, keepdims=True)
two = ["/CPU:0", "/GPU:0"]
"""


def test_shards_of_own_steps_and_of_distributed_datasets_stay_even_whatever_was_measured():
    lines = run(BEGIN + """
seen = set()


class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        x, y = data
        seen.add(x.shape[0])
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self(x, training=True) - y))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {"loss": loss, "replica": tf.distribute.get_replica_context().replica_id_in_sync_group}


strategy = tf.distribute.MirroredStrategy(two)
strategy.take_seconds([1.0, 9.0], 9)  # as a fit of another model may have found
print(strategy.sizes(20))
with strategy.scope():
    model = Own()
    model.compile("sgd")
logs = model.fit(x, y, batch_size=20, epochs=200, verbose=0).history
dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(x).batch(20))
print(sorted(seen), [tuple(part.shape) for part in next(iter(dataset)).values], logs["replica"][0])
strategy.set_speeds([3, 1])
print([tuple(part.shape) for part in next(iter(dataset)).values])
""", gpus=1)  # fmt: skip
    assert lines == ["[18, 2]", "[10] [(10, 6), (10, 6)] 0.0", "[(15, 6), (5, 6)]"]


def test_what_layers_add_to_the_loss_counts_in_evaluations_as_on_one_device():
    lines = run(BEGIN + """
def values(strategy):
    tf.random.set_seed(1)
    with strategy.scope():
        model = keras.Sequential([
            keras.Input((6,)), keras.layers.Dense(8, activity_regularizer="l2", kernel_regularizer="l1"),
            keras.layers.ActivityRegularization(l1=0.1), keras.layers.Dense(1),
        ])
        model.compile("sgd", "mse")
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
    return model.evaluate(x, y, batch_size=16, verbose=0), model.test_on_batch(x, y), model.evaluate(dataset, verbose=0)


mirrored = tf.distribute.MirroredStrategy(two)
mirrored.set_speeds([3, 1])
np.testing.assert_allclose(values(mirrored), values(tf.distribute.OneDeviceStrategy("/CPU:0")), rtol=1e-5)
print("equal")
""", gpus=1)  # fmt: skip
    assert lines == ["equal"]


def test_a_loss_without_reduction_trains_as_on_one_device():
    lines = run(BEGIN + """
def weights(strategy):
    tf.random.set_seed(1)
    with strategy.scope():
        model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.001), keras.losses.MeanSquaredError(reduction=None))
    model.fit(x, y, batch_size=16, shuffle=False, verbose=0)
    return model.get_weights()[0]


mirrored = tf.distribute.MirroredStrategy(two)
mirrored.set_speeds([3, 1])
np.testing.assert_allclose(weights(mirrored), weights(tf.distribute.OneDeviceStrategy("/CPU:0")), rtol=1e-5)
print("equal")
""", gpus=1)  # fmt: skip
    assert lines == ["equal"]


def test_a_metric_that_an_own_loss_updates_counts_the_steps_only():
    lines = run(BEGIN + """
class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense, self.count = keras.layers.Dense(1), keras.metrics.Sum(name="count")

    def call(self, x):
        return self.dense(x)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        self.count.update_state(tf.cast(tf.shape(y)[0], tf.float32))
        return tf.reduce_mean(tf.square(y - y_pred))


with tf.distribute.MirroredStrategy(two).scope():
    model = Own()
    model.compile("sgd")
print(model.fit(x, y, batch_size=20, verbose=0).history["count"])
""", gpus=1)  # fmt: skip
    assert lines == ["[40.0]"]


def test_a_function_may_ask_for_optional_elements():
    lines = run(BEGIN + """
strategy = tf.distribute.MirroredStrategy(two)
dataset = tf.data.Dataset.from_tensor_slices(np.arange(16.0).astype("float32")).batch(4)


@tf.function
def total(iterator):
    sum = 0.0
    for _ in tf.range(6):
        following = iterator.get_next_as_optional()
        if not following.has_value():
            break
        sum += strategy.reduce("SUM", strategy.run(lambda x: x * 2, args=(following.get_value(),)), axis=0)
    return sum


@tf.function
def count(iterator):
    following, n = iterator.get_next_as_optional(), 0
    while following.has_value():
        n += 1
        following = iterator.get_next_as_optional()
    return n


print(float(total(iter(strategy.experimental_distribute_dataset(dataset)))), int(count(iter(dataset))))
""", gpus=1)  # fmt: skip
    assert lines == ["240.0 4"]


def test_a_dataset_by_replica_begins_again_for_every_epoch_and_run_takes_options():
    lines = run(BEGIN + """
strategy = tf.distribute.MirroredStrategy(two)
with strategy.scope():
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
made = strategy.distribute_datasets_from_function(
    lambda context: tf.data.Dataset.from_tensor_slices((x, y)).batch(context.get_per_replica_batch_size(10)))
print(len(model.fit(made, epochs=3, steps_per_epoch=4, verbose=0).history["loss"]), int(model.optimizer.iterations), made.cardinality())
print(strategy.experimental_local_results(strategy.run(lambda: tf.constant(1), options=tf.distribute.RunOptions()))[0].numpy())
""", gpus=1)  # fmt: skip
    assert lines == ["3 12 4", "1"]


def test_without_gpus_the_default_is_the_cpu_or_all_logical_ones():
    program = """
import sys
import tandemflow as tf

if len(sys.argv) > 1:
    parts = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], parts)
print(tf.distribute.MirroredStrategy().devices)
"""
    assert run(program, gpus=0) == ["['/CPU:0']"]
    assert run(program, "two", gpus=0) == ["['/CPU:0', '/CPU:1']"]


ROWS = """
import contextlib
import numpy as np
import tandemflow as tf

keras = tf.keras
keras.backend.set_floatx("float64")
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
x = np.random.RandomState(0).randint(0, 4, (42, 5))  # four words: every batch names each many times
y = np.random.RandomState(1).rand(42, 1)
optimizers = [
    lambda: keras.optimizers.Adam(0.01), lambda: keras.optimizers.Adamax(0.01), lambda: keras.optimizers.Adagrad(0.1),
    lambda: keras.optimizers.Adam(0.01, clipnorm=0.05), lambda: keras.optimizers.RMSprop(0.01, clipvalue=0.005),
    lambda: keras.optimizers.Adam(0.01, global_clipnorm=0.05), lambda: keras.optimizers.Adadelta(1.0),
]


def train(strategy, optimizer):
    tf.random.set_seed(1)
    with strategy.scope() if strategy else contextlib.nullcontext():
        model = keras.Sequential([keras.Input((5,), dtype="int32"), keras.layers.Embedding(4, 3), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1)])
        model.compile(optimizer(), "mse")
    tf.random.set_seed(2)
    return model.fit(x, y, batch_size=8, epochs=4, verbose=0).history["loss"], model.get_weights()[0]


for number, optimizer in enumerate(optimizers):
    one = train(None, optimizer)
    for speeds, sharded in [([1, 1], False), ([3, 1], False), ([1, 2], True)]:
        strategy = tf.distribute.MirroredStrategy(["/CPU:0", "/CPU:1"], sharded=sharded)
        strategy.set_speeds(speeds)
        for several, alone in zip(train(strategy, optimizer), one):
            np.testing.assert_allclose(several, alone, rtol=1e-9, err_msg=f"{number} {speeds} {sharded}")
print("equal")
"""


def test_rows_of_an_embedding_that_a_batch_names_twice_count_as_on_one_device():
    assert run(ROWS, gpus=0) == ["equal"]


def test_ragged_and_sparse_batches_are_divided_and_replicas_may_have_datasets_of_their_own():
    lines = run("""
import tandemflow as tf

tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["/CPU:0", "/CPU:1"])
ragged = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 3], [], [4]])).batch(3)
for batch in strategy.experimental_distribute_dataset(ragged):
    print([part.to_list() for part in strategy.experimental_local_results(batch)])
sparse = tf.data.Dataset.from_tensors(tf.sparse.from_dense([[1, 0], [0, 2], [3, 0]]))
for batch in strategy.experimental_distribute_dataset(sparse):
    print([tf.sparse.to_dense(part).numpy().tolist() for part in strategy.experimental_local_results(batch)])

each = tf.distribute.InputOptions(experimental_replication_mode=tf.distribute.InputReplicationMode.PER_REPLICA)
seen = []
def dataset(context):
    seen.append((context.num_input_pipelines, context.input_pipeline_id, context.num_replicas_in_sync))
    return tf.data.Dataset.range(10 * context.input_pipeline_id, 10 * context.input_pipeline_id + 4).batch(2)
own = strategy.distribute_datasets_from_function(dataset, options=each)
print(seen, int(own.cardinality()))
print([[part.numpy().tolist() for part in strategy.experimental_local_results(batch)] for batch in own])
@tf.function
def total():
    found = tf.constant(0, tf.int64)
    for batch in own:
        found += strategy.reduce("SUM", strategy.run(tf.reduce_sum, args=(batch,)), axis=None)
    return found
print(int(total()))
try:
    strategy.experimental_distribute_dataset(ragged, options=each)
except NotImplementedError as error:
    print(error)
fixed = strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(4, drop_remainder=True))
print(isinstance(fixed, tf.distribute.DistributedDataset), isinstance(iter(fixed), tf.distribute.DistributedIterator))
print([spec.shape.as_list() for spec in iter(fixed).element_spec], isinstance(strategy.extended, tf.distribute.StrategyExtended))
pairs = strategy.experimental_distribute_values_from_function(lambda context: (context.num_replicas_in_sync, context.replica_id_in_sync_group))
print([strategy.experimental_local_results(part) for part in pairs])
try:
    with strategy.scope():
        tf.distribute.OneDeviceStrategy("/CPU:0").run(lambda: 1)
except RuntimeError as error:
    print(str(error)[:50])
""", gpus=0)
    assert lines == [
        "[[[1], [2, 3]], [[]]]", "[[[4]], []]", "[[[1, 0], [0, 2]], [[3, 0]]]",
        "[(2, 0, 2), (2, 1, 2)] 2", "[[[0, 1], [10, 11]], [[2, 3], [12, 13]]]", "52",
        "InputReplicationMode.PER_REPLICA is only supported in `distribute_datasets_from_function`.",
        "True True", "[[2], [2]] True", "[(2, 2), (0, 1)]", "Mixing different tf.distribute.Strategy objects: <",
    ]  # fmt: skip


EXACT = """
import contextlib
import numpy as np
import tandemflow as tf

keras = tf.keras
keras.backend.set_floatx("float64")
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
x = 60 * np.random.RandomState(0).randn(42, 5)  # logits far apart: probabilities that are 1 and 0
labels, numbers = np.random.RandomState(1).randint(0, 3, 42), np.random.RandomState(2).rand(42, 1)


def train(strategy):
    tf.random.set_seed(1)
    with strategy.scope() if strategy else contextlib.nullcontext():
        inputs = keras.Input((5,))
        model = keras.Model(inputs, {"a": keras.layers.Dense(3, activation="softmax", name="a")(inputs), "b": keras.layers.Dense(1, activation="sigmoid", name="b")(inputs)})
        model.compile("sgd", {"a": "sparse_categorical_crossentropy", "b": "binary_crossentropy"}, metrics={"a": ["sparse_categorical_crossentropy", "accuracy"]})
    history = model.fit(x, {"a": labels, "b": numbers}, batch_size=8, epochs=2, shuffle=False, validation_data=(x, {"a": labels, "b": numbers}), verbose=0).history
    return {name: values for name, values in history.items()}


one = train(None)
assert one["val_loss"][0] > 20  # more than the entropy of a probability that was clipped
for speeds in ([1, 1], [3, 1], [1, 0]):
    strategy = tf.distribute.MirroredStrategy(["/CPU:0", "/CPU:1"])
    strategy.set_speeds(speeds)
    several = train(strategy)
    assert several.keys() == one.keys() and "a_loss" in one
    for name, values in one.items():
        np.testing.assert_allclose(several[name], values, rtol=1e-9, err_msg=f"{name} {speeds}")
print("equal")
"""


def test_losses_of_each_output_and_entropies_of_saturated_outputs_are_those_of_one_device():
    assert run(EXACT, gpus=0) == ["equal"]


def test_a_metric_is_read_where_it_survives_the_loss_of_a_device():
    lines = run("""
import copy
import numpy as np
import tandemflow as tf

keras = tf.keras
x = np.random.RandomState(0).rand(20, 6).astype("float32")
y = (x.sum(1, keepdims=True) > 3).astype("float32")
strategy = tf.distribute.MirroredStrategy(["/CPU:0", "/GPU:0"])
with strategy.scope():
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(1, activation="sigmoid")])
    model.compile("sgd", "binary_crossentropy", metrics=["AUC"])
    own = keras.metrics.AUC()
model.train_on_batch(x, y)
strategy.run(lambda: own.update_state(y, y))
with tf.device("/GPU:0"):  # where an op of its own would be
    print({"CPU" in value.device for value in model.get_metrics_result().values()}, "CPU" in own.result().device)
print(copy.deepcopy(strategy) is strategy)
""", gpus=1)
    assert lines == ["{True} True", "True"]


def test_what_layers_add_to_the_loss_is_not_mixed_where_replicas_meet_in_the_middle():
    lines = run("""
import numpy as np
import tandemflow as tf

keras = tf.keras
keras.backend.set_floatx("float64")
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
x = np.random.RandomState(0).rand(42, 5)
y = x.sum(1, keepdims=True)


class Own(keras.Sequential):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y, self(x, training=True))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return self.compute_metrics(x, y, self(x, training=False))


def train(strategy, kind, eager):
    tf.random.set_seed(1)
    with strategy.scope():
        model = kind([keras.Input((5,)), keras.layers.Dense(4, use_bias=False), keras.layers.BatchNormalization(synchronized=True),
                      keras.layers.ActivityRegularization(l2=0.5), keras.layers.Dense(1, activity_regularizer="l1")])
        model.compile(keras.optimizers.SGD(0.01), "mse", run_eagerly=eager)
    history = model.fit(x, y, batch_size=8, epochs=3, shuffle=False, validation_data=(x, y), verbose=0).history
    return history["loss"] + history["val_loss"]


for kind in (keras.Sequential, Own):
    for eager in (False, True):
        one = train(tf.distribute.OneDeviceStrategy("/CPU:0"), kind, eager)
        strategy = tf.distribute.MirroredStrategy(["/CPU:0", "/CPU:1"])
        np.testing.assert_allclose(train(strategy, kind, eager), one, rtol=1e-9, err_msg=f"{kind} {eager}")
print("equal")
""", gpus=0)
    assert lines == ["equal"]
