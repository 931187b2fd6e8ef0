"""NumPy's files are written and read as NumPy does."""
import io

import numpy as np
import pytest

import tandemflow as tf
from random_arrays import random_array


def test_files_are_byte_for_byte_those_of_numpy(tmp_path):
    rng = np.random.default_rng(0)
    for _ in range(200):
        array = random_array(rng)
        tf.io.save_npy(tmp_path / "x.npy", tf.constant(array))
        expected = io.BytesIO()
        np.save(expected, array)
        assert (tmp_path / "x.npy").read_bytes() == expected.getvalue()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives_of_numpy_are_read(tmp_path, save):
    rng = np.random.default_rng(1)
    arrays = {f"a{i}": random_array(rng) for i in range(50)}
    arrays["fortran"] = np.asfortranarray(rng.normal(size=(3, 4, 5)))
    arrays["big"] = rng.normal(size=(3, 4)).astype(">f8")
    arrays["text"] = np.array([["hé", "b"], ["😀x", ""]])
    save(tmp_path / "x.npz", **arrays)
    loaded = tf.io.load_npz(tmp_path / "x.npz")
    assert loaded.keys() == arrays.keys()
    for name, array in arrays.items():
        if array.dtype.kind == "U":
            array = np.char.encode(array, "utf8").astype(object)
            assert loaded[name].numpy().tolist() == array.tolist()
        else:
            np.testing.assert_array_equal(loaded[name].numpy(), array)


@pytest.mark.parametrize("compressed", [False, True])
def test_archives_are_read_by_numpy(tmp_path, compressed):
    tf.io.save_npz(tmp_path / "x.npz", {"a": tf.range(3), "b": [[1.5]], "w": tf.constant(["x", "yz"])}, compressed)
    with np.load(tmp_path / "x.npz") as archive:
        assert archive["a"].tolist() == [0, 1, 2] and archive["b"].dtype == np.float32
        assert archive["w"].tolist() == [b"x", b"yz"]


def test_bad_files_are_named(tmp_path):
    path = tmp_path / "bad.npy"
    with pytest.raises(FileNotFoundError, match="bad.npy"):
        tf.io.load_npy(path)
    path.write_bytes(b"something else entirely")
    with pytest.raises(tf.errors.DataLossError, match="bad.npy"):
        tf.io.load_npy(path)
    np.save(path, np.array([{"pickled": 1}]), allow_pickle=True)
    with pytest.raises(ValueError, match="pickled"):
        tf.io.load_npy(path)
    with pytest.raises(TypeError, match="float32"):
        tf.io.save_npy(path, tf.constant(1.0, tf.bfloat16))
    with pytest.raises(tf.errors.DataLossError, match="bad.npy"):
        tf.io.load_npz(path)
