"""Checkpoints of TensorFlow's format: files that TensorFlow wrote (tools/checkpoints.py) are restored, ours are its, damage is found."""
import shutil
from pathlib import Path

import checkpoint_scenes as scenes
import numpy as np
import pytest
import tandemflow as tf
from tandemflow import _table_file

DATA = Path(__file__).parent.parent / "data" / "checkpoints"


@pytest.mark.parametrize("scene", scenes.SCENES, ids=lambda scene: scene.__name__)
def test_what_tensorflow_wrote_is_restored_whole(scene):
    checkpoint, made = scene(tf)
    checkpoint.read(DATA / scene.__name__).assert_consumed()
    scenes.check(tf, checkpoint, made)


@pytest.mark.parametrize("scene", scenes.SCENES, ids=lambda scene: scene.__name__)
def test_what_we_write_has_tensorflows_keys_and_bytes(scene, tmp_path):
    checkpoint, made = scene(tf)
    scenes.fill(tf, checkpoint, made)
    ours = tf.train.load_checkpoint(checkpoint.write(tmp_path / "ours"))
    theirs = tf.train.load_checkpoint(DATA / scene.__name__)
    if scene is not scenes.table:  # whose words have no order
        assert _by_value(ours) == _by_value(theirs)
    again, made = scene(tf)
    again.read(tmp_path / "ours").assert_consumed()
    scenes.check(tf, again, made)


def _by_value(reader):
    """What is stored, whatever of several names was taken for it."""
    values = [(reader.get_variable_to_dtype_map()[name].name, shape, name) for name, shape in reader.get_variable_to_shape_map().items() if name[0] != "_"]
    return sorted((dtype, str(shape), tf.io.serialize_tensor(tf.constant(reader.get_tensor(name))).numpy()) for dtype, shape, name in values if dtype != "bfloat16")


def test_names_are_those_of_tensorflow(tmp_path):
    checkpoint, _ = scenes.module(tf)
    path = checkpoint.write(tmp_path / "x")
    assert tf.train.list_variables(path) == tf.train.list_variables(DATA / "module")
    checkpoint, _ = scenes.variables(tf)
    names = [name for name, _ in tf.train.list_variables(checkpoint.write(tmp_path / "y"))]
    assert names == [name for name, _ in tf.train.list_variables(DATA / "variables")] and "odd/a.Sb..c/.ATTRIBUTES/VARIABLE_VALUE" in names


def test_readers_say_what_is_there():
    reader = tf.train.load_checkpoint(str(DATA / "variables"))
    assert reader.get_variable_to_dtype_map()["of_dtype/bfloat16/.ATTRIBUTES/VARIABLE_VALUE"] == tf.bfloat16
    assert tf.train.load_variable(DATA / "variables", "text/.ATTRIBUTES/VARIABLE_VALUE").tolist() == [b"", b"text\x00" + b"-" * 200]
    assert b"number/.ATTRIBUTES/VARIABLE_VALUE (int64) []" in reader.debug_string()
    with pytest.raises(ValueError, match="Couldn't find 'checkpoint' file or checkpoints in given directory"):
        tf.train.load_checkpoint(DATA)


@pytest.mark.parametrize("file", ["variables.index", "variables.data-00000-of-00001"])
def test_every_changed_byte_is_noticed(tmp_path, file):
    for part in DATA.glob("variables.*"):
        shutil.copy(part, tmp_path)
    whole = (tmp_path / file).read_bytes()
    unnoticed = []
    for at in range(0, len(whole), 3 if file.endswith("index") else 7):
        (tmp_path / file).write_bytes(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :])
        checkpoint, made = scenes.variables(tf)
        try:
            checkpoint.read(tmp_path / "variables").assert_consumed()
            unnoticed.append(at)
        except (tf.errors.DataLossError, tf.errors.NotFoundError):
            continue
    footer = range(len(whole) - 48, len(whole) - 8)  # its padding has no checksum
    assert all(at in footer for at in unnoticed) if file.endswith("index") else not unnoticed


@pytest.mark.parametrize("file", ["sequential.index", "sequential.data-00000-of-00001"])
def test_files_that_are_cut_off_or_gone_are_named(tmp_path, file):
    for part in DATA.glob("sequential.*"):
        shutil.copy(part, tmp_path)
    whole = (tmp_path / file).read_bytes()
    checkpoint, _ = scenes.sequential(tf)
    for size in (0, 1, 40, 48, 100, len(whole) - 1):
        (tmp_path / file).write_bytes(whole[:size])
        with pytest.raises(tf.errors.DataLossError, match=file.split("-")[0]):
            checkpoint.read(tmp_path / "sequential")
    (tmp_path / file).unlink()
    with pytest.raises(tf.errors.NotFoundError, match="sequential"):
        checkpoint.read(tmp_path / "sequential")


def test_nothing_is_assigned_when_one_value_is_damaged(tmp_path):
    first = tf.train.Checkpoint(a=tf.Variable([1.0]), b=tf.Variable([2.0]))
    path = Path(first.write(tmp_path / "x"))
    data = tmp_path / "x.data-00000-of-00001"
    content = bytearray(data.read_bytes())
    content[content.index(np.float32(2).tobytes())] ^= 1
    data.write_bytes(content)
    second = tf.train.Checkpoint(a=tf.Variable([5.0]), b=tf.Variable([6.0]))
    with pytest.raises(tf.errors.DataLossError, match="the checksum of b/"):
        second.read(path)
    assert second.a.numpy() == 5 and second.b.numpy() == 6


def test_tables_of_many_blocks_are_read_back():
    random = np.random.default_rng(0)
    entries = {b"%d/%s" % (i % 97, random.bytes(i % 40)): random.bytes(int(random.integers(0, 600))) for i in range(3000)}
    table = _table_file.write(entries)
    assert len(table) > 3 * 256 * 1024 and _table_file.read(table) == entries
    assert _table_file.read(_table_file.write({})) == {}


def test_files_of_the_old_format_are_read(tmp_path):
    import hashlib
    import json

    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    values = {"model/0": np.array([[3.0], [4.0]], np.float32), "model/1": np.array([5.0], np.float32), "root/v": np.array(7.0, np.float32)}
    entries, blobs = [], b""
    for name, value in values.items():
        entries.append({"name": name, "dtype": "float32", "shape": list(value.shape), "offset": len(blobs), "bytes": value.nbytes})
        blobs += value.tobytes()
    rest = json.dumps(entries).encode() + b"\n" + blobs
    (tmp_path / "old.index").write_bytes(b"tandemflow checkpoint 1\n" + hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest)

    class Root(tf.Module):
        def __init__(self):
            self.v = tf.Variable(0.0)

    checkpoint = tf.train.Checkpoint(Root(), model=model)
    checkpoint.read(tmp_path / "old").assert_consumed()
    assert model.get_weights()[0].tolist() == [[3], [4]] and checkpoint._root.v.numpy() == 7
    (tmp_path / "old.index").write_bytes((tmp_path / "old.index").read_bytes()[:-1])
    with pytest.raises(tf.errors.DataLossError, match="checksum"):
        checkpoint.read(tmp_path / "old")


def test_a_model_may_be_the_root_and_layers_of_lists_are_saved(tmp_path):
    class Net(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.blocks = [tf.keras.layers.Dense(2), tf.keras.layers.Dense(1)]

        def call(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    first, second, x = Net(), Net(), tf.ones([1, 3])
    expected = first(x).numpy()
    path = tf.train.Checkpoint(first).save(tmp_path / "c")
    assert ("blocks/0/bias/.ATTRIBUTES/VARIABLE_VALUE", [2]) in tf.train.list_variables(path)
    status = tf.train.Checkpoint(second).restore(tmp_path)  # a folder: the latest in it
    np.testing.assert_array_equal(second(x).numpy(), expected)
    status.assert_consumed()
    with pytest.raises(AssertionError, match="Nothing in the checkpoint"):
        tf.train.Checkpoint(other=tf.Variable(1.0)).read(path).assert_nontrivial_match()
