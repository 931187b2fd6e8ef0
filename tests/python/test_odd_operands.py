"""Calls with NaN, nothing or too much in them, whose answers were compared with TensorFlow's (tools/beside_tensorflow)."""
import numpy as np

import tandemflow as tf

NAN = float("nan")


def test_the_gradient_of_a_clipped_nan_goes_to_the_lower_bound():
    x, low, high = tf.constant([NAN, 0.5, 3.0, -3.0]), tf.constant(-1.0), tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch([x, low, high])
        y = tf.clip_by_value(x, low, high)
    by_x, by_low, by_high = tape.gradient(y, [x, low, high])
    assert by_x.numpy().tolist() == [0, 1, 0, 0] and by_low.numpy() == 2 and by_high.numpy() == 1


def test_a_bound_that_is_nan_makes_what_it_bounds_nan():
    x = tf.constant([-2.0, 0.0, 2.0])
    assert np.isnan(tf.clip_by_value(x, NAN, 1.0)).all() and np.isnan(tf.clip_by_value(x, -1.0, NAN)).all()


def test_the_gradient_of_elu_passes_nan_by():
    x = tf.constant([NAN, -1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.elu(x)
    np.testing.assert_allclose(tape.gradient(y, x, output_gradients=tf.constant([3.0, 1.0, 2.0])), [3, np.exp(-1), 2], rtol=1e-6)


def test_the_gradient_of_rsqrt_is_zero_where_none_comes_from_above():
    x = tf.constant([0.0, 4.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.math.rsqrt(x)
    assert tape.gradient(y, x, output_gradients=tf.constant([0.0, 1.0])).numpy().tolist() == [0, -1 / 16]


def test_the_gradient_of_a_product_over_some_axes_is_the_product_of_the_others():
    x = tf.constant(np.arange(1, 25, dtype="float32").reshape(2, 3, 4))
    for axis in (None, 0, 1, 2, (0, 2), (1, 2)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_prod(x, axis, keepdims=True)
        np.testing.assert_allclose(tape.gradient(y, x), y.numpy() / x.numpy(), rtol=1e-5)


def test_nothing_is_repeated_by_an_empty_list():
    assert tf.repeat(tf.zeros([3, 0, 2], tf.int32), []).shape == [0]


def test_incomplete_gamma_functions_of_enormous_numbers_do_not_raise():
    with np.errstate(all="ignore"):
        assert tf.math.igamma(tf.constant(1.7e308, tf.float64), tf.constant(1.0, tf.float64)).numpy() == 0
    assert np.isnan(tf.math.igammac(-2.5, 0.0)) and tf.math.igammac(2.5, 0.0).numpy() == 1


def test_negative_pixels_become_zero_in_a_wider_dtype_without_signs():
    pixels = tf.constant([[[-7, 127, 1]]], tf.int8)
    assert tf.image.convert_image_dtype(pixels, tf.uint16, saturate=True).numpy().ravel().tolist() == [0, 127 * 512, 512]


def test_a_grid_of_three_vectors_has_each_along_its_own_axis():
    vectors = [np.arange(n, dtype="float32") for n in (2, 3, 4)]
    for indexing in ("xy", "ij"):
        for ours, theirs in zip(tf.meshgrid(*vectors, indexing=indexing), np.meshgrid(*vectors, indexing=indexing)):
            np.testing.assert_array_equal(ours, theirs)
