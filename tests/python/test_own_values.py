"""Variables of which each replica has its own value: the numbers and messages of TensorFlow 2.21 with two logical CPU devices."""
from test_distribute import run

PROGRAM = """
import tempfile
import tandemflow as tf

tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["/CPU:0", "/CPU:1"])
How, ON_READ = tf.VariableAggregation, tf.VariableSynchronization.ON_READ


def me():
    return tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)


def own(variable):
    return [float(one) for one in strategy.experimental_local_results(variable)]


def told(call):
    try:
        return call()
    except ValueError as error:
        return str(error)


def step(variable):
    def body():
        variable.assign_add(me() + 1)
        variable.assign_sub(0.5)
        return variable.read_value() * 2 + variable
    return strategy.run(body)


def saved_and_restored(variable):
    path = tf.train.Checkpoint(v=variable).save(tempfile.mkdtemp() + "/c")
    plain = tf.Variable(0.0)
    tf.train.Checkpoint(v=plain).restore(path)
    variable.assign(0.0)
    tf.train.Checkpoint(v=variable).restore(path)
    return [float(plain), float(variable.numpy()), own(variable)]


read = {"SUM": (8, 10, 10, 5), "MEAN": (4, 5, 10, 2.5), "ONLY_FIRST_REPLICA": (4, 4.5, 10, 1)}  # as made, after a step, assigned outside, in replicas
for how in (How.SUM, How.MEAN, How.ONLY_FIRST_REPLICA):
    made, stepped, outside, inside = read[how.name]
    for wrap in (lambda f: f, tf.function):
        with strategy.scope():
            v = tf.Variable(4.0, synchronization=ON_READ, aggregation=how)
        assert not v.trainable and v.synchronization is ON_READ and v.aggregation is how
        assert float(v.numpy()) == made and own(v) == [4, 4]
        assert own(wrap(lambda: step(v))()) == [13.5, 16.5] and own(v) == [4.5, 5.5]
        assert [float(v.numpy()), float(v.read_value()), float(v + 1), float(wrap(lambda: v * 2)())] == [stepped, stepped, stepped + 1, stepped * 2]
        v.assign(10.0)
        assert float(v) == outside and own(v) == ([5, 5] if how is How.SUM else [10, 10])
        strategy.run(lambda: v.assign(me() * 3 + 1))
        assert float(v) == inside and own(v) == [1, 4]
        assert float(strategy.reduce("SUM", v, axis=None)) == 5 and float(strategy.reduce("MEAN", v, axis=None)) == 2.5
        assert saved_and_restored(v) == [inside, inside, [2.5, 2.5] if how is How.SUM else [inside, inside]], (how, saved_and_restored(v))
        with strategy.scope():
            assert float(v.read_value()) == inside  # for all replicas together
        if how is not How.SUM:
            v.assign_add(1.0)
            assert float(v.assign_sub(0.5)) == inside + 0.5

with strategy.scope():
    total = tf.Variable(1.0, synchronization=ON_READ, aggregation=How.SUM)
    apart = tf.Variable(1.0, synchronization=ON_READ)
    whole = tf.Variable(3, synchronization=ON_READ, aggregation=How.SUM)
    print(told(lambda: tf.Variable(3, aggregation=How.MEAN, trainable=False)))
print(told(lambda: total.assign_add(1.0)))
print(told(lambda: total.assign_sub(1.0)))
strategy.run(lambda: apart.assign_add(me()))
assert own(apart) == [1, 2]
print(told(apart.numpy))
whole.assign(7)
assert int(whole) == 6 and own(whole) == [3, 3]
assert not tf.Variable(1.0, synchronization=ON_READ).trainable
with tf.distribute.OneDeviceStrategy("/CPU:0").scope():
    alone = tf.Variable(2.0, synchronization=ON_READ, aggregation=How.SUM)
assert float(alone.assign_add(1.0)) == 3
"""


def test_each_replica_has_its_own_value_and_reading_outside_brings_them_together():
    mean, add, sub, none = run(PROGRAM, gpus=0)
    assert mean == "creating distributed tf.Variable with aggregation=MEAN and a non-floating dtype is not supported, please use a different aggregation or dtype"
    refused = "SyncOnReadVariable does not support `{}` in cross-replica context when aggregation is set to `tf.VariableAggregation.SUM`."
    assert (add, sub) == (refused.format("assign_add"), refused.format("assign_sub"))
    assert none.startswith("Could not convert from `tf.VariableAggregation`") and none.endswith("NONE to`tf.distribute.ReduceOp` type")
