"""Variables of complex numbers, and more ops on them."""
import numpy as np
import tandemflow as tf


def test_they_are_made_read_and_assigned_as_tensorflows():
    v = tf.Variable([5 + 4j, 6 + 1j])
    assert repr(v) == "<tf.Variable 'Variable:0' shape=(2,) dtype=complex128, numpy=array([5.+4.j, 6.+1.j])>"
    v.assign_add([1j, 1 + 0j]).assign_sub([0j, 1 + 0j])
    np.testing.assert_allclose(v.numpy(), [5 + 5j, 6 + 1j])
    np.testing.assert_allclose((v * 2).numpy(), [10 + 10j, 12 + 2j])
    assert tf.Variable(3, dtype=tf.complex64).dtype == tf.complex64 and v.trainable and v.ref().deref() is v
    module = tf.Module()
    module.v = v
    assert module.variables == (v,) or module.variables[0] is v


def test_gradients_by_complex_sources_are_tensorflows():
    v = tf.Variable([2 + 4j, 6 - 8j])
    with tf.GradientTape(persistent=True) as tape:
        size = tf.reduce_sum(tf.abs(v) ** 2)
        squares = v * v
    np.testing.assert_allclose(tape.gradient(size, v).numpy(), [4 + 8j, 12 - 16j])
    np.testing.assert_allclose(tape.gradient(squares, v).numpy(), np.conj([4 + 8j, 12 - 16j]))


def test_functions_of_complex_numbers_are_numpys():
    z = np.array([1 + 2j, 3 - 0.5j])
    for name in ("sin", "cos", "sinh", "cosh", "tan", "tanh", "exp", "sqrt"):
        np.testing.assert_allclose(getattr(tf.math, name)(tf.constant(z)).numpy(), getattr(np, name)(z), rtol=1e-12)
    np.testing.assert_allclose(tf.einsum("i,j->ij", z, tf.constant(z)).numpy(), np.outer(z, z))
    np.testing.assert_allclose(tf.where([True, False], tf.constant(z), -tf.constant(z)).numpy(), np.where([True, False], z, -z))
    np.testing.assert_allclose(tf.norm(tf.constant(z)).numpy(), np.linalg.norm(z))
    np.testing.assert_allclose(tf.fill([2], 1 + 1j).numpy(), [1 + 1j] * 2)
