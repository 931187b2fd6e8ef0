"""Integers of every width, beside NumPy: they wrap, and unsigned ones stay unsigned up to their last bit."""
import numpy as np
import pytest

import tandemflow as tf

DTYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
DEVICES = ["/CPU:0"] + [device.name.replace("/physical_device:", "/") for device in tf.config.list_physical_devices("GPU")[:1]]


def numbers(dtype, count=200, seed=3):
    info = np.iinfo(dtype)
    ends = np.array([info.min, info.max, 0, 1, info.max // 2, info.max // 2 + 1], dtype)
    drawn = np.random.default_rng(seed).integers(info.min, info.max, count, dtype, endpoint=True)
    return np.concatenate([ends, drawn])


def check(got, wanted):
    assert got.dtype == wanted.dtype and np.array_equal(got, wanted), (got[got != wanted][:5], wanted[got != wanted][:5])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_arithmetic_wraps_as_in_numpy(dtype, device):
    a = numbers(dtype)
    b = np.roll(a, 7)
    divisor = np.where(b == 0, b.dtype.type(3), b)
    with tf.device(device), np.errstate(all="ignore"):
        x, y, z = tf.constant(a), tf.constant(b), tf.constant(divisor)
        check((x + y).numpy(), a + b)
        check((x - y).numpy(), a - b)
        check((x * y).numpy(), a * b)
        check((x // z).numpy(), a // divisor)
        check((x % z).numpy(), a % divisor)
        check(tf.maximum(x, y).numpy(), np.maximum(a, b))
        check(tf.minimum(x, y).numpy(), np.minimum(a, b))
        check(tf.square(x).numpy(), a * a)
        check((x + 1).numpy(), a + a.dtype.type(1))
        check(tf.bitwise.bitwise_xor(x, y).numpy(), a ^ b)
        check(tf.bitwise.invert(x).numpy(), ~a)
        places = np.arange(a.size).astype(dtype) % dtype_bits(dtype)
        check(tf.bitwise.left_shift(x, tf.constant(places)).numpy(), a << places)
        check(tf.bitwise.right_shift(x, tf.constant(places)).numpy(), a >> places)


def dtype_bits(dtype):
    return np.dtype(dtype).type(8 * np.dtype(dtype).itemsize)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_order_and_conversions_are_those_of_the_dtype(dtype, device):
    a = numbers(dtype)
    b = np.roll(a, 11)
    with tf.device(device):
        x, y = tf.constant(a), tf.constant(b)
        check((x < y).numpy(), a < b)
        check((x >= y).numpy(), a >= b)
        check(tf.equal(x, y).numpy(), a == b)
        check(tf.cast(x, tf.float64).numpy(), a.astype(np.float64))
        check(tf.sort(x).numpy(), np.sort(a))
        assert tf.argmax(x).numpy() == a.argmax() and tf.argmin(x).numpy() == a.argmin()
        check(tf.math.top_k(x, 5)[0].numpy(), np.sort(a)[::-1][:5])
        wide = "float32" if np.dtype(dtype).itemsize <= 2 else "float64"
        divisor = np.where(b == 0, b.dtype.type(3), b)
        check((x / tf.constant(divisor)).numpy(), a.astype(wide) / divisor.astype(wide))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions_wrap_and_keep_the_order(dtype, device):
    a = numbers(dtype, 30 * 41 - 6).reshape(30, 41)
    with tf.device(device), np.errstate(all="ignore"):
        x = tf.constant(a)
        for axis in (None, 0, 1):
            check(np.asarray(tf.reduce_sum(x, axis)), np.asarray(a.sum(axis, dtype=dtype)))
            check(np.asarray(tf.reduce_prod(x, axis)), np.asarray(a.prod(axis, dtype=dtype)))
            check(np.asarray(tf.reduce_max(x, axis)), np.asarray(a.max(axis)))
            check(np.asarray(tf.reduce_min(x, axis)), np.asarray(a.min(axis)))
        check(tf.cumsum(x, 1).numpy(), a.cumsum(1, dtype=dtype))
        ids = np.arange(30) % 4
        check(tf.math.unsorted_segment_max(x, tf.constant(ids), 4).numpy(), np.stack([a[ids == i].max(0) for i in range(4)]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_traced_functions_give_the_same(dtype):
    a = numbers(dtype)
    b = np.where(np.roll(a, 3) == 0, np.dtype(dtype).type(5), np.roll(a, 3))

    def formula(x, y):
        return tf.maximum(x * y + x, y) - x // y, tf.reduce_max(x + y), (x < y) & (x + y > y)

    for got, wanted in zip(tf.function(formula)(tf.constant(a), tf.constant(b)), formula(tf.constant(a), tf.constant(b))):
        check(np.asarray(got), np.asarray(wanted))
