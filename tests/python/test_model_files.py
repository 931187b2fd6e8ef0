"""HDF5, safetensors, zip and atomic writing, as Keras' files use them."""
from pathlib import Path

import numpy as np
import pytest
import tandemflow as tf
from tandemflow import _files

MODELS = Path(__file__).resolve().parent.parent / "data" / "models"


def test_the_weights_of_a_keras_file_are_read():
    entries = _files.read_zip(MODELS / "tiny_cnn.keras")
    assert set(entries) == {"config.json", "metadata.json", "model.weights.h5"}
    root = _files.read_hdf5(entries["model.weights.h5"])
    dense = root["items"]["layers"]["items"]["dense"]["items"]["vars"]
    assert dense["attrs"] == {"name": "dense"}
    assert dense["items"]["0"].shape == (100, 8)
    assert root["items"]["optimizer"]["items"]["vars"]["items"]["0"].numpy() == 2


def test_the_attributes_of_a_legacy_file_are_text_and_lists():
    root = _files.read_hdf5(str(MODELS / "tiny_cnn_legacy.h5"))
    assert root["attrs"]["keras_version"] == "3.15.1"
    assert root["items"]["model_weights"]["attrs"]["layer_names"][:2] == ["conv2d", "batch_normalization"]


def test_a_tree_is_written_and_read_back():
    tree = {
        "attrs": {"text": "ü", "bytes": b"ab", "int": 2**40, "float": 0.1, "flag": True, "names": ["a", ""], "none": []},
        "items": {
            "group": {"attrs": {}, "items": {"bf16": tf.cast(tf.constant([1.5]), tf.bfloat16), "variable": tf.Variable([1, 2])}},
            "f16": np.array([[1, 2]], "float16"),
        },
    }
    back = _files.read_hdf5(_files.write_hdf5(tree))
    none = back["attrs"].pop("none")
    assert none.shape == (0,)
    assert back["attrs"] == {"text": "ü", "bytes": "ab", "int": 2**40, "float": 0.1, "flag": True, "names": ["a", ""]}
    assert back["items"]["group"]["items"]["bf16"].dtype == tf.bfloat16
    assert back["items"]["group"]["items"]["variable"].numpy().tolist() == [1, 2]
    assert back["items"]["f16"].numpy().tolist() == [[1, 2]]


def test_a_group_that_is_none_is_refused():
    with pytest.raises(ValueError, match="the group /a must be"):
        _files.write_hdf5({"items": {"a": {"b": 1}}})


def test_safetensors_come_back_with_their_metadata():
    tensors, metadata = _files.read_safetensors(_files.write_safetensors({"w": np.eye(2), "b": tf.constant([True])}, {"format": "tf"}))
    assert metadata == {"format": "tf"}
    assert tensors["w"].numpy().tolist() == [[1, 0], [0, 1]]
    assert tensors["b"].dtype == tf.bool


def test_an_archive_is_written_and_its_bombs_refused():
    assert _files.read_zip(_files.write_zip({"a": b"1"}, compressed=True)) == {"a": b"1"}
    bomb = bytearray(_files.write_zip({"a": np.random.default_rng(1).bytes(1 << 20)}, compressed=True))
    directory = bomb.rindex(b"PK\1\2")
    bomb[directory + 24 : directory + 28] = (10**9).to_bytes(4, "little")  # the size it claims to have
    with pytest.raises(tf.errors.DataLossError, match="would unpack to 1000000000 bytes"):
        _files.read_zip(bytes(bomb))


def test_a_damaged_file_says_where(tmp_path):
    path = tmp_path / "model.h5"
    path.write_bytes((MODELS / "tiny_cnn.weights.h5").read_bytes()[:1000])
    with pytest.raises(tf.errors.DataLossError, match="model.h5: the superblock at byte 0: the file should have 43632 bytes but has 1000"):
        _files.read_hdf5(path)


def test_files_are_written_whole(tmp_path):
    _files.write_file_atomically(tmp_path / "x", b"abc")
    assert (tmp_path / "x").read_bytes() == b"abc"
    assert [file.name for file in tmp_path.iterdir()] == ["x"]
