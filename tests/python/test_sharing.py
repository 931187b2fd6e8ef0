"""Memory that tensors share with NumPy, buffers and other libraries."""
import gc
import pickle
import weakref

import numpy as np
import pytest

import tandemflow as tf
from tandemflow import _tandem

DTYPES = ["float16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"]


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_gives_a_view_that_cannot_be_written(dtype):
    values = np.arange(6).reshape(2, 3).astype(dtype)
    tensor = tf.constant(values)
    first, second = tensor.numpy(), tensor.numpy()
    assert first.dtype == dtype and np.array_equal(first, values) and address(first) == address(second)
    assert address(np.asarray(tensor)) == address(first) and np.shares_memory(np.array(tensor, copy=None), first)
    with pytest.raises(ValueError, match="read-only"):
        first[0, 0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        first.flags.writeable = True


def test_a_view_keeps_the_values_alive():
    tensor = tf.constant(np.arange(100_000.0))
    view = tensor.numpy()
    del tensor
    gc.collect()
    others = [tf.zeros(100_000, tf.float64) for _ in range(10)]
    assert view.sum() == 99_999 * 50_000 and len(others) == 10


def test_a_variable_that_changes_leaves_views_as_they_were():
    variable = tf.Variable(np.ones(1000, "float32"))
    before = variable.numpy()
    variable.assign_add(np.ones(1000, "float32"))
    assert before.sum() == 1000 and variable.numpy().sum() == 2000
    step = tf.function(lambda: variable.assign_add(tf.ones(1000)))
    step()
    after = variable.numpy()
    step()
    assert after.sum() == 3000 and variable.numpy().sum() == 4000


def test_arrays_of_keras_may_be_written():
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
    model.compile("sgd", "mse")
    weights = model.get_weights()
    weights[0][:] = 7
    assert model.get_weights()[0].max() < 7
    model.set_weights(weights)
    assert model.get_weights()[0].min() == 7
    for predictions in (model.predict(np.ones((4, 3)), verbose=0), model.predict_on_batch(np.ones((4, 3)))):
        predictions[:] = 0
    tf.keras.ops.convert_to_numpy(tf.ones(2))[0] = 5


def test_scalars_and_arrays_with_another_dtype():
    assert isinstance(tf.constant(2.5).numpy(), np.float32) and isinstance(tf.constant(True).numpy(), np.bool_)
    assert np.asarray(tf.constant(3)).shape == () and tf.constant(b"x").numpy() == b"x"
    tensor = tf.constant([1.0, 2.0])
    assert np.asarray(tensor, dtype="float64").dtype == "float64"
    assert tensor.__array__(copy=True).flags.writeable
    with pytest.raises(ValueError, match="copy"):
        tensor.__array__("float64", copy=False)


def test_the_buffer_protocol():
    tensor = tf.constant([[1, 2, 3], [4, 5, 6]])
    view = memoryview(tensor)
    assert view.format == "i" and view.shape == (2, 3) and view.strides == (12, 4) and view.readonly
    assert view.tolist() == [[1, 2, 3], [4, 5, 6]] and bytes(tf.constant([1, 2], tf.uint8)) == b"\x01\x02"
    with pytest.raises(BufferError, match="bfloat16"):
        memoryview(tf.cast(tensor, tf.bfloat16))
    with pytest.raises(BufferError, match="traced"):
        tf.function(lambda x: memoryview(x))(tensor)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bool"])
def test_dlpack_goes_both_ways_without_a_copy(dtype):
    tensor = tf.constant(np.arange(6).reshape(2, 3).astype(dtype))
    there = np.from_dlpack(tensor)
    assert address(there) == address(tensor.numpy()) and not there.flags.writeable
    back = tf.experimental.dlpack.from_dlpack(tf.experimental.dlpack.to_dlpack(tensor))
    assert address(back.numpy()) == address(tensor.numpy())
    source = np.arange(12).reshape(3, 4).astype(dtype)
    taken = tf.experimental.dlpack.from_dlpack(source)
    assert address(taken.numpy()) == address(source) and np.array_equal(tf.reshape(taken, [12]).numpy(), source.reshape(12))


def test_dlpack_keeps_its_source_and_lets_it_go():
    class Array(np.ndarray):
        pass

    source = np.arange(5.0).view(Array)
    gone = weakref.ref(source)
    tensor = tf.experimental.dlpack.from_dlpack(source)
    del source
    gc.collect()
    assert gone() is not None and tf.reduce_sum(tensor).numpy() == 10
    del tensor
    gc.collect()
    assert gone() is None


def test_dlpack_refuses_what_it_cannot_hold():
    dlpack = tf.experimental.dlpack
    with pytest.raises(ValueError, match="contiguous"):
        dlpack.from_dlpack(np.arange(12.0).reshape(3, 4).T)
    with pytest.raises(TypeError, match="__dlpack__"):
        dlpack.from_dlpack([1, 2])
    with pytest.raises(TypeError, match="no dtype here"):
        dlpack.from_dlpack(np.zeros(3, "complex64"))
    capsule = dlpack.to_dlpack(tf.constant([1.0]))
    dlpack.from_dlpack(capsule)
    with pytest.raises(ValueError, match="taken already"):
        dlpack.from_dlpack(capsule)
    with pytest.raises(BufferError, match="host"):
        tf.constant([1.0]).__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="string"):
        dlpack.to_dlpack(tf.constant("a"))


def test_lent_arrays_are_read_where_they_are_at_any_alignment():
    base = np.random.default_rng(0).normal(size=10_001).astype("float32")
    for begin in (0, 1, 3):
        array = base[begin : begin + 9_000]
        tensor = _tandem.lend(array)
        assert address(tensor.numpy()) == address(array)
        assert np.allclose(tf.exp(tensor).numpy(), np.exp(array)) and np.allclose(tf.reduce_sum(tensor).numpy(), array.sum(), atol=1e-2)
        square = tf.reshape(tensor, (90, 100))
        assert np.allclose(tf.matmul(square, square, transpose_b=True).numpy(), array.reshape(90, 100) @ array.reshape(90, 100).T, atol=1e-3)
    assert _tandem.lend(np.arange(10.0)[::2]) is None and _tandem.lend(np.array(["a"])) is None and _tandem.lend([1.0]) is None


def test_fit_leaves_the_arrays_it_reads_alone():
    x, y = np.random.default_rng(0).normal(size=(64, 4)).astype("float32"), np.zeros((64, 1), "float32")
    before = x.copy()
    model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="relu"), tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(x, y, epochs=2, verbose=0, batch_size=64)
    model.evaluate(x, y, verbose=0)
    assert np.array_equal(x, before)
    x += 1  # nothing holds on to it
    assert np.allclose(model.predict(x, verbose=0), model(x).numpy(), atol=1e-6)


def test_pickles_hold_the_values():
    tensor = tf.constant([[1.0, 2.0]])
    assert np.array_equal(pickle.loads(pickle.dumps(tensor)).numpy(), tensor.numpy())


def test_a_variable_that_a_step_assigns_its_batch_to_keeps_its_values():
    class Keeps(tf.keras.layers.Layer):
        def build(self, shape):
            self.seen = self.add_weight(shape=(4, 3), initializer="zeros", trainable=False)
            self.scale = self.add_weight(shape=(), initializer="ones")

        def call(self, inputs):
            self.seen.assign(inputs)
            return inputs * self.scale

        def compute_output_shape(self, shape):
            return shape

    x = np.arange(24, dtype="float32").reshape(8, 3)
    model = tf.keras.Sequential([tf.keras.Input((3,)), Keeps()])
    model.compile("sgd", "mse")
    model.fit(x, x, batch_size=4, shuffle=False, verbose=0)
    expected = x[4:].copy()
    x[:] = -1
    np.testing.assert_array_equal(model.layers[0].seen.numpy(), expected)


def test_rows_in_their_order_are_read_where_they_lie():
    x = np.random.RandomState(0).rand(1000, 7).astype("float32")
    model = tf.keras.Sequential([tf.keras.Input((7,)), tf.keras.layers.Dense(3)])
    kernel, bias = model.get_weights()
    for batch_size in (1, 7, 64, 999):
        np.testing.assert_allclose(model.predict(x, batch_size=batch_size, verbose=0), x @ kernel + bias, rtol=1e-5, atol=1e-6)
