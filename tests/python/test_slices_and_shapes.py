"""Gradients of gathered rows, variables that take values of several shapes, dtypes of lists."""
import numpy as np
import pytest
import tandemflow as tf


def _gradient(compute, variable):
    with tf.GradientTape() as tape:
        loss = compute(variable)
    return tape.gradient(loss, variable)


def test_the_gradient_of_gathered_rows_is_shown_as_slices():
    table = tf.Variable(tf.reshape(tf.range(10.0), [5, 2]))
    gradient = _gradient(lambda t: tf.reduce_sum(tf.gather(t, [[0, 2], [2, 4]]) * 3.0), table)
    assert isinstance(gradient, tf.IndexedSlices) and gradient.values.shape == (4, 2) and gradient.indices.numpy().tolist() == [0, 2, 2, 4]
    assert gradient.dense_shape.numpy().tolist() == [5, 2] and gradient.shape == (5, 2) and gradient.dtype == tf.float32
    assert tf.convert_to_tensor(gradient).numpy()[:, 0].tolist() == [3, 0, 6, 0, 3]
    twice = _gradient(lambda t: tf.reduce_sum(tf.nn.embedding_lookup(t, [1])) + tf.reduce_sum(tf.gather(t, [1, 3]) * 2.0), table)
    assert sorted(twice.indices.numpy().tolist()) == [1, 1, 3] and tf.convert_to_tensor(twice).numpy()[:, 1].tolist() == [0, 3, 0, 2, 0]


def test_other_gradients_of_the_same_variable_make_it_a_tensor():
    table = tf.Variable(tf.ones([3, 2]))
    assert isinstance(_gradient(lambda t: tf.reduce_sum(tf.gather(t, [0])) + tf.reduce_sum(t), table), tf.Tensor)
    assert isinstance(_gradient(lambda t: tf.reduce_sum(tf.gather(t, [0], axis=1)), table), tf.Tensor)
    assert isinstance(_gradient(lambda t: tf.reduce_sum(tf.gather(t * 2.0, [0])), table), tf.Tensor)


@pytest.mark.parametrize("traced", [False, True])
def test_optimizers_and_clipping_take_slices(traced):
    table = tf.Variable(tf.ones([4, 2]))
    optimizer = tf.keras.optimizers.SGD(0.5)

    def step(indices):
        gradient = _gradient(lambda t: tf.reduce_sum(tf.gather(t, indices)), table)
        assert isinstance(gradient, tf.IndexedSlices)
        optimizer.apply_gradients([(gradient, table)])
        (clipped,), norm = tf.clip_by_global_norm([gradient], 1.0)
        assert isinstance(clipped, tf.IndexedSlices)
        return gradient, tf.convert_to_tensor(clipped), norm

    gradient, clipped, norm = (tf.function(step) if traced else step)(tf.constant([1, 1]))
    assert tf.convert_to_tensor(gradient).numpy()[:, 0].tolist() == [0, 2, 0, 0] and norm.numpy() == 2
    assert table.numpy()[:, 0].tolist() == [1, 0, 1, 1] and clipped.numpy()[1].tolist() == [1, 1]


def test_slices_go_through_functions_and_ops_as_tensors():
    table = tf.Variable(tf.ones([3, 2]))
    gradient = _gradient(lambda t: tf.reduce_sum(tf.gather(t, [0])), table)
    assert tf.function(lambda g: tf.reduce_sum(g) * 2.0)(gradient).numpy() == 4
    assert tf.reduce_sum(gradient).numpy() == 2 and tf.norm(gradient).numpy() == pytest.approx(2**0.5)
    assert tf.convert_to_tensor(-gradient).numpy()[0].tolist() == [-1, -1]


def test_a_variable_of_open_shape_takes_values_of_several():
    v = tf.Variable([1.0, 2.0], shape=tf.TensorShape(None), name="open")
    assert v.shape.rank is None and repr(v).startswith("<tf.Variable 'open:0' shape=<unknown> dtype=float32")
    v.assign([[3.0]])
    assert v.numpy().tolist() == [[3]] and tf.shape(v).numpy().tolist() == [1, 1] and (v * 2.0).numpy().tolist() == [[6]]
    rows = tf.Variable(tf.zeros([0, 2]), shape=[None, 2])
    rows.assign(tf.ones([3, 2]))
    rows.assign_add(tf.ones([3, 2]))
    assert rows.shape.as_list() == [None, 2] and rows.numpy().tolist() == [[2, 2]] * 3
    with pytest.raises(ValueError, match=r"takes values of shape \(None, 2\), got shape \[3, 3\]"):
        rows.assign(tf.ones([3, 3]))
    with pytest.raises(ValueError, match="does not fit"):
        tf.Variable(tf.zeros([2, 3]), shape=[None, 2])
    assert tf.Variable([1.0], shape=[1]).shape == (1,)


def test_functions_that_change_the_shape_of_a_variable_see_it():
    rows = tf.Variable(tf.zeros([0, 2]), shape=[None, 2])

    @tf.function
    def grow(x):
        rows.assign(tf.concat([rows, x], 0))
        return tf.reduce_sum(rows)

    assert [grow(tf.ones([n, 2])).numpy() for n in (1, 2, 1)] == [2, 6, 8] and rows.numpy().shape == (4, 2)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(rows**2)
    assert tape.gradient(loss, rows).shape == (4, 2) and len(tape.watched_variables()) == 1


def test_open_shapes_are_restored(tmp_path):
    first = tf.Variable(tf.ones([3]), shape=[None])
    path = tf.train.Checkpoint(v=first).write(tmp_path / "x")
    second = tf.Variable(tf.zeros([0]), shape=[None])
    tf.train.Checkpoint(v=second).read(path).assert_consumed()
    assert second.numpy().tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "value, dtype",
    [
        (list(np.arange(3)), "int32"), ([np.uint8(1)], "int32"), ([np.int64(2**40), 1], "int64"), (list(np.arange(2.0)), "float64"),
        ([np.float32(1), 2], "float32"), ([1, np.float64(2)], "float32"), ([np.float16(1), 2.0], "float16"), ([np.int64(1), 2.5], "float32"),
        ([np.arange(2), [3, 4]], "int32"), ([[3, 4], np.arange(2)], "int32"), ([np.array([1.0, 2.0], np.float32), [1.0, 2.0]], "float32"),
        (np.arange(3), "int64"), ([np.True_, np.False_], "bool"),
    ],
)  # fmt: skip
def test_lists_of_numpys_numbers_have_tensorflows_dtypes(value, dtype):
    assert tf.constant(value).dtype.name == dtype and tf.convert_to_tensor(value).numpy().tolist() == np.asarray(value).tolist()


def test_arrays_in_lists_must_fit():
    with pytest.raises(ValueError):
        tf.constant([np.arange(2), [1, 2, 3]])


def test_open_shapes_are_pickled():
    import pickle

    assert pickle.loads(pickle.dumps(tf.Variable([1, 2], shape=[None]))).shape.as_list() == [None]
