"""Gradients of gathered rows, variables that take values of several shapes, dtypes of lists, tensors as messages."""
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


def test_watched_variables_include_those_given_to_watch():
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(v)
        assert v * w > 0
    assert [x is v for x in tape.watched_variables()] == [True]


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


def test_lists_of_numpys_numbers_keep_their_dtype_in_datasets():
    dataset = tf.data.Dataset.from_tensor_slices(([np.int64(1), np.int64(2)], {"x": [np.zeros(2, np.uint8)] * 2}))
    assert dataset.element_spec[0].dtype == tf.int64 and dataset.element_spec[1]["x"].dtype == tf.uint8
    with pytest.raises(ValueError):
        tf.constant([np.arange(2), [1, 2, 3]])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "int64", "uint16", "bool"])
def test_serialized_tensors_are_tensorflows_messages(dtype):
    tensor = tf.cast(tf.constant([[1, 0], [1, 1]]), dtype)
    data = tf.io.serialize_tensor(tensor)
    assert tf.reduce_all(tf.equal(tf.io.parse_tensor(data, dtype), tensor)).numpy()


def test_messages_that_tensorflow_writes_are_parsed():
    floats = bytes.fromhex("0801120812020802120208022a04") + np.array([2.5], "<f4").tobytes()  # one number stands for all
    assert tf.io.parse_tensor(floats, tf.float32).numpy().tolist() == [[2.5, 2.5], [2.5, 2.5]]
    assert tf.io.serialize_tensor([b"a", b""]).numpy() == bytes.fromhex("08071204120208024201614200")
    assert tf.io.parse_tensor(tf.function(tf.io.serialize_tensor)(tf.constant([1, 2])), tf.int32).numpy().tolist() == [1, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse"):
        tf.io.parse_tensor(b"junk\xff\xff", tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Type mismatch between parsed tensor"):
        tf.io.parse_tensor(floats, tf.int32)


def test_functions_that_run_op_by_op_give_tensors_too():
    @tf.function
    def halvings(n):
        steps, seen = 0, tf.TensorArray(tf.int32, size=0, dynamic_size=True)
        while n > 1:
            seen = seen.write(steps, n)
            n = n // 2
            steps += 1
        return steps, {"seen": seen.stack(), "text": "done"}

    steps, rest = halvings(tf.constant(8))
    assert steps.numpy() == 3 and rest["seen"].numpy().tolist() == [8, 4, 2] and rest["text"].numpy() == b"done"


def test_arrays_may_grow_in_one_branch_of_a_loop():
    @tf.function
    def primes(n):
        found, k = tf.TensorArray(tf.int32, 0, dynamic_size=True), 0
        for i in tf.range(2, n):
            is_prime = True
            for j in tf.range(2, i):
                if i % j == 0:
                    is_prime = False
                    break
            if not is_prime:
                continue
            found = found.write(k, i)
            k += 1
        return found.stack()

    assert primes(tf.constant(20)).numpy().tolist() == [2, 3, 5, 7, 11, 13, 17, 19]


def test_variables_are_pickled_with_their_settings():
    import pickle

    v = pickle.loads(pickle.dumps(tf.Variable([1, 2], trainable=False, name="kept", shape=[None])))
    assert v.numpy().tolist() == [1, 2] and not v.trainable and v.name == "kept:0" and v.shape.as_list() == [None]


def test_iterators_of_batches_of_any_size_work_in_functions():
    @tf.function
    def two(iterator):
        return next(iterator), next(iterator)

    first, second = two(iter(tf.data.Dataset.range(3).batch(2)))
    assert first.numpy().tolist() == [0, 1] and second.numpy().tolist() == [2]


def test_the_exponential_of_matrices():
    a = tf.constant([[0.0, 1.0], [-1.0, 0.0]], tf.float64)
    for angle in (0.1, 1.0, 20.0):
        expected = [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
        np.testing.assert_allclose(tf.linalg.expm(a * angle).numpy(), expected, atol=1e-9)
    np.testing.assert_allclose(tf.linalg.expm(tf.zeros([2, 3, 3])).numpy(), np.broadcast_to(np.eye(3), (2, 3, 3)))
    with pytest.raises(ValueError, match="square"):
        tf.linalg.expm(tf.zeros([2, 3]))
