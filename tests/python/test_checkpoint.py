"""tf.Module, tf.train.Checkpoint and CheckpointManager; what a kill leaves of files."""
import os
import subprocess
import sys
import time

import numpy as np
import pytest
import tandemflow as tf


class Dense(tf.Module):
    def __init__(self, inputs, outputs, name=None):
        super().__init__(name)
        self.w = tf.Variable(tf.random.normal([inputs, outputs]), name="w")
        self.b = tf.Variable(tf.zeros([outputs]), name="b")
        self.steps = tf.Variable(0, trainable=False)

    @tf.function
    def __call__(self, x):
        return tf.nn.relu(tf.matmul(x, self.w) + self.b)


class Network(tf.Module):
    def __init__(self):
        super().__init__()
        self.layers = [Dense(3, 4, "first"), Dense(4, 2)]
        self.named = {"extra": tf.Variable(1.0)}

    @tf.Module.with_name_scope
    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def test_a_module_knows_its_variables():
    network = Network()
    assert network.name == "network" and [m.name for m in network.submodules] == ["first", "dense"]
    assert len(network.variables) == 7 and len(network.trainable_variables) == 5 and len(network.non_trainable_variables) == 2
    assert network(tf.ones([2, 3])).shape == (2, 2)
    network.again = network.layers[0]
    assert len(network.variables) == 7
    with pytest.raises(ValueError, match="not a valid module name"):
        tf.Module("a b")


def test_saves_and_restores(tmp_path):
    first, second = Network(), Network()
    step, other = tf.Variable(5, dtype=tf.int64), tf.Variable(0, dtype=tf.int64)
    path = tf.train.Checkpoint(model=first, step=step).save(tmp_path / "ckpt")
    assert path == str(tmp_path / "ckpt-1") and tf.train.latest_checkpoint(tmp_path) == path
    checkpoint = tf.train.Checkpoint(model=second, step=other)
    checkpoint.restore(path).assert_consumed()
    assert other.numpy() == 5 and checkpoint.save_counter.numpy() == 1
    for a, b in zip(first.variables, second.variables):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert checkpoint.save(str(tmp_path / "ckpt")).endswith("ckpt-2")
    assert ("step/.ATTRIBUTES/VARIABLE_VALUE", []) in tf.train.list_variables(path) and tf.train.load_variable(path, "step") == 5


def test_says_what_does_not_fit(tmp_path):
    path = tf.train.Checkpoint(a=tf.Variable(1.0), b=tf.Variable([1.0, 2.0])).write(tmp_path / "x")
    status = tf.train.Checkpoint(a=tf.Variable(0.0)).read(path)
    with pytest.raises(AssertionError, match="no variable for b"):
        status.assert_consumed()
    status.expect_partial().assert_existing_objects_matched()
    with pytest.raises(AssertionError, match="No checkpointed value for c"):
        tf.train.Checkpoint(c=tf.Variable(0.0)).read(path).assert_existing_objects_matched()
    unchanged = tf.Variable(7.0)
    with pytest.raises(ValueError, match=r"b has shape \(3,\), the file holds \(2,\)"):
        tf.train.Checkpoint(a=unchanged, b=tf.Variable([0.0, 0.0, 0.0])).read(path)
    assert unchanged.numpy() == 7
    with pytest.raises(tf.errors.NotFoundError, match="Failed to find any matching files"):
        tf.train.Checkpoint(a=unchanged).restore(str(tmp_path / "none"))
    with pytest.raises(ValueError, match="trackable"):
        tf.train.Checkpoint(a=3)


@pytest.mark.parametrize("damage", [lambda d: d[:-1], lambda d: d[:-2] + b"xx", lambda d: b"other" + d, lambda d: b""])
def test_damaged_files_are_recognised(tmp_path, damage):
    v = tf.Variable([1.0, 2.0, 3.0])
    path = tf.train.Checkpoint(v=v).write(tmp_path / "x")
    file = tmp_path / "x.index"
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(tf.errors.DataLossError):
        tf.train.Checkpoint(v=v).read(path)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool"])
def test_every_dtype_comes_back(tmp_path, dtype):
    value = tf.cast(tf.constant([[0, 1], [1, 0]]), dtype)
    path = tf.train.Checkpoint(v=tf.Variable(value)).write(tmp_path / "x")
    v = tf.Variable(tf.cast(tf.zeros([2, 2]), dtype))
    tf.train.Checkpoint(v=v).read(path)
    assert v.dtype == value.dtype and tf.reduce_all(tf.equal(v, value)).numpy()


def test_a_failed_save_leaves_the_old_one(tmp_path, monkeypatch):
    v = tf.Variable(1.0)
    checkpoint = tf.train.Checkpoint(v=v)
    path = checkpoint.write(tmp_path / "x")
    v.assign(2.0)
    monkeypatch.setattr("os.replace", lambda *names: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        checkpoint.write(tmp_path / "x")
    monkeypatch.undo()
    checkpoint.read(path)
    assert v.numpy() == 1 and sorted(p.name for p in tmp_path.iterdir()) == ["x.data-00000-of-00001", "x.index"]


def test_a_manager_keeps_the_last_ones(tmp_path):
    v = tf.Variable(0.0)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=v), tmp_path, max_to_keep=2)
    assert manager.latest_checkpoint is None and manager.restore_or_initialize() is None
    for value in range(4):
        v.assign(float(value))
        manager.save()
    assert [p.rsplit("-")[-1] for p in manager.checkpoints] == ["3", "4"]
    files = [f"ckpt-{number}.{part}" for number in (3, 4) for part in ("data-00000-of-00001", "index")]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["checkpoint", *files]
    v.assign(9.0)
    again = tf.train.CheckpointManager(tf.train.Checkpoint(v=v), tmp_path, max_to_keep=2)
    assert again.restore_or_initialize() == str(tmp_path / "ckpt-4") and v.numpy() == 3
    assert again.save().endswith("ckpt-5")
    assert tf.train.get_checkpoint_state(tmp_path).model_checkpoint_path == str(tmp_path / "ckpt-5")


def test_a_manager_with_an_interval(tmp_path):
    step = tf.Variable(0, dtype=tf.int64)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(step=step), tmp_path, 5, step_counter=step, checkpoint_interval=10)
    saved = []
    for _ in range(25):
        step.assign_add(1)
        saved.append(manager.save() is not None)
    assert sum(saved) == 3


class Late(tf.Module):
    """Makes its variables when it is first called."""

    def __init__(self):
        super().__init__()
        self.built = False

    def __call__(self, x):
        if not self.built:
            self.w = tf.Variable(tf.random.normal([x.shape[-1], 2]))
            self.parts = {"b": tf.Variable(tf.zeros([2]))}
            self.built = True
        return x @ self.w + self.parts["b"]


def test_modules_restore_variables_that_are_made_later(tmp_path):
    first, second, x = Late(), Late(), tf.ones([1, 3])
    first(x)
    first.parts["b"].assign([1.0, 2.0])
    path = tf.train.Checkpoint(net=first).write(tmp_path / "late")
    status = tf.train.Checkpoint(net=second).read(path)
    with pytest.raises(AssertionError, match="no variable for net/w, net/parts/b"):
        status.assert_consumed()
    np.testing.assert_array_equal(second(x).numpy(), first(x).numpy())
    status.assert_consumed()
    second.w.assign(tf.zeros([3, 2]))
    second.more = tf.Variable(1.0)  # nothing waits any more: what was changed since stays
    assert not second.w.numpy().any()


def test_models_and_optimizers_restore_variables_that_are_made_later(tmp_path):
    def made():
        model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="relu"), tf.keras.layers.BatchNormalization(), tf.keras.layers.Dense(1)])
        model.compile(tf.keras.optimizers.Adam(0.01), "mse")
        return model

    x, y = np.random.default_rng(0).normal(size=(8, 3)).astype("float32"), np.ones((8, 1), "float32")
    first, second = made(), made()
    first.fit(x, y, epochs=2, verbose=0)
    path = tf.train.Checkpoint(model=first, optimizer=first.optimizer).save(tmp_path / "ckpt")
    status = tf.train.Checkpoint(model=second, optimizer=second.optimizer).restore(path)
    assert second.optimizer.iterations.numpy() == 2
    np.testing.assert_array_equal(second.predict(x, verbose=0), first.predict(x, verbose=0))
    first.fit(x, y, shuffle=False, verbose=0)
    second.fit(x, y, shuffle=False, verbose=0)
    status.assert_consumed()
    np.testing.assert_allclose(second.get_weights()[0], first.get_weights()[0], rtol=1e-6)
    for a, b in zip(first.optimizer.variables, second.optimizer.variables):
        np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-5, atol=1e-7)


def test_the_last_restore_counts(tmp_path):
    paths = []
    for value in (1.0, 2.0):
        net = Late()
        net(tf.ones([1, 3]))
        net.w.assign(tf.fill([3, 2], value))
        paths.append(tf.train.Checkpoint(net=net).write(tmp_path / str(value)))
    net = Late()
    checkpoint = tf.train.Checkpoint(net=net)
    checkpoint.read(paths[0])
    checkpoint.read(paths[1])
    assert net(tf.ones([1, 3])).numpy().tolist() == [[6, 6]]


def test_checkpoints_are_read_by_name_and_awaited(tmp_path):
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(a=tf.Variable([1.0, 2.0])), tmp_path, 2)
    path = manager.save()
    reader = tf.train.load_checkpoint(path)
    assert reader.get_variable_to_shape_map()["a/.ATTRIBUTES/VARIABLE_VALUE"] == [2] and reader.has_tensor("a/.ATTRIBUTES/VARIABLE_VALUE") and reader.get_tensor("a").tolist() == [1, 2]
    assert reader.get_variable_to_dtype_map()["a/.ATTRIBUTES/VARIABLE_VALUE"] == tf.float32
    with pytest.raises(tf.errors.NotFoundError, match="Key b not found in checkpoint; it has _CHECKPOINTABLE_OBJECT_GRAPH, a/"):
        reader.get_tensor("b")
    assert list(tf.train.checkpoints_iterator(tmp_path, timeout=0)) == [path]


def test_objects_set_after_construction_are_saved_and_restored(tmp_path):
    first = tf.train.Checkpoint()
    first.listed = [tf.Variable(1.0)]
    first.listed.append(tf.Variable(2.0))
    first.inner = tf.train.Checkpoint(two=first.listed[1])
    path = first.save(str(tmp_path / "x"))
    names = [name.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE") for name, _ in tf.train.list_variables(path)]
    assert names == ["_CHECKPOINTABLE_OBJECT_GRAPH", "listed/0", "listed/1", "save_counter"]  # two names lead to the second
    second, late = tf.train.Checkpoint(), tf.Variable(0.0)
    status = second.restore(path)
    second.inner = tf.train.Checkpoint(two=late)
    assert late.numpy() == 2
    with pytest.raises(AssertionError, match="no variable for listed/0"):
        status.assert_consumed()


def test_generators_and_iterators_go_on_where_they_were(tmp_path):
    generator = tf.random.Generator.from_seed(7)
    generator.normal([2])
    numbers = iter(tf.data.Dataset.range(10))
    assert [int(next(numbers)) for _ in range(3)] == [0, 1, 2]
    checkpoint = tf.train.Checkpoint(generator=generator, numbers=numbers)
    path = checkpoint.save(tmp_path / "state")
    expected = generator.normal([3]).numpy().tolist()
    assert [int(next(numbers)) for _ in range(4)] == [3, 4, 5, 6]
    checkpoint.restore(path).assert_consumed()
    assert generator.normal([3]).numpy().tolist() == expected and int(next(numbers)) == 3
    fresh = tf.train.Checkpoint(generator=tf.random.Generator.from_seed(1), numbers=iter(tf.data.Dataset.range(10)))
    fresh.restore(path)
    assert fresh.generator.normal([3]).numpy().tolist() == expected and int(fresh.numbers.get_next()) == 3
WRITER = """
import itertools, os, sys
import numpy as np
import tandemflow as tf

os.chdir(sys.argv[1])
model = tf.keras.Sequential([tf.keras.Input((300,)), tf.keras.layers.Dense(300)])
manager = tf.train.CheckpointManager(tf.train.Checkpoint(model=model), "managed", max_to_keep=2)
manager.restore_or_initialize()
for number in itertools.count():
    model.set_weights([np.full(w.shape, number, np.float32) for w in model.get_weights()])
    model.save("whole.keras")
    model.save_weights("only.weights.h5")
    manager.save()
    if number == 0:
        print("begun", flush=True)
"""


def test_a_kill_at_any_moment_leaves_files_that_can_be_read(tmp_path):
    model = tf.keras.Sequential([tf.keras.Input((300,)), tf.keras.layers.Dense(300)])
    saved = tf.train.Checkpoint(model=model)
    random = np.random.default_rng(0)

    def assert_of_one_save(weights):
        values = np.concatenate([w.ravel() for w in weights])
        assert (values == values[0]).all() and values[0] == int(values[0])

    for _ in range(3):
        command = [sys.executable, "-c", WRITER, str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "TANDEM_LOG": "error"}) as writer:
            assert writer.stdout.readline() == b"begun\n"
            time.sleep(random.uniform(0, 0.2))
            writer.kill()
        assert_of_one_save(tf.keras.models.load_model(tmp_path / "whole.keras").get_weights())
        model.load_weights(tmp_path / "only.weights.h5")
        assert_of_one_save(model.get_weights())
        model.set_weights([np.full(w.shape, 0.5, np.float32) for w in model.get_weights()])
        saved.restore(tf.train.latest_checkpoint(tmp_path / "managed")).assert_consumed()
        assert_of_one_save(model.get_weights())


def test_a_manager_does_not_mind_that_an_old_one_is_gone(tmp_path):
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(a=tf.Variable(1.0)), tmp_path, max_to_keep=1)
    os.unlink(manager.save() + ".index")
    assert manager.save().endswith("ckpt-2") and manager.checkpoints == [str(tmp_path / "ckpt-2")]


def test_functions_may_be_part_of_a_checkpoint_and_are_not_saved(tmp_path):
    root = tf.train.Checkpoint(v=tf.Variable(3.0), f=tf.function(lambda x: 2.0 * x))
    root.save(tmp_path / "c")
    assert root.f(tf.constant(1.0)).numpy() == 2 and root.restore(tf.train.latest_checkpoint(tmp_path)).assert_consumed() is not None
