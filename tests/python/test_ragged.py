"""Ragged tensors among the operands of ops; the answers are TensorFlow's."""
import numpy as np
import pytest

import tandemflow as tf

DIGITS = tf.ragged.constant([[3, 1, 4, 1], [], [5, 9, 2], [6], []])
WORDS = tf.ragged.constant([["So", "long"], ["thanks", "for", "all"]])
FLOATS = tf.ragged.constant([[1.5, 2.0], [3.0]])
DEEP = tf.ragged.constant([[[1.0, 2.0], [3.0]], [[4.0]], []])


def as_list(value):
    return value.to_list() if isinstance(value, tf.RaggedTensor) else value.numpy().tolist()


@pytest.mark.parametrize(
    "compute, expected",
    [
        (lambda: tf.add(DIGITS, 3), [[6, 4, 7, 4], [], [8, 12, 5], [9], []]),
        (lambda: 3 - DIGITS, [[0, 2, -1, 2], [], [-2, -6, 1], [-3], []]),
        (lambda: DIGITS * DIGITS, [[9, 1, 16, 1], [], [25, 81, 4], [36], []]),
        (lambda: DIGITS // 2 + DIGITS % 2, [[2, 1, 2, 1], [], [3, 5, 1], [3], []]),
        (lambda: -DIGITS, [[-3, -1, -4, -1], [], [-5, -9, -2], [-6], []]),
        (lambda: DIGITS > 2, [[True, False, True, False], [], [True, True, False], [True], []]),
        (lambda: tf.where(DIGITS > 2, DIGITS, 0 * DIGITS), [[3, 0, 4, 0], [], [5, 9, 0], [6], []]),
        (lambda: FLOATS + tf.constant([[10.0], [20.0]]), [[11.5, 12.0], [23.0]]),
        (lambda: tf.nn.relu(FLOATS - 2.0), [[0.0, 0.0], [1.0]]),
        (lambda: tf.cast(FLOATS, tf.int32), [[1, 2], [3]]),
        (lambda: tf.ones_like(FLOATS), [[1.0, 1.0], [1.0]]),
        (lambda: tf.map_fn(tf.square, DIGITS), [[9, 1, 16, 1], [], [25, 81, 4], [36], []]),
        (lambda: tf.ragged.map_flat_values(lambda x: 2 * x + 1, FLOATS), [[4.0, 5.0], [7.0]]),
        (lambda: WORDS + "!", [[b"So!", b"long!"], [b"thanks!", b"for!", b"all!"]]),
        (lambda: tf.strings.substr(WORDS, 0, 2), [[b"So", b"lo"], [b"th", b"fo", b"al"]]),
        (lambda: tf.strings.join([WORDS, "-"]), [[b"So-", b"long-"], [b"thanks-", b"for-", b"all-"]]),
    ],
)
def test_ops_work_on_the_values(compute, expected):
    assert as_list(compute()) == expected


@pytest.mark.parametrize(
    "compute, expected",
    [
        (lambda: tf.reduce_sum(DIGITS, axis=1), [9, 0, 16, 6, 0]),
        (lambda: tf.reduce_sum(DIGITS, axis=0), [14, 10, 6, 1]),
        (lambda: tf.reduce_sum(DIGITS), 31),
        (lambda: tf.reduce_max(FLOATS, axis=1), [2.0, 3.0]),
        (lambda: tf.reduce_any(DIGITS > 5, axis=1), [False, False, True, True, False]),
        (lambda: tf.reduce_sum(DEEP, axis=2), [[3.0, 3.0], [4.0], []]),
        (lambda: tf.reduce_sum(DEEP, axis=1), [[4.0, 2.0], [4.0], []]),
    ],
)
def test_rows_are_reduced(compute, expected):
    assert as_list(compute()) == expected


def test_the_mean_of_whole_numbers_is_a_float_and_of_no_numbers_nan():
    mean = tf.reduce_mean(DIGITS, axis=1)
    assert mean.dtype == tf.float64
    np.testing.assert_allclose(mean, [2.25, np.nan, 16 / 3, 6, np.nan])


@pytest.mark.parametrize(
    "compute, expected",
    [
        (lambda: tf.concat([FLOATS, [[5.0, 3.0]]], axis=0), [[1.5, 2.0], [3.0], [5.0, 3.0]]),
        (lambda: tf.concat([FLOATS, FLOATS], axis=1), [[1.5, 2.0, 1.5, 2.0], [3.0, 3.0]]),
        (lambda: tf.stack([FLOATS, FLOATS]), [[[1.5, 2.0], [3.0]], [[1.5, 2.0], [3.0]]]),
        (lambda: tf.ragged.stack([FLOATS, FLOATS]), [[[1.5, 2.0], [3.0]], [[1.5, 2.0], [3.0]]]),
        (lambda: tf.tile(FLOATS, [1, 2]), [[1.5, 2.0, 1.5, 2.0], [3.0, 3.0]]),
        (lambda: tf.gather(DIGITS, [2, 0]), [[5, 9, 2], [3, 1, 4, 1]]),
        (lambda: tf.gather(tf.constant([10, 20, 30, 40]), tf.ragged.constant([[1], [3, 0]])), [[20], [40, 10]]),
        (lambda: tf.expand_dims(FLOATS, 0), [[[1.5, 2.0], [3.0]]]),
        (lambda: tf.expand_dims(FLOATS, -1), [[[1.5], [2.0]], [[3.0]]]),
        (lambda: tf.reverse(FLOATS, [1]), [[2.0, 1.5], [3.0]]),
        (lambda: tf.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [True, True]]), [[1], [3, 4]]),
        (lambda: DEEP.merge_dims(1, 2), [[1.0, 2.0, 3.0], [4.0], []]),
        (lambda: DEEP.row_lengths(axis=2), [[2, 1], [1], []]),
        (lambda: tf.RaggedTensor.from_uniform_row_length([1, 2, 3, 4], 2), [[1, 2], [3, 4]]),
        (lambda: tf.RaggedTensor.from_nested_row_splits([1, 2, 3], [[0, 1, 2], [0, 2, 3]]), [[[1, 2]], [[3]]]),
        (lambda: tf.RaggedTensor.from_sparse(tf.sparse.from_dense([[1, 0], [2, 3]])), [[1], [2, 3]]),
        (lambda: tf.sparse.to_dense(FLOATS.to_sparse()), [[1.5, 2.0], [3.0, 0.0]]),
        (lambda: tf.ragged.segment_ids_to_row_splits([0, 0, 2]), [0, 2, 2, 3]),
        (lambda: tf.ragged.row_splits_to_segment_ids([0, 2, 2, 3]), [0, 0, 2]),
    ],
)
def test_rows_are_moved_joined_and_made(compute, expected):
    assert as_list(compute()) == expected


def test_sizes_of_a_ragged_tensor():
    assert int(tf.size(DIGITS)) == 8 and int(tf.rank(DEEP)) == 3
    assert [splits.numpy().tolist() for splits in DEEP.nested_row_splits] == [[0, 2, 3, 3], [0, 2, 3, 4]]
    assert repr(tf.RaggedTensorSpec([None, None], tf.int32)) == "RaggedTensorSpec(TensorShape([None, None]), tf.int32, 1, tf.int64)"


def test_rows_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="other row lengths"):
        FLOATS + tf.ragged.constant([[1.0], [2.0, 3.0]])
    with pytest.raises(ValueError, match=r"shape \(3, 3\) does not broadcast to the rows"):
        FLOATS + tf.ones([3, 3])
    with pytest.raises(ValueError, match=r"as many rows each, got \[2, 5\]"):
        tf.concat([FLOATS, tf.cast(DIGITS, tf.float32)], axis=1)
    with pytest.raises(TypeError, match="unsupported type"):
        tf.matmul(FLOATS, FLOATS)


def test_where_and_masks_choose_among_rows():
    rows = tf.ragged.constant([[3, 1], [], [5]])
    assert tf.where(rows > 2, rows, 0).to_list() == [[3, 0], [], [5]]
    assert tf.ragged.boolean_mask([1, 2, 3], [True, False, True]).numpy().tolist() == [1, 3]
