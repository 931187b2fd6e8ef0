"""Shared by the tests of Python's control flow in tf.function."""
import numpy as np
import tandemflow as tf


def same(function, *cases):
    """Checks that tf.function gives what the function itself gives, for each case, traced once a signature."""
    traced = tf.function(function)
    for case in cases:
        args = [tf.constant(arg) for arg in (case if isinstance(case, tuple) else (case,))]
        wanted = tf.nest.map_structure(lambda t: np.asarray(t), function(*args))
        got = tf.nest.map_structure(lambda t: np.asarray(t), traced(*args))
        tf.nest.map_structure(np.testing.assert_allclose, got, wanted)
    return traced
