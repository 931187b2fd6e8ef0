"""tf.io, tf.train.Example and the datasets over files."""
import gzip
import struct

import numpy as np
import pytest

import tandemflow as tf


def example(i):
    feature = {
        "x": tf.train.Feature(float_list=tf.train.FloatList(value=[i, i + 0.5])),
        "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[i, -i])),
        "name": tf.train.Feature(bytes_list=tf.train.BytesList(value=[f"n{i}".encode()])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature))


FEATURES = {
    "x": tf.io.FixedLenFeature([2], tf.float32),
    "name": tf.io.FixedLenFeature([], tf.string),
    "none": tf.io.FixedLenFeature([], tf.int64, default_value=5),
}


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_examples_are_written_read_and_parsed(tmp_path, compression):
    path = tmp_path / "data.tfrecord"
    with tf.io.TFRecordWriter(str(path), tf.io.TFRecordOptions(compression)) as writer:
        for i in range(20):
            writer.write(example(i).SerializeToString())
    calls = []

    def parse(record):
        calls.append(1)
        return tf.io.parse_single_example(record, FEATURES)

    dataset = tf.data.TFRecordDataset(str(path), compression_type=compression).map(parse)
    batch = next(iter(dataset.batch(20)))
    assert batch["x"].numpy()[3].tolist() == [3, 3.5]
    assert batch["name"].numpy()[19] == b"n19" and set(batch["none"].numpy()) == {5}
    assert [e["name"].numpy() for e in dataset.take(2)] == [b"n0", b"n1"]
    assert len(calls) == 1


def test_examples_round_trip_and_show_their_lists():
    again = tf.train.Example.FromString(example(3).SerializeToString())
    assert again.features.feature["y"].int64_list.value == [3, -3]
    assert again.features.feature["x"].float_list.value == [3, 3.5]
    assert again.SerializeToString() == example(3).SerializeToString()
    with pytest.raises(TypeError, match="expected one of: bytes"):
        tf.train.BytesList(value=["text"])


def test_features_of_any_length_and_missing_ones():
    serialized = [example(i).SerializeToString() for i in range(3)]
    parsed = tf.io.parse_example(tf.constant(serialized), {"y": tf.io.VarLenFeature(tf.int64)})
    assert tf.sparse.to_dense(parsed["y"]).numpy().tolist() == [[0, 0], [1, -1], [2, -2]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Feature: zz .* is required but could not be found"):
        tf.io.parse_single_example(serialized[0], {"zz": tf.io.FixedLenFeature([], tf.float32)})


def test_a_damaged_file_is_data_loss(tmp_path):
    path = tmp_path / "bad.tfrecord"
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(b"first")
        writer.write(b"second")
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(tf.errors.DataLossError, match=r"bad.tfrecord: truncated record at 21"):
        list(tf.data.TFRecordDataset(str(path)))
    assert len(list(tf.data.TFRecordDataset(str(path)).ignore_errors())) == 1
    with pytest.raises(tf.errors.NotFoundError):
        list(tf.data.TFRecordDataset("/no/such/file"))


def test_text_lines(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(f"{name}1\n{name}2\n")
    files = [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
    assert [line.numpy() for line in tf.data.TextLineDataset(files)] == [b"a1", b"a2", b"b1", b"b2"]
    in_turn = tf.data.TextLineDataset(files, num_parallel_reads=2)
    assert [line.numpy() for line in in_turn] == [b"a1", b"b1", b"a2", b"b2"]


def test_csv_datasets(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b,label\n1,x,0\n2,,1\n3,\"y,z\",0\n")
    rows = list(tf.data.experimental.CsvDataset(str(path), [tf.int32, [""], tf.float32], header=True))
    assert [row[1].numpy() for row in rows] == [b"x", b"", b"y,z"]
    picked = tf.data.experimental.CsvDataset(str(path), [tf.int64], header=True, select_cols=[2])
    assert [row[0].numpy() for row in picked] == [0, 1, 0]
    dataset = tf.data.experimental.make_csv_dataset(str(path), 2, label_name="label", num_epochs=1, shuffle=False)
    (features, labels), _ = list(dataset)
    assert list(features) == ["a", "b"] and features["a"].dtype == tf.int32
    assert labels.numpy().tolist() == [0, 1]
    with pytest.raises(tf.errors.DataLossError, match=r"data.csv, line 2: Field 1 .* not a valid int32: 'x'"):
        list(tf.data.experimental.CsvDataset(str(path), [tf.int32, tf.int32, tf.int32], header=True))


def test_idx_files(tmp_path):
    images = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    with gzip.open(tmp_path / "images.gz", "wb") as file:
        file.write(struct.pack(">BBBB3I", 0, 0, 8, 3, *images.shape) + images.tobytes())
    np.testing.assert_array_equal(tf.io.load_idx(tmp_path / "images.gz").numpy(), images)


def test_whole_files(tmp_path):
    path = str(tmp_path / "new" / "file.bin")
    tf.io.write_file(path, tf.constant(b"\x00bytes"))
    assert tf.io.read_file(path).numpy() == b"\x00bytes"
    assert tf.io.matching_files(str(tmp_path / "new" / "*")).numpy().tolist() == [path.encode()]
    with pytest.raises(tf.errors.NotFoundError):
        tf.io.read_file("/no/such/file")
