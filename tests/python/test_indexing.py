"""tensor[key] is what NumPy gives."""
import numpy as np
import pytest

import tandemflow as tf

ARRAY = np.arange(2 * 3 * 4).reshape(2, 3, 4).astype(np.float32)
KEYS = [
    0, -1, (0, 1), (0, 1, 2), slice(None), slice(1, None), slice(None, -1), (slice(None), 1), (slice(None), slice(1, 3)),
    (Ellipsis, 0), (0, Ellipsis), (Ellipsis,), None, (None, 0), (slice(None), None, 1), (Ellipsis, None),
    slice(None, None, -1), (slice(None), slice(None, None, 2)), (slice(None), slice(None, None, -2), slice(3, 0, -1)),
    slice(5, 9), (slice(None), slice(2, 1)), (1, slice(None, None, 2), -1), (np.int64(1), slice(0, 2)),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_keys_select_as_in_numpy(key):
    expected = ARRAY[key]
    for tensor in (tf.constant(ARRAY), tf.Variable(ARRAY)):
        got = tensor[key]
        assert got.shape == expected.shape
        assert np.array_equal(got.numpy(), expected)


def test_tensors_are_indices():
    assert tf.constant([1, 2, 3])[tf.constant(1)].numpy() == 2


def test_strings_are_selected_too():
    words = tf.constant([["a", "b"], ["c", "d"]])
    assert words[1, 0].numpy() == b"c" and words[:, ::-1].numpy().tolist() == [[b"b", b"a"], [b"d", b"c"]]


def test_gradients_pass_through_indexing():
    x = tf.constant(ARRAY)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x[1, ::2, 1:3] * 2.0)
    expected = np.zeros_like(ARRAY)
    expected[1, ::2, 1:3] = 2
    assert np.array_equal(tape.gradient(y, x).numpy(), expected)


def test_iteration_goes_over_the_first_axis():
    rows = list(tf.constant(ARRAY))
    assert len(rows) == 2 == len(tf.constant(ARRAY))
    assert np.array_equal(rows[1].numpy(), ARRAY[1])
    a, b = tf.constant([1, 2])
    assert (int(a), int(b)) == (1, 2)
    for bad in (lambda: list(tf.constant(1)), lambda: len(tf.constant(1))):
        with pytest.raises(TypeError, match="scalar|Scalar"):
            bad()


@pytest.mark.parametrize("key", [2, -3, (0, 3), (0, 0, 0, 0)])
def test_indices_outside_are_errors(key):
    with pytest.raises(IndexError):
        tf.constant(ARRAY)[key]
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.constant(ARRAY)[key]


@pytest.mark.parametrize("key", [1.5, "a", True, [0, 1], (Ellipsis, Ellipsis), slice(0, 2, 0)])
def test_what_is_no_index_is_refused(key):
    with pytest.raises((TypeError, ValueError)):
        tf.constant(ARRAY)[key]


def test_a_mask_picks_elements_or_rows():
    x = tf.reshape(tf.range(6), [3, 2])
    assert x[x > 3].numpy().tolist() == [4, 5]
    assert x[np.array([True, False, True])].numpy().tolist() == [[0, 1], [4, 5]]
    assert tf.Variable(x)[x < 2].numpy().tolist() == [0, 1]
    assert tf.function(lambda x: x[x > 3])(x).numpy().tolist() == [4, 5]
