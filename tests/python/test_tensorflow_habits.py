"""Habits of TensorFlow programs: tensors as messages, functions that run op by op, pickled variables, lists in datasets."""
import numpy as np
import pytest
import tandemflow as tf


def test_watched_variables_include_those_given_to_watch():
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(v)
        assert v * w > 0
    assert [x is v for x in tape.watched_variables()] == [True]


def test_lists_of_numpys_numbers_keep_their_dtype_in_datasets():
    dataset = tf.data.Dataset.from_tensor_slices(([np.int64(1), np.int64(2)], {"x": [np.zeros(2, np.uint8)] * 2}))
    assert dataset.element_spec[0].dtype == tf.int64 and dataset.element_spec[1]["x"].dtype == tf.uint8


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

    v = pickle.loads(pickle.dumps(tf.Variable([1, 2], trainable=False, name="kept")))
    assert v.numpy().tolist() == [1, 2] and not v.trainable and v.name == "kept:0"


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
