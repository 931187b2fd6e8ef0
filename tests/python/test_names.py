"""The names that programs use: which are there, what is said of those that are not, and how fast they are loaded."""
import copy
import importlib
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
import tandemflow as tf

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
name_coverage = importlib.import_module("name_coverage")


def test_most_uses_of_names_outside_keras_resolve():
    there, total, missing = name_coverage.coverage("tf.", without=("tf.keras.", "tf.distribute."))
    assert there / total >= 0.96, missing


@pytest.mark.parametrize(
    "holder, name, hint",
    [
        (tf, "constnat", "tf.constant"),
        (tf, "placeholder", "tf.function"),
        (tf, "erf", "tf.math.erf"),
        (tf.nn, "reluu", "tf.nn.relu"),
        (tf.math, "reduce_maen", "tf.math.reduce_mean"),
        (tf.strings, "uper", "tf.strings.upper"),
        (tf.io, "gfil", "tf.io.gfile"),
        (tf.train, "Checkpont", "tf.train.Checkpoint"),
        (tf.random, "Generater", "tf.random.Generator"),
        (tf.debugging, "assert_equals", "tf.debugging.assert_equal"),
        (tf.image, "resise", "tf.image.resize"),
    ],
)
def test_a_missing_name_names_the_nearest(holder, name, hint):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'.*{hint}"):
        getattr(holder, name)
    assert not hasattr(holder, "nothing_like_it_xyz")


def test_directories_list_what_is_loaded_later():
    assert {"cond", "TensorArray", "keras", "strings"} <= set(dir(tf)) and "Checkpoint" in dir(tf.train) and "Generator" in dir(tf.random)


@pytest.mark.parametrize(
    "statement",
    [
        "from tandemflow.keras.layers import Dense", "from tandemflow.keras import layers", "import tandemflow.keras.backend as K",
        "from tandemflow import keras", "from tandemflow.data import Dataset", "import tandemflow.strings", "from tandemflow.nn import relu",
        "from tandemflow.compat.v1 import logging", "from tandemflow.autograph.experimental import do_not_convert",
        "from tandemflow.io import gfile", "from tandemflow.types.experimental import TensorLike", "from tandemflow.train import Checkpoint",
    ],
)  # fmt: skip
def test_modules_import_as_people_write_it(statement):
    exec(statement, {})


def test_seldom_used_modules_are_loaded_when_they_are_used():
    code = "import sys, tandemflow; print([m for m in sys.modules if m.startswith('tandemflow.') and m.split('.')[1] in sys.argv])"
    late = ["keras", "strings", "summary", "image", "_checkpoint", "autograph", "lookup", "_ragged", "_sparse", "compat"]
    done = subprocess.run([sys.executable, "-c", code, *late], env=dict(os.environ), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_parts_of_keras_at_the_top():
    assert tf.metrics is tf.keras.metrics and tf.losses.Huber is tf.keras.losses.Huber
    assert tf.optimizers.Adam is tf.keras.optimizers.Adam and tf.initializers.Zeros is tf.keras.initializers.Zeros


def test_small_modules():
    assert tf.version.VERSION == tf.__version__ and tf.sysconfig.get_lib() and tf.sysconfig.get_link_flags()
    assert tf.dtypes.float32 is tf.float32 and tf.compat.as_bytes("a") == b"a" and tf.compat.as_str_any(3) == "3"
    assert tf.dtypes.saturate_cast(tf.constant([-5.0, 300.0]), tf.uint8).numpy().tolist() == [0, 255]
    assert tf.saturate_cast(tf.constant([-5, 300]), tf.uint8).numpy().tolist() == [0, 255]
    with tf.name_scope("block") as name:
        assert name == "block/"


def test_gfile(tmp_path):
    gfile = tf.io.gfile
    gfile.makedirs(str(tmp_path / "a" / "b"))
    with gfile.GFile(str(tmp_path / "a" / "x.txt"), "w") as file:
        file.write("one\ntwo\n")
    assert gfile.exists(str(tmp_path / "a")) and gfile.isdir(tf.constant(str(tmp_path / "a")))
    assert gfile.GFile(str(tmp_path / "a" / "x.txt")).readlines() == ["one\n", "two\n"]
    assert gfile.listdir(str(tmp_path / "a")) == ["b/", "x.txt"]
    assert gfile.glob(str(tmp_path / "a" / "*.txt")) == [str(tmp_path / "a" / "x.txt")]
    gfile.copy(str(tmp_path / "a" / "x.txt"), str(tmp_path / "y"))
    with pytest.raises(tf.errors.AlreadyExistsError):
        gfile.copy(str(tmp_path / "a" / "x.txt"), str(tmp_path / "y"))
    gfile.rename(str(tmp_path / "y"), str(tmp_path / "z"))
    gfile.remove(str(tmp_path / "z"))
    gfile.rmtree(str(tmp_path / "a"))
    assert not list(tmp_path.iterdir())
    for call in (gfile.listdir, gfile.remove, gfile.rmtree, gfile.stat, lambda path: gfile.GFile(path).read()):
        with pytest.raises(tf.errors.NotFoundError):
            call(str(tmp_path / "none"))


def test_generators_of_random_numbers():
    a, b = tf.random.Generator.from_seed(3), tf.random.Generator.from_seed(3)
    first = a.normal([4]).numpy().tolist()
    assert first == b.normal([4]).numpy().tolist() and first != a.normal([4]).numpy().tolist()
    a.reset_from_seed(3)
    assert a.normal([4]).numpy().tolist() == first
    copy = tf.random.Generator.from_state(a.state)
    assert copy.uniform([3]).numpy().tolist() == a.uniform([3]).numpy().tolist()
    one, two = a.split(2)
    assert one.normal([2]).numpy().tolist() != two.normal([2]).numpy().tolist()
    draws = a.uniform([1000], 5, 8, tf.int32).numpy()
    assert set(draws) == {5, 6, 7}
    assert 350 < a.binomial([100], 10.0 * tf.ones([100]), 0.45 * tf.ones([100])).numpy().sum() < 550
    f = tf.function(lambda: a.normal([2]))
    assert f().numpy().tolist() != f().numpy().tolist()
    with pytest.raises(ValueError, match="from_seed"):
        tf.random.Generator()


def test_sparse_tensors():
    sparse = tf.SparseTensor([[0, 1], [2, 0]], [5.0, 7.0], [3, 2])
    assert tf.sparse.to_dense(sparse).numpy().tolist() == [[0, 5], [0, 0], [7, 0]]
    assert tf.sparse.to_dense(sparse, default_value=-1.0).numpy().tolist() == [[-1, 5], [-1, -1], [7, -1]]
    back = tf.sparse.from_dense([[0, 5], [0, 0], [7, 0]])
    assert back.indices.numpy().tolist() == [[0, 1], [2, 0]] and back.values.numpy().tolist() == [5, 7]
    joined = tf.sparse.concat(1, [sparse, sparse])
    assert tf.sparse.to_dense(joined).numpy().tolist() == [[0, 5, 0, 5], [0, 0, 0, 0], [7, 0, 7, 0]]
    assert tf.sparse.sparse_dense_matmul(sparse, [[1.0], [2.0]]).numpy().tolist() == [[10], [0], [7]]
    with pytest.raises(ValueError, match="indices of shape"):
        tf.SparseTensor([[0, 1]], [5.0, 7.0], [3, 2])


def test_sound_files_and_raw_bytes():
    sound = tf.constant([[0.0, 0.5], [-1.0, 0.25]])
    file = tf.audio.encode_wav(sound, 8000)
    audio, rate = tf.audio.decode_wav(file)
    assert audio.numpy().tolist() == sound.numpy().tolist() and rate.numpy() == 8000
    assert tf.audio.decode_wav(file, desired_channels=1, desired_samples=3).audio.numpy().tolist() == [[0], [-1], [0]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="RIFF"):
        tf.audio.decode_wav(b"nothing")
    assert tf.io.decode_raw(b"\x01\x00\x02\x00\x00\x00\x00\x00", tf.int32).numpy().tolist() == [0x20001, 0]
    assert tf.io.parse_tensor(tf.io.serialize_tensor(sound), tf.float32).numpy().tolist() == sound.numpy().tolist()
    assert tf.io.decode_base64(tf.io.encode_base64(tf.constant(["a?b"]))).numpy().tolist() == [b"a?b"]


def test_confusion_matrix():
    assert tf.math.confusion_matrix([1, 2, 4], [2, 2, 4]).numpy().tolist() == [
        [0, 0, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 1]
    ]  # fmt: skip
    assert tf.math.confusion_matrix([0, 1], [1, 1], weights=[2, 3]).numpy().tolist() == [[0, 2], [0, 3]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_classes"):
        tf.math.confusion_matrix([0, 3], [1, 1], num_classes=2)


def test_importing_is_fast():
    """Beyond NumPy; the median of several, since the machine may be busy."""
    code = "import numpy, time; t = time.process_time(); import tandemflow; print(time.process_time() - t)"
    times = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(5)]
    assert statistics.median(times) < 0.3


def test_the_program_of_the_documentation_leaves_its_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "tensorflow.md").read_text()
    exec("\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL)), {})
    folder = tmp_path / "checkpoints"
    assert tf.train.latest_checkpoint(folder) == str(folder / "ckpt-1") and list((folder / "logs").glob("*tfevents*"))


def test_name_scopes_lead_the_names_of_variables():
    class Block(tf.Module):
        @tf.Module.with_name_scope
        def __call__(self):
            return tf.Variable(1.0, name="w").name

    with tf.name_scope("outer"):
        assert Block(name="inner")() == "outer/inner/w:0"
    assert Block()() == "block/w:0" and tf.Variable(1.0).name == "Variable:0"


def test_variables_take_the_arguments_of_tensorflow():
    v = tf.Variable([1.0, 2.0], shape=[None], constraint=abs, synchronization=tf.VariableSynchronization.AUTO)
    assert v.constraint is abs and v.shape.as_list() == [None] and v.numpy().tolist() == [1, 2]
    with pytest.raises(ValueError, match=r"shape \[2\], which does not fit shape=\[3\]"):
        tf.Variable([1.0, 2.0], shape=[3])
    with pytest.raises(ValueError, match="needs an initial_value"):
        tf.Variable()
    with pytest.raises(RuntimeError, match=r"assign_add\(value\)"):
        v += 1


def test_variables_are_copied_with_their_settings():
    v = tf.Variable([1.0, 2.0], trainable=False, name="v", constraint=abs)
    for copied in (copy.copy(v), copy.deepcopy({"v": v})["v"]):
        copied.assign([5.0, 6.0])
        assert (copied.name, copied.trainable, copied.constraint) == ("v:0", False, abs)
    assert v.numpy().tolist() == [1, 2]


def test_rows_of_variables_are_multiplied_divided_and_replaced():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    v.scatter_mul(tf.IndexedSlices([[2.0, 2.0], [3.0, 3.0]], [0, 0]))
    v.scatter_div(tf.IndexedSlices([[3.0, 4.0]], [1]))
    assert v.numpy().tolist() == [[6, 12], [1, 1]]
    v.batch_scatter_update(tf.IndexedSlices(tf.constant([[9.0], [8.0]]), tf.constant([[0], [1]])))
    assert v.numpy().tolist() == [[9, 12], [1, 8]]


def test_names_of_the_first_version_are_found_where_they_are_today():
    v1 = tf.compat.v1
    assert v1.random_uniform is tf.random.uniform and v1.log is tf.math.log and v1.nn is tf.nn and v1.keras is tf.keras
    assert v1.to_float(1).dtype == tf.float32 and v1.to_int32(1.7).numpy() == 1
    with pytest.raises(AttributeError, match="use a tf.function, or eager execution, or tf.compat.v1.Session"):
        tf.Session
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        v1.nonsense
