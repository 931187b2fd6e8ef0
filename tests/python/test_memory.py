"""Nothing is kept that is no longer needed."""
import gc
import sys

import numpy as np

import tandemflow as tf


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def grown_by(body, times):
    """Bytes by which the process grows when `body` runs many times, after a warm-up."""
    for _ in range(times // 10):
        body()
    gc.collect()
    before = resident_bytes()
    for _ in range(times):
        body()
    gc.collect()
    return resident_bytes() - before


A = tf.constant(np.ones((16, 16), np.float32))
V = tf.Variable(np.ones((16, 16), np.float32))
LIMIT = 4 << 20


def test_a_hundred_thousand_ops_keep_no_memory():
    def body():
        tf.add(A, A) * 2.0 - 1

    assert grown_by(body, 100_000) < LIMIT


def test_conversions_and_gradients_keep_no_memory():
    def body():
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(V * tf.constant([[1.0] * 16]) + np.ones(16))
        tape.gradient(y, V).numpy()
        V.assign_add(A * 0.0)
        str(V[0, 1:3])
        A.shape, A.dtype, A.device

    assert grown_by(body, 3_000) < LIMIT


def test_errors_keep_no_memory():
    wrong = tf.ones((3, 5))

    def body():
        for bad in (lambda: tf.matmul(A, wrong), lambda: tf.add(A, q=1), lambda: tf.constant([[1], [2, 3]]), lambda: A["x"]):
            try:
                bad()
            except (ValueError, TypeError):
                pass

    assert grown_by(body, 3_000) < LIMIT


def test_reference_counts_stay():
    value, name, key, shape = [1.0, 2.0], "same name", (0, slice(None)), (2, 2)
    watched = [value, name, key, shape, tf.float32, tf.Tensor, tf.add, None, A]
    before = [sys.getrefcount(item) for item in watched]
    for _ in range(1000):
        tf.constant(value), tf.add(A, A, name=name), A[key], tf.zeros(shape, tf.float32), A.dtype, A.shape
        A + A, -A, A == A, A == None, tf.reduce_sum(A, axis=None), A.numpy(), repr(A[0, 0])  # noqa: E711
    after = [sys.getrefcount(item) for item in watched]
    assert all(abs(b - a) < 20 for a, b in zip(before, after)), list(zip(before, after))
