"""keras.quantizers beyond int8: nibbles, blocks with a zero of their own, scales of float8, and what a quantised model would see."""
import numpy as np
import pytest
import tandemflow as tf
from tandemflow.keras import quantizers


@pytest.mark.parametrize(
    "values, axis, packed",
    [([[-3, 7], [2, -8], [1, 0]], 0, [[45, -121], [1, 0]]), ([[-3, 7, 2], [-8, 1, 0]], 1, [[125, 2], [24, 0]]), ([[-3, 7, 2], [-8, 1, 0]], -1, [[125, 2], [24, 0]])],
)  # fmt: skip
def test_two_whole_numbers_of_four_bits_share_a_byte_and_come_back(values, axis, packed):
    values = np.array(values, np.int8)
    found, shape, length = quantizers.pack_int4(values, axis)
    np.testing.assert_array_equal(found, packed)
    assert shape == np.shape(packed) and length == values.shape[axis]
    np.testing.assert_array_equal(quantizers.unpack_int4(found, length, axis), values)


def test_nibbles_without_a_sign_are_0_to_15():
    values = np.arange(15, dtype=np.uint8)
    packed, _, length = quantizers.pack_int4(values, dtype="uint8")
    np.testing.assert_array_equal(quantizers.unpack_int4(packed, length, dtype="uint8"), values)


def test_other_dtypes_are_not_packed():
    with pytest.raises(TypeError, match="Expected int8 tensor for packing, got int32"):
        quantizers.pack_int4(np.ones(2, np.int32))
    with pytest.raises(ValueError, match="Expected dtype to be 'int8' or 'uint8', but got 'int16'"):
        quantizers.unpack_int4(np.ones(2, np.int8), 4, dtype="int16")


def test_blocks_of_rows_have_a_scale_and_a_zero_of_their_own():
    x = np.array([[-1.0, 4.0], [0.0, 4.0], [2.0, 4.0], [0.6, 4.0], [3.0, -3.0]], "float32")  # -1 to 2 in 15 steps; all alike; a block cut short
    whole, scale, zero = (np.asarray(part) for part in quantizers.abs_max_quantize_grouped_with_zero_point(x, 4))
    assert whole.dtype == zero.dtype == np.int8 and whole.shape == x.shape
    np.testing.assert_array_equal(whole[:, 0], [-8, -3, 7, 0, 7])
    np.testing.assert_allclose(scale, [[0.2, 2 / 15], [0.2, 0.2]], rtol=1e-6)
    np.testing.assert_array_equal(zero, [[-3, -8], [-8, 7]])


def test_scales_of_float8_follow_the_largest_values_of_the_last_steps():
    scale = quantizers.compute_float8_scale(tf.constant([0.0, 2.0, np.inf]), tf.constant([1.0, 3.0, 4.0]), 448.0)
    np.testing.assert_allclose(scale, [1.0, 2 / 448, 4.0], rtol=1e-6)
    np.testing.assert_array_equal(quantizers.compute_float8_amax_history([1.0, -5.0], [1.0, 2.0, 3.0]), [5.0, 3.0, 1.0])


def test_steps_between_two_values_along_an_axis_and_their_gradients():
    x, low, high = tf.Variable(np.linspace(-2, 2, 6).reshape(2, 3).astype("float32")), tf.Variable([-1.0, -1.0]), tf.Variable([1.0, 1.5])
    with tf.GradientTape() as tape:
        y = quantizers.fake_quant_with_min_max_vars(x, low, high, num_bits=3, axis=0)
    np.testing.assert_allclose(y, [[-0.857143, -0.857143, -0.285714], [0.357143, 1.071429, 1.428571]], rtol=1e-5)
    of_x, of_low, of_high = tape.gradient(y, [x, low, high])
    np.testing.assert_array_equal(of_x, [[0, 0, 1], [1, 1, 0]])
    np.testing.assert_array_equal(of_low, [2, 0])
    np.testing.assert_array_equal(of_high, [0, 1])
