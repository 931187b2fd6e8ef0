"""keras.tree, lines of values, rows of ragged tensors and averages that forget."""
import numpy as np
import pytest
import tandemflow as tf
from tandemflow.keras import tree

NESTED = {"b": [1, (2, 3)], "a": 4}


def test_structures_are_taken_apart_and_put_together():
    assert tree.flatten(NESTED) == [4, 1, 2, 3] and tree.is_nested([]) and not tree.is_nested(3)
    assert tree.flatten_with_path(NESTED) == [(("a",), 4), (("b", 0), 1), (("b", 1, 0), 2), (("b", 1, 1), 3)]
    assert tree.map_structure(lambda x: x + 1, NESTED) == {"b": [2, (3, 4)], "a": 5}
    assert tree.pack_sequence_as(NESTED, [1, 2, 3, 4]) == {"b": [2, (3, 4)], "a": 1}
    assert tree.lists_to_tuples(NESTED) == {"b": (1, (2, 3)), "a": 4}
    assert tree.map_structure_up_to([0, 0], len, [[1], [2, 3]]) == [1, 2]
    assert tree.map_shape_structure(len, [(1, 2), (None, 3, 4)]) == [2, 3]
    assert tree.traverse(lambda x: -x if isinstance(x, int) else None, NESTED) == {"b": [-1, (-2, -3)], "a": -4}
    assert list(tree.traverse(lambda x: tree.MAP_TO_NONE if x == 4 else None, NESTED).values()) == [[1, (2, 3)], None]
    with pytest.raises(ValueError, match="same paths"):
        tree.assert_same_paths(NESTED, {"a": 4})


def test_lines_of_values():
    numbers, fractions, words = tf.io.decode_csv(["1,2.5,a", '3,,"b,c"'], [[0], [7.0], [""]])
    assert numbers.numpy().tolist() == [1, 3] and numbers.dtype == tf.int32
    assert fractions.numpy().tolist() == [2.5, 7] and words.numpy().tolist() == [b"a", b"b,c"]
    assert tf.io.decode_csv("1;2", [[0]], field_delim=";", select_cols=[1])[0].numpy() == 2
    for line, what in [("1", "expected 2 fields but have 1"), ("x,1", "not a valid int32: 'x'"), (",1", "field 0 is required")]:
        with pytest.raises(tf.errors.InvalidArgumentError, match=what):
            tf.io.decode_csv([line], [tf.constant([], tf.int32), [0]])


def test_features_of_any_length():
    feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2, 3]))
    example = tf.train.Example(features=tf.train.Features(feature={"x": feature})).SerializeToString()
    kind = {"x": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True)}
    assert tf.io.parse_single_example(example, kind)["x"].numpy().tolist() == [1, 2, 3]


def test_rows_of_ragged_tensors():
    rows = tf.ragged.constant([[1, 2], [3], []], dtype=tf.int32)
    dataset = tf.data.Dataset.from_tensor_slices({"x": rows, "y": [1, 2, 3]})
    assert [(e["x"].numpy().tolist(), int(e["y"])) for e in dataset] == [([1, 2], 1), ([3], 2), ([], 3)] and len(dataset) == 3
    assert next(iter(dataset.padded_batch(3)))["x"].numpy().tolist() == [[1, 2], [3, 0], [0, 0]]
    with pytest.raises(ValueError, match=r"\[3, 2\]"):
        tf.data.Dataset.from_tensor_slices((rows, [1, 2]))


def test_averages_that_forget():
    average, variable = tf.train.ExponentialMovingAverage(0.9), tf.Variable([1.0, 2.0])
    average.apply([variable])
    variable.assign([2.0, 4.0])
    average.apply([variable])
    np.testing.assert_allclose(average.average(variable), [1.1, 2.2], rtol=1e-6)
    assert average.average(tf.Variable(1.0)) is None


def test_names_of_dtypes_and_numbers_of_errors():
    assert [tf.keras.utils.standardize_dtype(d) for d in ("float32", None, int, np.float64, bool)] == ["float32", "float32", "int64", "float64", "bool"]
    assert (tf.errors.OK, tf.errors.INVALID_ARGUMENT, tf.errors.UNAUTHENTICATED) == (0, 3, 16)
    assert tf.config.experimental.get_visible_devices("CPU")[0].device_type == "CPU"
