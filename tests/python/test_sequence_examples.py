"""Features of any length in tf.train.Example and SequenceExample; the values are TensorFlow's."""
import numpy as np
import pytest
import tandemflow as tf


def integers(*values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def floats(*values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def words(*values):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def example(**features):
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


EXAMPLES = [
    example(ids=integers(1, 2, 0), words=words(b"a"), score=floats(0.5)),
    example(ids=integers(), words=words(b"b", b"c"), score=floats(1.5)),
    example(ids=integers(7), words=words(), score=floats(2.5)),
]


def sequence(n):
    step = tf.train.FeatureList
    lists = {"tok": step(feature=[integers(i) for i in range(n)]), "vec": step(feature=[floats(i, i + 0.5) for i in range(n)]),
             "var": step(feature=[words(*[b"w"] * i) for i in range(n)])}  # fmt: skip
    context = tf.train.Features(feature={"len": integers(n), "name": words(b"n%d" % n)})
    return tf.train.SequenceExample(context=context, feature_lists=tf.train.FeatureLists(feature_list=lists)).SerializeToString()


CONTEXT = {"len": tf.io.FixedLenFeature([], tf.int64), "name": tf.io.FixedLenFeature([], tf.string)}
SEQUENCES = {
    "tok": tf.io.FixedLenSequenceFeature([], tf.int64),
    "vec": tf.io.FixedLenSequenceFeature([2], tf.float32),
    "var": tf.io.VarLenFeature(tf.string),
}
# What TensorFlow writes for sequence(1), which has one key of each kind in the order of the alphabet.
WRITTEN = b"\n\x1e\n\x0c\n\x03len\x12\x05\x1a\x03\n\x01\x01\n\x0e\n\x04name\x12\x06\n\x04\n\x02n1"


def test_features_of_any_length_are_sparse_tensors():
    features = {"ids": tf.io.VarLenFeature(tf.int64), "score": tf.io.FixedLenFeature([], tf.float32)}
    parsed = tf.io.parse_example(EXAMPLES, features)
    assert parsed["ids"].indices.numpy().tolist() == [[0, 0], [0, 1], [0, 2], [2, 0]]
    assert parsed["ids"].values.numpy().tolist() == [1, 2, 0, 7] and parsed["ids"].dense_shape.numpy().tolist() == [3, 3]
    assert parsed["score"].numpy().tolist() == [0.5, 1.5, 2.5] and list(parsed) == ["ids", "score"]
    one = tf.io.parse_single_example(EXAMPLES[0], features)["ids"]
    assert one.indices.numpy().tolist() == [[0], [1], [2]] and tf.sparse.to_dense(one).numpy().tolist() == [1, 2, 0]
    batches = tf.data.Dataset.from_tensor_slices(EXAMPLES).map(lambda e: tf.io.parse_single_example(e, features)).batch(2)
    assert [tf.sparse.to_dense(b["ids"]).numpy().tolist() for b in batches] == [[[1, 2, 0], [0, 0, 0]], [[7]]]


def test_features_of_any_length_are_padded_or_ragged_when_asked():
    padded = tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True, default_value=-1)
    parsed = tf.io.parse_example(EXAMPLES, {"ids": padded, "words": tf.io.RaggedFeature(tf.string)})
    assert parsed["ids"].numpy().tolist() == [[1, 2, 0], [-1, -1, -1], [7, -1, -1]]
    assert parsed["words"].to_list() == [[b"a"], [b"b", b"c"], []] and parsed["words"].row_splits.dtype == tf.int32
    rows = tf.io.parse_single_example(EXAMPLES[0], {"ids": tf.io.FixedLenSequenceFeature([3], tf.int64, allow_missing=True)})
    assert rows["ids"].numpy().tolist() == [[1, 2, 0]]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"3 values are no whole number of parts of shape \[2\]"):
        tf.io.parse_single_example(EXAMPLES[0], {"ids": tf.io.FixedLenSequenceFeature([2], tf.int64, allow_missing=True)})
    divided = example(v=floats(1, 2, 3), n=integers(1, 2))
    partitions = [tf.io.RaggedFeature.RowLengths("n")]
    parsed = tf.io.parse_example([divided, divided], {"x": tf.io.RaggedFeature(tf.float32, "v", partitions)})
    assert parsed["x"].to_list() == [[[1], [2, 3]], [[1], [2, 3]]]


def test_places_and_values_in_two_features():
    places = example(ix=integers(3, 1), v=floats(0.5, 0.25))
    sparse = tf.io.parse_example([places, places], {"x": tf.io.SparseFeature("ix", "v", tf.float32, 5)})["x"]
    assert sparse.indices.numpy().tolist() == [[0, 1], [0, 3], [1, 1], [1, 3]]
    assert sparse.values.numpy().tolist() == [0.25, 0.5, 0.25, 0.5] and sparse.dense_shape.numpy().tolist() == [2, 5]


def test_sequence_examples_are_written_and_read():
    assert sequence(1).startswith(WRITTEN)
    back = tf.train.SequenceExample.FromString(sequence(3))
    assert back.context.feature["len"].int64_list.value == [3]
    assert [step.float_list.value for step in back.feature_lists.feature_list["vec"].feature] == [[0, 0.5], [1, 1.5], [2, 2.5]]
    assert back.SerializeToString() == sequence(3)
    with pytest.raises(tf.errors.DataLossError, match="not a serialised tf.train.SequenceExample"):
        tf.train.SequenceExample.FromString(b"\x12\x05ab")


def test_one_sequence_example():
    context, steps = tf.io.parse_single_sequence_example(sequence(3), CONTEXT, SEQUENCES)
    assert context["len"].numpy() == 3 and context["name"].numpy() == b"n3"
    assert steps["tok"].numpy().tolist() == [0, 1, 2] and steps["vec"].numpy().tolist() == [[0, 0.5], [1, 1.5], [2, 2.5]]
    assert steps["var"].indices.numpy().tolist() == [[1, 0], [2, 0], [2, 1]] and steps["var"].dense_shape.numpy().tolist() == [3, 2]
    _, steps = tf.io.parse_single_sequence_example(sequence(3), sequence_features={"var": tf.io.RaggedFeature(tf.string)})
    assert steps["var"].to_list() == [[], [b"w"], [b"w", b"w"]]
    dataset = tf.data.Dataset.from_tensor_slices([sequence(1), sequence(2)])
    parsed = dataset.map(lambda record: tf.io.parse_single_sequence_example(record, CONTEXT, {"tok": SEQUENCES["tok"]}))
    assert [steps["tok"].numpy().tolist() for _, steps in parsed] == [[0], [0, 1]]


def test_many_sequence_examples():
    context, steps, lengths = tf.io.parse_sequence_example([sequence(3), sequence(2)], CONTEXT, SEQUENCES)
    assert context["len"].numpy().tolist() == [3, 2] and lengths["tok"].numpy().tolist() == [3, 2]
    assert steps["tok"].numpy().tolist() == [[0, 1, 2], [0, 1, 0]]
    assert steps["vec"].numpy()[1].tolist() == [[0, 0.5], [1, 1.5], [0, 0]]
    assert steps["var"].indices.numpy().tolist() == [[0, 1, 0], [0, 2, 0], [0, 2, 1], [1, 1, 0]]


def test_sequence_features_that_are_missing_or_wrong_are_named():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Feature list 'none' is required"):
        tf.io.parse_single_sequence_example(sequence(1), sequence_features={"none": tf.io.FixedLenSequenceFeature([], tf.int64)})
    empty = tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True)
    assert tf.io.parse_single_sequence_example(sequence(1), sequence_features={"none": empty})[1]["none"].shape == [0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="'tok' holds int64_list, needed float_list"):
        tf.io.parse_single_sequence_example(sequence(1), sequence_features={"tok": tf.io.VarLenFeature(tf.float32)})
    with pytest.raises(ValueError, match="must be a tf.io.FixedLenFeature.*got 'int64'"):
        tf.io.parse_example(EXAMPLES, {"ids": "int64"})
    with pytest.raises(ValueError, match="were not given"):
        tf.io.parse_sequence_example([sequence(1)])


def test_features_of_numpys_bools_and_tensors(tmp_path):
    feature = integers(np.True_, np.int64(3), tf.constant(4))
    assert feature.int64_list.value == [1, 3, 4] and feature.SerializeToString() == b"\x1a\x05\n\x03\x01\x03\x04"
    with pytest.raises(TypeError, match="1.5 has type float"):
        integers(1.5)
    path = str(tmp_path / "some.tfrecord")
    tf.data.experimental.TFRecordWriter(path).write(tf.data.Dataset.from_tensor_slices(EXAMPLES))
    assert [record.numpy() for record in tf.data.TFRecordDataset(path)] == EXAMPLES
    with pytest.raises(TypeError, match="single strings"):
        tf.data.experimental.TFRecordWriter(path).write(tf.data.Dataset.range(2))


def test_messages_print_as_protobuf_prints_them():
    bytes_feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b'a\n\x00"\xff']))
    numbers = tf.train.Feature(float_list=tf.train.FloatList(value=[2.718281828459045, 1.0]))
    assert str(bytes_feature) == 'bytes_list {\n  value: "a\\n\\000\\"\\377"\n}\n'
    assert str(numbers) == "float_list {\n  value: 2.71828175\n  value: 1\n}\n"
    example = tf.train.Example(features=tf.train.Features(feature={"n": tf.train.Feature(int64_list=tf.train.Int64List(value=[-2]))}))
    lines = ["features {", "  feature {", '    key: "n"', "    value {", "      int64_list {", "        value: -2", "      }", "    }", "  }", "}", ""]
    assert str(example) == "\n".join(lines)
