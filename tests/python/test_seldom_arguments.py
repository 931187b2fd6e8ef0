"""Arguments that are mostly left alone, as TensorFlow takes them."""
import numpy as np
import pytest

import tandemflow as tf

RANDOM = np.random.default_rng(4)


def normal(*shape):
    return RANDOM.normal(size=shape).astype("float32")


def channels_last(x):
    return np.moveaxis(x, 1, -1)


def same(first, last):
    np.testing.assert_allclose(channels_last(first.numpy()), last.numpy(), rtol=1e-5, atol=1e-5)


def test_convolutions_take_channels_first():
    x, kernel = normal(2, 4, 7, 6), normal(3, 3, 4, 5)
    y = channels_last(x)
    nn = tf.nn
    same(nn.conv2d(x, kernel, [1, 1, 2, 1], "SAME", data_format="NCHW"), nn.conv2d(y, kernel, [1, 2, 1, 1], "SAME"))
    margins = [[0, 0], [0, 0], [1, 2], [0, 1]]
    same(nn.conv2d(x, kernel, 1, margins, data_format="NCHW"), nn.conv2d(y, kernel, 1, [margins[0], *margins[2:], margins[1]]))
    same(nn.convolution(x, kernel, padding="SAME", data_format="NCHW"), nn.conv2d(y, kernel, 1, "SAME"))
    each, mixing = normal(3, 3, 4, 2), normal(1, 1, 8, 3)
    same(nn.depthwise_conv2d(x, each, [1, 1, 2, 2], "SAME", data_format="NCHW"), nn.depthwise_conv2d(y, each, [1, 2, 2, 1], "SAME"))
    same(nn.separable_conv2d(x, each, mixing, [1, 1, 1, 1], "SAME", data_format="NCHW"), nn.separable_conv2d(y, each, mixing, [1, 1, 1, 1], "SAME"))
    back = normal(3, 3, 5, 4)
    same(nn.conv2d_transpose(x, back, [2, 5, 14, 12], 2, data_format="NCHW"), nn.conv2d_transpose(y, back, [2, 14, 12, 5], 2))
    row, filters = normal(2, 4, 9), normal(3, 4, 5)
    same(nn.conv1d(row, filters, [1, 1, 2], "SAME", data_format="NCW"), nn.conv1d(channels_last(row), filters, 2, "SAME"))
    volume, cube = normal(1, 2, 4, 5, 4), normal(2, 2, 2, 2, 3)
    same(nn.conv3d(volume, cube, [1] * 5, "SAME", data_format="NCDHW"), nn.convolution(channels_last(volume), cube, padding="SAME"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="FOO"):
        nn.conv2d(x, kernel, 1, "SAME", data_format="FOO")


def test_gradients_pass_through_convolutions_with_channels_first():
    x, kernel = tf.constant(normal(2, 4, 5, 5)), tf.constant(normal(3, 3, 4, 2))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, kernel])
        first = tf.nn.conv2d(x, kernel, 1, "SAME", data_format="NCHW")
        last = tf.nn.conv2d(tf.transpose(x, [0, 2, 3, 1]), kernel, 1, "SAME")
    for a, b in zip(tape.gradient(first, [x, kernel]), tape.gradient(last, [x, kernel])):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_pools_and_biases_take_channels_first():
    x = normal(2, 4, 7, 6)
    for pool in (tf.nn.max_pool2d, tf.nn.avg_pool2d, tf.nn.max_pool, tf.nn.avg_pool):
        same(pool(x, [1, 1, 2, 3], 2, "SAME", data_format="NCHW"), pool(channels_last(x), [2, 3], 2, "SAME"))
    same(tf.nn.pool(x, [2, 2], "AVG", data_format="NCHW", dilations=[2, 3]), tf.nn.pool(channels_last(x), [2, 2], "AVG", dilations=[2, 3]))
    same(tf.nn.bias_add(x, [1.0, 2, 3, 4], data_format="NCHW"), tf.nn.bias_add(channels_last(x), [1.0, 2, 3, 4]))
    for data_format, shape, error in (("FOO", (2, 3), ValueError), ("NC...", (2, 4), tf.errors.InvalidArgumentError), (None, (3,), tf.errors.InvalidArgumentError)):
        with pytest.raises(error):
            tf.nn.bias_add(np.zeros(shape, "float32"), [1.0, 2, 3], data_format)


def test_pools_with_gaps_take_every_so_many_places():
    x = np.arange(8, dtype="float32").reshape(1, 8, 1)
    assert tf.nn.pool(x, [3], "MAX", dilations=[2]).numpy().ravel().tolist() == [4, 5, 6, 7]
    assert tf.nn.pool(x, [3], "AVG", dilations=[2]).numpy().ravel().tolist() == [2, 3, 4, 5]
    for wrong in (dict(padding="SAME"), dict(strides=[2])):
        with pytest.raises(ValueError, match="dilations"):
            tf.nn.pool(x, [3], "MAX", dilations=[2], **wrong)


def test_a_dilation_of_integers_passes_over_what_lies_outside():
    x, kernel = np.zeros((1, 2, 2, 1), "int32"), np.full((3, 3, 1), -5, "int32")
    assert tf.nn.dilation2d(x, kernel, [1] * 4, "SAME", "NHWC", [1] * 4).numpy().ravel().tolist() == [-5] * 4
    assert tf.nn.erosion2d(x, kernel, [1] * 4, "SAME", "NHWC", [1] * 4).numpy().ravel().tolist() == [5] * 4


def test_positions_that_are_not_there_are_ignored_when_asked():
    indices, updates = [[9], [1], [-1]], [1.0, 2.0, 3.0]
    ignore = dict(bad_indices_policy="IGNORE")
    assert tf.scatter_nd(indices, updates, [3], **ignore).numpy().tolist() == [0, 2, 0]
    assert tf.tensor_scatter_nd_add([1.0, 1, 1], indices, updates, **ignore).numpy().tolist() == [1, 3, 1]
    assert tf.tensor_scatter_nd_sub([1.0, 1, 1], indices, updates, **ignore).numpy().tolist() == [1, -1, 1]
    assert tf.tensor_scatter_nd_max([1, 1, 1], indices, [5, 6, 7], **ignore).numpy().tolist() == [1, 6, 1]
    assert tf.tensor_scatter_nd_min([1, 1, 1], indices, [-5, -6, -7], **ignore).numpy().tolist() == [1, -6, 1]
    assert tf.gather_nd([4.0, 5.0], [[7], [1]], **ignore).numpy().tolist() == [0, 5]
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.scatter_nd(indices, updates, [3], bad_indices_policy="ERROR")
    with pytest.raises(tf.errors.InvalidArgumentError, match="bad_indices_policy"):
        tf.gather_nd([4.0], [[0]], bad_indices_policy="PERHAPS")


def test_special_functions_and_transforms_take_their_operands_by_name():
    assert tf.math.igamma(a=1.0, x=2.0).numpy() == pytest.approx(0.864665, rel=1e-5)
    assert tf.math.betainc(a=1.0, b=1.0, x=0.5).numpy() == pytest.approx(0.5)
    assert tf.math.zeta(x=2.0, q=1.0).numpy() == pytest.approx(1.644934)
    assert tf.math.special.bessel_j0(x=2.0, name="j").numpy() == pytest.approx(0.223891, rel=1e-5)
    assert tf.signal.rfft(input_tensor=np.ones(4, "float32"))[0].numpy() == 4
    with pytest.raises(TypeError):
        tf.math.igamma(1.0)


def test_least_squares_that_need_not_be_fast_find_the_shortest_solution():
    a, b = np.ones((4, 2)), np.arange(4.0)[:, None]
    np.testing.assert_allclose(tf.linalg.lstsq(a, b, l2_regularizer=10.0, fast=False), np.linalg.lstsq(a, b, rcond=None)[0])


def test_moments_of_nothing_are_zero_and_monotone_rows_have_their_dtype():
    mean, variance = tf.nn.weighted_moments(np.ones((3, 2)), [1], np.zeros((3, 2)))
    assert not mean.numpy().any() and not variance.numpy().any()
    for dtype, wanted in ((tf.int16, tf.float32), (tf.int32, tf.float64), (tf.float16, tf.float16)):
        assert tf.nn.isotonic_regression(tf.constant([3, 1, 2], dtype))[0].dtype == wanted


def test_a_unit_of_strings_that_does_not_exist_is_an_invalid_argument():
    for function in (lambda: tf.strings.length("a", unit="byte"), lambda: tf.strings.substr("a", 0, 1, unit="X")):
        with pytest.raises(tf.errors.InvalidArgumentError, match="unit"):
            function()


def test_patches_of_windows_that_do_not_fit_are_none():
    x = np.ones((1, 2, 3, 1), "float32")
    assert tf.image.extract_patches(x, [1, 3, 2, 1], [1] * 4, [1] * 4, "VALID").shape == (1, 0, 2, 6)
    assert tf.image.extract_patches(x, [1, 3, 2, 1], [1, 2, 1, 1], [1, 2, 1, 1], "VALID").shape == (1, 0, 2, 6)


def test_three_diagonals_have_gradients_in_every_form():
    d = normal(2, 3, 5)
    d[:, 1] += 4
    whole = np.stack([np.diag(m) + np.diag(a[:-1], 1) + np.diag(b[1:], -1) for a, m, b in d])
    forms = {"compact": tf.constant(d), "sequence": [tf.constant(d[:, 0, :-1]), tf.constant(d[:, 1]), tf.constant(d[:, 2, 1:])], "matrix": tf.constant(whole)}
    wanted = np.linalg.inv(whole).sum(-1, keepdims=True)
    for form, diagonals in forms.items():
        with tf.GradientTape() as tape:
            tape.watch(diagonals)
            x = tf.linalg.tridiagonal_solve(diagonals, np.ones((2, 5, 1), "float32"), diagonals_format=form)
        np.testing.assert_allclose(x, wanted, rtol=1e-4)
        slopes = tape.gradient(x, diagonals)
        middle = {"compact": lambda: slopes[:, 1], "sequence": lambda: slopes[1], "matrix": lambda: tf.linalg.diag_part(slopes)}[form]()
        np.testing.assert_allclose(middle, -np.linalg.inv(whole).sum(1) * wanted[..., 0], rtol=1e-3, atol=1e-5)


def test_functions_of_the_host_stand_in_traced_functions_under_a_tape():
    v = tf.Variable([1.0, 2.0])
    after = tf.function(lambda x: tf.math.nextafter(x, x + 1.0) * x)
    with tf.GradientTape() as tape:
        y = after(v)
    np.testing.assert_allclose(tape.gradient(y, v), [1, 2], rtol=1e-6)
    doubled = tf.function(lambda x: tf.numpy_function(lambda a: 2 * a, [x], tf.TensorSpec([2], tf.float32)) * x)
    with tf.GradientTape() as tape:
        y = doubled(v)
    np.testing.assert_allclose(tape.gradient(y, v), [2, 4])


def test_a_saturating_cast_ends_at_the_largest_finite_number():
    def cast(values, given, wanted):
        return tf.cast(tf.saturate_cast(tf.cast(tf.constant(values, tf.float64), given), wanted), tf.float64).numpy().tolist()

    infinity = float("inf")
    assert cast([1e300, -infinity, 1.5], "float64", "float16") == [65504, -65504, 1.5]
    assert cast([1e38, -1e38], "bfloat16", "float16") == [65280, -65280]  # what both have
    assert cast([infinity, 2.0], "float32", "float32") == [float(tf.float32.max), 2]
    assert cast([3.4e38, -1e300], "float64", "bfloat16") == [float(tf.bfloat16.max), -float(tf.bfloat16.max)]
    assert np.isnan(cast([np.nan], "float32", "float16"))[0]
    assert tf.saturate_cast(tf.constant([2**31 - 1, -5]), tf.float16).numpy().tolist() == [65504, -5]
    assert tf.saturate_cast(tf.constant([-3.7, 300.0, 1e30]), tf.uint8).numpy().tolist() == [0, 255, 255]
    assert tf.saturate_cast(tf.constant([1e30, -1e30]), tf.int64).numpy().tolist() == [2**63 - 2**39, -(2**63)]


def test_fresnel_integrals_of_enormous_numbers_are_a_half():
    assert tf.math.special.fresnel_sin(tf.constant([1e200, -1.7e308], tf.float64)).numpy().tolist() == [0.5, -0.5]


def test_convolutions_take_more_axes_before_those_they_go_along():
    x, kernel = normal(2, 3, 6, 5, 4), normal(3, 3, 4, 5)
    rows, filters = normal(2, 3, 7, 4), normal(3, 4, 5)
    for given, function in ((x, lambda t: tf.nn.conv2d(t, kernel, [1, 2], "SAME")), (x, lambda t: tf.nn.convolution(t, kernel)), (rows, lambda t: tf.nn.conv1d(t, filters, 2, "SAME"))):
        together = function(given)
        for i in range(2):
            np.testing.assert_allclose(together[i], function(given[i]), rtol=1e-5, atol=1e-5)
    assert tf.nn.conv2d(x[:, :0], kernel, 1, "SAME").shape == (2, 0, 6, 5, 5)


def test_a_table_of_several_tensors_is_looked_up_as_one():
    table = normal(5, 3)
    np.testing.assert_array_equal(tf.nn.embedding_lookup([table[:3], table[3:]], [[0, 4], [3, 2]]), table[[[0, 4], [3, 2]]])


def test_labels_for_all_rows_are_repeated():
    logits = tf.constant(normal(3, 4))
    for labels in ([[0.0, 0.25, 0.75, 0.0]], [0.0, 0.25, 0.75, 0.0]):
        wanted = tf.nn.softmax_cross_entropy_with_logits(tf.constant([[0.0, 0.25, 0.75, 0.0]] * 3), logits)
        np.testing.assert_allclose(tf.nn.softmax_cross_entropy_with_logits(labels, logits), wanted, rtol=1e-6)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.nn.softmax_cross_entropy_with_logits(tf.zeros([2, 4]), logits)


def test_mixed_floats_of_numpy_take_the_first_ones_dtype():
    a, b = normal(2, 3), normal(3, 4).astype("float64")
    for function in (lambda x, y: tf.einsum("ij,jk->ik", x, y), lambda x, y: tf.tensordot(x, y, tf.constant([[1], [0]]))):
        assert function(a, b).dtype == tf.float32 and function(a.astype("float64"), b.astype("float32")).dtype == tf.float64
        np.testing.assert_allclose(function(a, b), a @ b, rtol=1e-5, atol=1e-6)


def test_what_does_not_fit_is_an_invalid_argument():
    refused = [
        lambda: tf.einsum("ij,jk->ik", normal(2, 3), normal(4, 5)), lambda: tf.einsum("ijk,jk->ik", normal(2, 3), normal(3, 4)), lambda: tf.tensordot(normal(2, 3), normal(4, 2), 1),
        lambda: tf.add_n([tf.constant([1]), tf.constant([1, 2])]), lambda: tf.math.invert_permutation([2, 2, 1]), lambda: tf.nn.l2_loss([1, 2]), lambda: tf.unique([[1, 2]]),
    ]  # fmt: skip
    for call in refused:
        with pytest.raises(tf.errors.InvalidArgumentError):
            call()


def test_small_operands_of_other_kinds_are_taken():
    assert tf.gather([[1, 2, 3]], np.array([2, 0], "int16"), axis=-1).numpy().tolist() == [[3, 1]]
    assert tf.scatter_nd([[0], [2], [0]], [True, False, True], [3]).numpy().tolist() == [True, False, False]
    assert tf.one_hot([0, 1], 2, "a", "b").numpy().tolist() == [[b"a", b"b"], [b"b", b"a"]]
    assert tf.expand_dims(tf.zeros([2, 3]), [1]).shape == (2, 1, 3)
    assert tf.math.bincount([1.0, 2.0]).numpy().tolist() == [0, 1, 1] and tf.math.bincount([]).shape == (0,)
    assert tf.nn.sufficient_statistics([1.0, 2.0], [0], shift=1.0)[3].dtype == tf.float32
    assert tf.cast(x=3, dtype=tf.complex64).numpy() == 3
    assert tf.concat(np.ones((2, 3)), 0).shape == (2, 3)  # one tensor, not two rows


def test_arguments_have_tensorflows_names_and_places():
    assert float(tf.debugging.check_numerics(tensor=1.0, message="it")) == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="those"):
        tf.debugging.assert_none_equal([1], [1], 3, "those")
    rows = [[1.0, 2.0], [3.0, 4.0]]
    assert tf.sparse.segment_sum(rows, [0, 1], [0, 0], sparse_gradient=True).numpy().tolist() == [[4, 6]]
    assert tf.linalg.LinearOperatorIdentity(2).add_to_tensor(mat=rows).numpy().tolist() == [[2, 2], [3, 5]]
    assert tf.io.RaggedFeature.UniformRowLength(length=3).length == 3 and tf.io.RaggedFeature.RowSplits(key="k").key == "k"
    assert tf.nest.is_nested(seq=[1]) and tf.linspace(np.float64(0), np.float64(1), 3).dtype == tf.float64
