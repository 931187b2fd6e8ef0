"""Ops that move elements move strings too, now and in traced functions; the answers are TensorFlow's."""
import numpy as np
import pytest

import tandemflow as tf

A = tf.constant([["a", "b"], ["c", "d"]])
MOVES = {
    "transpose": (tf.transpose, [[b"a", b"c"], [b"b", b"d"]]),
    "gather": (lambda x: tf.gather(x, [1, 0], axis=1), [[b"b", b"a"], [b"d", b"c"]]),
    "gather_nd": (lambda x: tf.gather_nd(x, [[0, 1]]), [b"b"]),
    "concat": (lambda x: tf.concat([x, [["x", "y"]]], axis=0), [[b"a", b"b"], [b"c", b"d"], [b"x", b"y"]]),
    "stack": (lambda x: tf.stack([x[0], x[1]], 1), [[b"a", b"c"], [b"b", b"d"]]),
    "tile": (lambda x: tf.tile(x, [1, 2]), [[b"a", b"b", b"a", b"b"], [b"c", b"d", b"c", b"d"]]),
    "reverse": (lambda x: tf.reverse(x, [0]), [[b"c", b"d"], [b"a", b"b"]]),
    "where": (lambda x: tf.where(x == "a", "q", x), [[b"q", b"b"], [b"c", b"d"]]),
    "slice": (lambda x: tf.slice(x, [0, 1], [2, 1]), [[b"b"], [b"d"]]),
    "index": (lambda x: x[:, 1], [b"b", b"d"]),
    "broadcast": (lambda x: tf.broadcast_to(x[0], [2, 2]), [[b"a", b"b"], [b"a", b"b"]]),
    "repeat": (lambda x: tf.repeat(x, 2, 0), [[b"a", b"b"]] * 2 + [[b"c", b"d"]] * 2),
    "pad": (lambda x: tf.pad(x, [[0, 1], [0, 0]]), [[b"a", b"b"], [b"c", b"d"], [b"", b""]]),
    "pad with": (lambda x: tf.pad(x, [[0, 0], [1, 0]], constant_values="P"), [[b"P", b"a", b"b"], [b"P", b"c", b"d"]]),
    "roll": (lambda x: tf.roll(x, 1, 0), [[b"c", b"d"], [b"a", b"b"]]),
    "scatter": (lambda x: tf.tensor_scatter_nd_update(x, [[0, 0]], ["z"]), [[b"z", b"b"], [b"c", b"d"]]),
    "plus": (lambda x: x + "!", [[b"a!", b"b!"], [b"c!", b"d!"]]),
    "plus before": (lambda x: "<" + x, [[b"<a", b"<b"], [b"<c", b"<d"]]),
    "add": (lambda x: tf.add(x, x), [[b"aa", b"bb"], [b"cc", b"dd"]]),
    "equal": (lambda x: tf.equal(x, ["a", "d"]), [[True, False], [False, True]]),
    "not equal": (lambda x: x != "a", [[False, True], [True, True]]),
}


@pytest.mark.parametrize("traced", [False, True], ids=["now", "traced"])
@pytest.mark.parametrize("name", MOVES)
def test_strings_move_as_numbers_do(name, traced):
    compute, expected = MOVES[name]
    result = (tf.function(compute) if traced else compute)(A)
    assert result.numpy().tolist() == expected


def test_zeros_of_strings_are_empty():
    assert tf.zeros([0, 1], tf.string).shape[0] == 0
    assert tf.zeros([2], tf.string).numpy().tolist() == [b"", b""] == tf.zeros_like(A[0]).numpy().tolist()
    assert tf.fill([2], "a").numpy().tolist() == [b"a", b"a"]


def test_datasets_filter_lines():
    lines = tf.data.Dataset.from_tensor_slices(["0a", "1b"])
    kept = lines.filter(lambda line: tf.not_equal(tf.strings.substr(line, 0, 1), "0"))
    assert list(kept.as_numpy_iterator()) == [b"1b"]


def test_ops_of_numbers_refuse_strings():
    with pytest.raises(TypeError, match="multiply is not defined for string"):
        tf.multiply(A, A)
    with pytest.raises(TypeError, match="sort is not defined for string"):
        tf.sort(A)


def test_names_of_files_are_strings(tmp_path):
    (tmp_path / "f").write_bytes(b"text")
    assert tf.io.read_file(tmp_path / "f").numpy() == b"text"


def test_python_called_out_of_a_plan_sees_the_shapes_that_were_traced():
    @tf.function
    def f(x):
        row = tf.reshape(x[0:1], [2])  # a view of what the plan holds
        return tf.numpy_function(lambda a: np.float32(a.ndim) * a, [row], tf.TensorSpec([2], tf.float32))

    assert f(tf.ones([2, 2])).numpy().tolist() == [1.0, 1.0]


def test_functions_of_python_are_made_by_decorators():
    @tf.py_function(Tout=tf.float32)
    def twice(x):
        return 2 * x

    @tf.numpy_function(Tout=tf.float32)
    def thrice(x):
        return 3 * x

    assert float(twice(3.0)) == 6.0 and float(thrice(3.0)) == 9.0


def test_no_strings_keep_their_shape():
    none = tf.zeros([0, 1], tf.string)
    assert none.shape == [0, 1] and tf.zeros([2], tf.string).numpy().tolist() == [b"", b""] and tf.zeros([], tf.string).numpy() == b""
    assert tf.concat([none, tf.constant([["a"], ["b"]])], 0).numpy().tolist() == [[b"a"], [b"b"]]


def test_no_strings_keep_their_shape():
    none = tf.constant([["a", "b"]])[:0]
    for got, wanted in (
        (tf.slice(tf.constant([["a", "b"]]), [0, 0], [0, -1]), (0, 2)), (tf.gather(tf.constant([["a", "b"]]), tf.zeros([0], tf.int32)), (0, 2)),
        (tf.concat([none, none], 0), (0, 2)), (tf.transpose(none), (2, 0)), (tf.strings.length(none), (0, 2)), (tf.strings.upper(none), (0, 2)),
        (tf.strings.join([none, none]), (0, 2)), (tf.strings.to_number(none), (0, 2)), (tf.strings.as_string(tf.zeros([0, 3])), (0, 3)), (none == none, (0, 2)),
        (tf.strings.substr(none, 0, 1), (0, 2)), (tf.strings.regex_replace(none, "a", "b"), (0, 2)), (tf.where(none == "a", none, none), (0, 2)),
    ):  # fmt: skip
        assert got.shape == wanted


def test_joining_along_axes_without_elements():
    none = tf.constant([["a", "b"]])
    assert tf.strings.reduce_join(none[:, :0], axis=1).numpy().tolist() == [b""] and tf.strings.reduce_join(none[:0], axis=1).shape == (0,)
    assert tf.strings.reduce_join("x").numpy() == b"x"
    with pytest.raises(tf.errors.InvalidArgumentError, match="axes"):
        tf.strings.reduce_join("x", axis=0)
