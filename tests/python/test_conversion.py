"""Python values, NumPy arrays and tensors become each other."""
import copy
import pickle

import numpy as np
import pytest

import tandemflow as tf


@pytest.mark.parametrize(
    "value, dtype, shape",
    [
        (1, tf.int32, ()),
        (3000000000, tf.int64, ()),
        (1.5, tf.float32, ()),
        (True, tf.bool, ()),
        ("text", tf.string, ()),
        ([1, 2.5], tf.float32, (2,)),
        ([[1, 2], [3, 4]], tf.int32, (2, 2)),
        (((1.0,), (2.0,)), tf.float32, (2, 1)),
        ([], tf.float32, (0,)),
        ([[], []], tf.float32, (2, 0)),
        (range(3), tf.int32, (3,)),
        (np.float64(2), tf.float64, ()),
        ([np.float64(1), 2], tf.float64, (2,)),
        (np.array([1, 2]), tf.int64, (2,)),
        (np.array([True]), tf.bool, (1,)),
        (np.array(["a", "bc"]), tf.string, (2,)),
        (np.zeros((0, 3), np.float16), tf.float16, (0, 3)),
    ],
)
def test_values_take_the_dtype_and_shape_tensorflow_gives_them(value, dtype, shape):
    tensor = tf.constant(value)
    assert tensor.dtype is dtype
    assert tensor.shape == shape
    assert np.asarray(tensor).shape == shape


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool"])
def test_numpy_arrays_come_back_equal(name):
    array = np.arange(24).reshape(2, 3, 4).astype(name)
    for view in (array, array.T, array[:, ::2], array[::-1], np.asfortranarray(array)):
        back = tf.constant(view).numpy()
        assert back.dtype == view.dtype
        assert np.array_equal(back, view)


def test_big_endian_arrays_are_understood():
    array = np.array([1.5, -2.0], ">f4")
    assert tf.constant(array).numpy().tolist() == [1.5, -2.0]


def test_arrays_are_copied_into_tensors():
    source = np.ones(3, np.float32)
    tensor = tf.constant(source)
    source[0] = 7
    assert tensor.numpy().tolist() == [1, 1, 1]


def test_scalars_are_numpy_scalars():
    assert type(tf.constant(1.0).numpy()) is np.float32
    assert type(tf.constant(1).numpy()) is np.int32
    assert tf.constant("a").numpy() == b"a"


def test_a_number_beside_a_tensor_takes_its_dtype():
    for dtype in (tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.int32, tf.int64):
        tensor = tf.constant([1, 2], dtype)
        assert (tensor + 1).dtype is dtype
        assert (1 - tensor).dtype is dtype
        assert tf.maximum(0, tensor).dtype is dtype
    assert (tf.constant([1.0]) * np.array([2.0])).dtype is tf.float32
    assert (np.array([2.0]) * tf.constant([1.0])).dtype is tf.float32
    assert (tf.constant([1.0]) * np.float64(3)).numpy() == [3]


def test_what_would_lose_more_than_precision_is_refused():
    for bad in (lambda: tf.constant([1, 2]) + 1.5, lambda: tf.constant([1]) * np.array([2.0]),
                lambda: tf.constant(1.5, tf.int32), lambda: tf.constant(1, tf.bool),
                lambda: tf.constant(300, tf.uint8), lambda: tf.constant("a", tf.int32),
                lambda: tf.constant([1], tf.int8) * np.array([300])):  # fmt: skip
        with pytest.raises(TypeError):
            bad()


@pytest.mark.parametrize(
    "value",
    [[[1, 2], [3]], [1, [2]], [[1], 2], None, object(), {"a": 1}, 2**70, ["a", 1], np.array([object()]),
     np.array(["2020-01-01"], "datetime64[D]"), lambda: 1],
)  # fmt: skip
def test_what_is_no_tensor_is_refused_with_a_message(value):
    with pytest.raises((ValueError, TypeError)) as caught:
        tf.constant(value)
    assert len(str(caught.value)) > 20


@pytest.mark.parametrize("name", ["int16", "uint16", "uint32", "uint64"])
def test_integers_for_storage_are_kept_moved_and_cast(name, tmp_path):
    dtype, limits = getattr(tf, name), np.iinfo(name)
    array = np.array([[0, 1, 7], [limits.max, limits.min, limits.max - 1]], name)
    tensor = tf.constant(array)
    assert tensor.dtype == dtype == tf.as_dtype(name) and dtype.size == array.itemsize
    assert (dtype.min, dtype.max, dtype.is_integer, dtype.is_unsigned) == (limits.min, limits.max, True, name[0] == "u")
    np.testing.assert_array_equal(tensor.numpy(), array)
    assert tensor.numpy().dtype == array.dtype
    np.testing.assert_array_equal(tf.constant(array.tolist(), dtype), array)
    np.testing.assert_array_equal(tf.transpose(tensor)[1:], array.T[1:])
    np.testing.assert_array_equal(tf.concat([tensor, tensor], 0), np.concatenate([array, array]))
    np.testing.assert_array_equal(tf.gather(tensor, [2, 0], axis=1), array[:, [2, 0]])
    np.testing.assert_array_equal(tf.where(tensor == tensor[0, 1], tensor, tf.zeros_like(tensor)), np.where(array == 1, array, 0))
    assert str(tensor) == str(array).join(["tf.Tensor(\n", f", shape=(2, 3), dtype={name})"])
    np.save(tmp_path / "a.npy", tensor.numpy())
    np.testing.assert_array_equal(tf.io.load_npy(str(tmp_path / "a.npy")), array)
    with pytest.raises(TypeError):
        tf.constant(limits.max + 1, dtype)


@pytest.mark.parametrize("name", ["int16", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("other", ["float16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"])
def test_casts_of_integers_for_storage_are_numpys(name, other):
    limits = np.iinfo(name)
    array = np.array([0, 1, 2, 100, 127, 128, 255, 256, 30000, limits.max // 2 + 1, limits.max - 1, limits.max, limits.min], name)
    with np.errstate(over="ignore"):
        expected = array.astype(other)
    np.testing.assert_array_equal(tf.cast(array, other), expected)
    few = np.array([0, 1, 100, 127], other)
    np.testing.assert_array_equal(tf.cast(few, name), few.astype(name))
    traced = tf.function(lambda x: tf.cast(tf.cast(x, other), tf.float64) + 1.0)
    np.testing.assert_array_equal(traced(array), expected.astype("float64") + 1)


def test_large_floats_become_large_unsigned_integers():
    floats = np.array([2.0**31, 2.0**32 - 4096, 3e9, 0.9, 1.5])
    np.testing.assert_array_equal(tf.cast(floats, tf.uint32), floats.astype(np.uint32))
    floats = np.array([2.0**63, 1.8e19, 2.0**53 + 2, 0.9])
    np.testing.assert_array_equal(tf.cast(floats, tf.uint64), floats.astype(np.uint64))
    assert (tf.constant([2**64 - 1], tf.uint64) + 3).numpy().tolist() == [2]


def test_foreign_widths_convert_when_the_dtype_is_given():
    assert tf.constant(np.arange(3, dtype=np.int16), tf.int32).numpy().tolist() == [0, 1, 2]
    assert tf.constant(np.arange(3, dtype=np.uint16), tf.float32).numpy().tolist() == [0, 1, 2]


def test_a_list_of_tensors_is_stacked_and_gradients_pass():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.constant([x, 3.0, x * x]))
    assert y.numpy() == 9
    assert tape.gradient(y, x).numpy() == 5


def test_constant_fills_and_reshapes():
    assert tf.constant(5, shape=(2, 2)).numpy().tolist() == [[5, 5], [5, 5]]
    assert tf.constant([1, 2, 3, 4], shape=[2, 2]).numpy().tolist() == [[1, 2], [3, 4]]
    with pytest.raises(TypeError, match="3 elements"):
        tf.constant([1, 2, 3], shape=(2, 2))


@pytest.mark.parametrize("spelling", [tf.float32, "float32", np.float32, np.dtype("float32"), float])
def test_dtypes_may_be_spelled_in_many_ways(spelling):
    assert tf.cast([1, 2], spelling).dtype is tf.float32
    assert tf.as_dtype(spelling) is tf.float32
    assert tf.float32 == spelling


def test_dtypes_know_what_they_are():
    assert tf.float32.as_numpy_dtype is np.float32 and tf.bool.as_numpy_dtype is np.bool_
    assert tf.float32.is_floating and not tf.float32.is_integer and tf.uint8.is_integer
    assert tf.int32.max == 2**31 - 1 and tf.float64.size == 8
    assert tf.float32 != tf.float64 and tf.float32 != "nonsense" and len({tf.float32, tf.float32}) == 1


def test_shapes_are_like_tuples():
    shape = tf.ones((2, 3)).shape
    assert shape == (2, 3) and shape == [2, 3] and shape != (3, 2)
    assert (shape[0], shape[-1], shape[1:], shape.rank, shape.ndims, len(shape)) == (2, 3, (3,), 2, 2, 2)
    assert shape.as_list() == [2, 3] and tuple(shape) == (2, 3) and shape.num_elements() == 6
    assert tf.zeros(shape).shape == shape and shape + [4] == (2, 3, 4)
    assert np.zeros(shape).shape == (2, 3)


def test_scalars_convert_to_pythons_numbers():
    assert float(tf.constant(2.5)) == 2.5 and int(tf.constant(2.7)) == 2 and bool(tf.constant(0)) is False
    assert [10, 20, 30][tf.constant(1)] == 20 and list(range(tf.constant(2))) == [0, 1]
    with pytest.raises(ValueError, match="truth value of an array with more than one element is ambiguous"):
        bool(tf.constant([1, 2]))
    with pytest.raises(TypeError, match="only 0-dimensional"):
        float(tf.constant([1.0, 2.0]))
    with pytest.raises(TypeError, match="index"):
        [1, 2][tf.constant(1.0)]


def test_tensors_are_unhashable_but_have_references():
    a = tf.constant(1)
    with pytest.raises(TypeError, match=r"use tensor.ref\(\) as the key"):
        hash(a)
    assert {a.ref(): 1}[a.ref()] == 1 and a.ref().deref() is a


def test_tensors_copy_and_pickle():
    for value in ([[1.0, 2.0]], ["a", "b"], 3, True):
        tensor = tf.constant(value)
        assert copy.deepcopy(tensor) is tensor
        back = pickle.loads(pickle.dumps(tensor))
        assert back.dtype is tensor.dtype and repr(back) == repr(tensor)


def test_integer_lists_may_be_anything_integral():
    for shape in ([2, 3], (2, 3), np.array([2, 3]), tf.constant([2, 3]), tf.TensorShape([2, 3]), (np.int64(2), 3)):
        assert tf.zeros(shape).shape == (2, 3)
    assert tf.ones(3).shape == (3,) and tf.ones([]).shape == ()
    x = tf.ones((2, 3))
    for axis in (None, [0, 1], (0, 1), -1, [1], tf.constant(1), np.int64(1)):
        tf.reduce_sum(x, axis=axis)
    for bad in ("12", 1.5, {"a": 1}, [None]):
        with pytest.raises(TypeError):
            tf.reduce_sum(x, axis=bad)


def test_dlpack_shares_values_with_other_libraries():
    tensor = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert np.from_dlpack(tensor).tolist() == [[1, 2], [3, 4]]


def test_an_array_of_floats_becomes_integers_where_the_dtype_is_named():
    assert tf.constant(np.array([1.5, -1.5]), tf.int32).numpy().tolist() == [1, -1]
    with pytest.raises(TypeError, match="does not become int32 by itself"):
        tf.constant([1, 2]) + np.array([1.5, 2.5])


def test_lists_may_mix_tensors_and_lists():
    for rows in ([tf.constant([1, 2]), [3, 4]], [[1, 2], tf.constant([3, 4])]):
        assert tf.convert_to_tensor(rows).numpy().tolist() == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match="must have one shape"):
        tf.convert_to_tensor([tf.constant([1, 2]), [3]])


def test_times_of_numpy_are_refused():
    with pytest.raises(TypeError, match=r"no dtype here holds NumPy's datetime64\[D\]"):
        tf.constant(np.datetime64("2020-01-01"))
