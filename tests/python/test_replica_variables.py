"""Variables and losses in replicas: the values of TensorFlow 2.21 with two logical CPU devices."""
from test_distribute import run

PROGRAM = """
import numpy as np
import tandemflow as tf

tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["/CPU:0", "/CPU:1"])


def me():
    return tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)


def told(call, kind):
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind}")


with strategy.scope():
    counter = tf.Variable(0)
    first = tf.Variable(0.0, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)
    seen = tf.keras.metrics.Mean()
outside = tf.Variable(0)


@tf.function
def count():
    def replica():
        counter.assign_add(1)
        outside.assign_add(1)
        return counter.read_value()

    return strategy.run(replica)


assert [[int(v) for v in count().values] for _ in range(2)] == [[1, 1], [2, 2]]  # once for all
assert int(counter) == 2 and int(outside) == 4
strategy.run(lambda: first.assign_add(me() + 5))
assert float(first) == 5
assert float(strategy.run(lambda: (seen.update_state(me()), seen.result())[1])) == 0.5  # of what all have seen
assert str(counter.aggregation).endswith("NONE") and str(counter.synchronization).endswith("ON_WRITE")
assert str(outside.synchronization).endswith("AUTO") and first.aggregation is tf.VariableAggregation.ONLY_FIRST_REPLICA
assert strategy.extended.variable_created_in_scope(counter) and not strategy.extended.variable_created_in_scope(outside)

# A loss of Keras in a replica is its share of that of the whole batch.
y = np.arange(8.0).reshape(4, 2).astype("float32")
batches = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices((y, y * 2)).batch(4))
for reduction, expected in {"sum_over_batch_size": [1.75, 15.75], "sum": [7.0, 63.0]}.items():
    loss = tf.keras.losses.MeanSquaredError(reduction=reduction)
    for batch in batches:
        assert [float(v) for v in strategy.run(lambda batch: loss(*batch), args=(batch,)).values] == expected, reduction

losses = tf.constant([1.0, 2.0, 3.0])
average = tf.nn.compute_average_loss
assert float(average(losses, global_batch_size=0)) == 0
assert [float(v) for v in strategy.run(lambda: average(tf.ones((2, 3)), sample_weight=tf.constant([1.0, 2.0]), global_batch_size=4)).values] == [2.25, 2.25]
assert float(average(tf.constant([1, 2, 3]), global_batch_size=6)) == 1
assert "at least rank 1" in told(lambda: average(tf.constant(4.0)), ValueError)
assert "must be an integer" in told(lambda: average(losses, global_batch_size=2.5), TypeError)
assert "must be scalar" in told(lambda: average(losses, global_batch_size=tf.constant([2])), ValueError)
with strategy.scope():
    assert "cross replica context" in told(lambda: tf.nn.scale_regularization_loss(tf.constant(3.0)), RuntimeError)
    assert float(average(losses, global_batch_size=3)) == 2  # nothing has to be known of replicas

assert float(strategy.reduce("SUM", tf.constant([1.0, 2.0]), axis=0)) == 6  # every replica has it
assert strategy.experimental_local_results([1, 2]) == ([1, 2], [1, 2]) and strategy.experimental_local_results(1) == (1,)
apart = strategy.experimental_local_results({"a": strategy.run(me)})
assert [float(one["a"]) for one in apart] == [0, 1]
assert str(tf.distribute.InputContext(2, 1, 4)) == "tf.distribute.InputContext(input pipeline id 1, total: 2)"
told(lambda: tf.distribute.MirroredStrategy(["/CPU:0", "/CPU:0"]), AssertionError)
print("as TensorFlow")
"""


def test_variables_losses_and_values_in_replicas_are_those_of_tensorflow():
    assert run(PROGRAM, gpus=0)[-1] == "as TensorFlow"
