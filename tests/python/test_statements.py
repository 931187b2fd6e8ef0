"""Statements whose answers TensorFlow 2.21 gave: seldom arguments, empty axes, limits of dtypes, bad input."""
import numpy as np
import pytest

import tandemflow as tf

# (statement, dtype, value)
ANSWERS = [
    ("tf.reduce_sum([[1., 2.], [3., 4.]], axis=[])", "float32", [[1, 2], [3, 4]]),
    ("tf.reduce_sum([[1., 2.], [3., 4.]], [], True)", "float32", [[1, 2], [3, 4]]),
    ("tf.reduce_mean([[1., 2.]], axis=tf.constant([], tf.int32))", "float32", [[1, 2]]),
    ("tf.reduce_any([[True, False]], axis=())", "bool", [[True, False]]),
    ("tf.math.reduce_variance([[1., 2.]], axis=[])", "float32", [[0, 0]]),
    ("tf.reduce_logsumexp([[1., 2.]], axis=[])", "float32", [[1, 2]]),
    ("tf.reduce_mean([2147483647, 1])", "int32", 1073741824),
    ("tf.reduce_mean([2147483647, 1, 2147483647])", "int32", 1431655765),
    ("tf.reduce_mean([[2147483647, 1], [2147483647, 2147483647]], 0)", "int32", [2147483647, 1073741824]),
    ("tf.reduce_mean([[2147483647, 1], [2147483647, 2147483647]], 1)", "int32", [1073741824, 2147483647]),
    ("tf.reduce_mean(tf.fill([3000], 1000000))", "int32", 1000000),
    ("tf.reduce_mean([-7, 2])", "int32", -2),
    ("tf.reduce_mean(tf.constant([127, 127, 127], tf.int8))", "int8", 127),
    ("tf.reduce_mean(tf.constant([255, 255, 3], tf.uint8))", "uint8", 171),
    ("tf.reduce_max(tf.zeros([0], tf.int32))", "int32", -(2**31)),
    ("tf.reduce_max(tf.zeros([2, 0], tf.int8), 1)", "int8", [-128, -128]),
    ("tf.reduce_max(tf.zeros([0], tf.uint16))", "uint16", 0),
    ("tf.reduce_min(tf.zeros([0], tf.uint8))", "uint8", 255),
    ("tf.reduce_min(tf.zeros([2, 0], tf.int64), 1)", "int64", [2**63 - 1] * 2),
    ("tf.math.reduce_euclidean_norm([3, 4])", "int32", 5),
    ("tf.clip_by_value([1., 2., 3.], 2.5, 1.5)", "float32", [2.5, 2.5, 2.5]),
    ("tf.clip_by_value([1, 5], [2, 0], [0, 3])", "int32", [2, 3]),
    ("tf.clip_by_norm([3., 4.], -1.)", "float32", [0, 0]),
    ("tf.saturate_cast([3e9, -3e9], tf.int32)", "int32", [2147483520, -2147483648]),
    ("tf.nn.silu([-1., 2.], beta=2.)", "float32", [-0.11920292, 1.9640275]),
    ("tf.math.segment_mean([1, 2, 5], [0, 0, 1])", "int32", [1, 5]),
    ("tf.stack([1, 2.])", "float32", [1, 2]),
    ("tf.stack([])", "float32", np.zeros([0])),
    ("tf.split([1, 2, 3, 4], tf.constant([1, 3]))[1]", "int32", [2, 3, 4]),
    ("tf.one_hot([0, 1], 2, on_value=2)", "int32", [[2, 0], [0, 2]]),
    ("tf.one_hot(tf.constant([1], tf.int8), 2)", "float32", [[0, 1]]),
    ("tf.range(tf.constant(2.5, tf.float16))", "float16", [0, 1, 2]),
    ("tf.linspace(tf.constant(0, tf.int8), tf.constant(2, tf.int8), 3)", "float32", [0, 1, 2]),
    ("tf.linspace(0., 1., 3)", "float32", [0, 0.5, 1]),
    ("tf.sequence_mask([0.3, 2.9], 3)", "bool", [[False] * 3, [True, True, False]]),
    ("tf.sequence_mask([1.5])", "bool", [[True, True]]),
    ("tf.linalg.diag([True, False])", "bool", [[True, False], [False, False]]),
    ("tf.linalg.diag([[1, 2], [3, 4]], k=-1)", "int32", [[[0, 0, 0], [1, 0, 0], [0, 2, 0]], [[0, 0, 0], [3, 0, 0], [0, 4, 0]]]),
    ("tf.linalg.band_part([[1, 2, 3], [4, 5, 6]], 0, 1)", "int32", [[1, 2, 0], [0, 5, 6]]),
    ("tf.linalg.normalize([3., 5.], ord=1)[0]", "float32", [0.375, 0.625]),
    ("tf.unique([0., -0., 2., 2.])[0]", "float32", [0, 2]),
    ("tf.unique([2., float('nan'), float('nan')])[1]", "int32", [0, 1, 2]),
    ("tf.unique(['b', 'a', 'b']).idx", "int32", [0, 1, 0]),
    ("tf.unique_with_counts(tf.constant([9, 9, -3], tf.int16), tf.int64).count", "int64", [2, 1]),
    ("tf.image.rgb_to_grayscale([[[1., 1., 1.]]])", "float32", [[[0.9999]]]),
    ("tf.strings.substr('abc', 1, -1)", "string", b"bc"),
    ("tf.strings.regex_replace('éa', '.', '-')", "string", b"--"),
    ("tf.strings.regex_replace('né', r'\\w', '-')", "string", "-é".encode()),
    ("tf.strings.regex_replace('abc', 'b', r'\\3')", "string", b"abc"),
    ("tf.strings.join([])", "string", b""),
    ("tf.random.normal([2, 2], mean=[1., 2.], stddev=0.)", "float32", [[1, 2], [1, 2]]),
    ("tf.random.shuffle(5)", "int32", 5),
    ("tf.transpose([[1, 2]], conjugate=True)", "int32", [[1], [2]]),
    ("tf.io.decode_csv(['1,2.5,a'], [0, 0., ''])[2]", "string", [b"a"]),
    ("tf.argmax([3, 1, 9], output_type=tf.int16)", "int16", 2),
    ("tf.truncatediv([7.5, -7.5], [2., 2.])", "float32", [3, -3]),
    ("tf.math.divide_no_nan([3, 4], [2, 0])", "float64", [1.5, 0]),
    ("tf.math.divide_no_nan(tf.constant([3], tf.uint8), tf.constant([2], tf.uint8))", "float32", [1.5]),
    ("tf.repeat(5., 2, axis=-1)", "float32", [5, 5]),
    ("tf.reverse(5, [0])", "int32", 5),
    ("tf.pad([['a', 'b']], [[0, 0], [1, 0]], 'REFLECT')", "string", [[b"b", b"a", b"b"]]),
    ("tf.shape(tf.nn.conv3d(tf.ones([7, 4, 5, 1, 2]), tf.ones([2, 3, 2, 2, 4]), [1] * 5, 'VALID'))", "int32", [7, 3, 3, 0, 4]),
    ("tf.tile(tf.reshape(tf.range(2), [1, 1, 1, 1, 2]), [2, 1, 2, 1, 3])[1, 0, :, 0]", "int32", [[0, 1] * 3] * 2),
    ("tf.shape(tf.io.encode_png(tf.zeros([2, 3, 4, 3], tf.uint8)))", "int32", [2]),
    ("tf.image.resize(tf.ones([4, 4, 1], tf.float64), [1, 1], 'area')", "float32", [[[1]]]),
    ("tf.image.crop_and_resize(tf.ones([1, 2, 2, 1], tf.float16), [[0., 0., 1., 1.]], [0], [1, 1])", "float32", [[[[1]]]]),
    ("tf.image.yiq_to_rgb([[[0.2, 0.4, 0.6]]])", "float32", [[[0.954889416, -0.29712767599999995, 0.77984221]]]),
    ("tf.math.bessel_i1([1e30, -1e30])", "float32", [np.inf, -np.inf]),
    ("tf.math.igamma([0., -1.], [0., 0.])", "float32", [0, 0]),
    ("tf.nn.log_poisson_loss([-1., 0.5], [1., 1.], True)", "float32", [np.nan, 2.2182817]),
    ("tf.constant(tf.string.size + tf.complex128.size)", "int32", 16),
    ("tf.constant(tf.is_tensor(tf.constant(1j)))", "bool", True),
    ("tf.rank(tf.constant([1j]))", "int32", 1),
    ("tf.norm(tf.constant([3 + 4j, 1.]), ord=1)", "float64", 6),
    ("tf.saturate_cast(tf.constant([-3e9, 0.5, 1e30], tf.bfloat16), tf.int32)", "int32", [-(2**31), 0, 2139095040]),
    ("tf.math.polygamma([0.5, 1.], [1., 1.])", "float32", [np.nan, np.pi**2 / 6]),
    ("tf.quantization.quantize_and_dequantize_v2([-2., -0.503, 0.1, 0.652, 9.], -1., 1., range_given=True)", "float32", [-128 / 127, -64 / 127, 13 / 127, 83 / 127, 1]),
    ("tf.quantization.quantize_and_dequantize([0., 0.3, 2.], 0., 0., signed_input=False, num_bits=2)", "float32", [0, 0, 2]),
]  # fmt: skip


@pytest.mark.parametrize("statement, dtype, value", ANSWERS, ids=[statement for statement, *_ in ANSWERS])
def test_answers_are_tensorflows(statement, dtype, value):
    got = eval(statement)
    assert got.dtype.name == dtype
    if dtype in ("string", "bool") or "int" in dtype:
        assert np.array_equal(got.numpy(), value) and np.shape(got.numpy()) == np.shape(value)
    else:
        np.testing.assert_allclose(got.numpy(), value, rtol=1e-6)
        assert got.shape == np.shape(value)


REFUSALS = [
    ("tf.unstack(1.)", ValueError),
    ("tf.split(1., 2)", tf.errors.InvalidArgumentError),
    ("tf.linalg.diag(1.)", tf.errors.InvalidArgumentError),
    ("tf.linalg.band_part([1.], 0, 0)", tf.errors.InvalidArgumentError),
    ("tf.math.reduce_variance([1, 2])", TypeError),
    ("tf.norm([[1., 2.]], axis=[])", ValueError),
    ("tf.norm([1., 2.], ord='fro')", ValueError),
    ("tf.one_hot([0], 2, on_value=1, off_value=0.)", TypeError),
    ("tf.sequence_mask([1], [3])", ValueError),
    ("tf.histogram_fixed_width([1.], [0.])", tf.errors.InvalidArgumentError),
    ("tf.strings.to_number('99999999999', tf.int32)", tf.errors.InvalidArgumentError),
    ("tf.strings.to_hash_bucket_fast('a', 0)", tf.errors.InvalidArgumentError),
    ("tf.strings.join([['a'], ['b', 'c']])", tf.errors.InvalidArgumentError),
    ("tf.strings.as_string([7], precision=2)", tf.errors.InvalidArgumentError),
    ("tf.random.uniform([3], 5, 5, tf.int32)", tf.errors.InvalidArgumentError),
    ("tf.random.categorical([0., 1.], 5)", tf.errors.InvalidArgumentError),
    ("tf.random.stateless_normal([3], [1])", tf.errors.InvalidArgumentError),
    ("tf.nn.sigmoid_cross_entropy_with_logits(labels=[[1.]], logits=[1., 2.])", ValueError),
    ("tf.nn.sigmoid_cross_entropy_with_logits(labels=1., logits=[1., 2.])", ValueError),
    ("tf.reverse_sequence([[1, 2]], [1], seq_axis=0, batch_axis=0)", tf.errors.InvalidArgumentError),
    ("tf.reverse_sequence([1, 2], [1, 1], seq_axis=1, batch_axis=0)", tf.errors.InvalidArgumentError),
    ("tf.split([1, 2, 3], [1, 1])", tf.errors.InvalidArgumentError),
    ("tf.image.crop_and_resize(tf.ones([2, 2, 1]), [[0., 0., 1., 1.]], [0], [1, 1])", tf.errors.InvalidArgumentError),
    ("tf.image.grayscale_to_rgb(tf.ones([2, 2, 3]))", ValueError),
    ("tf.math.igamma([1], [2])", tf.errors.InvalidArgumentError),
    ("tf.tensordot(tf.ones([2, 3]), tf.ones([3, 4]), [[5], [0]])", ValueError),
    ("tf.linalg.lu([[1, 2], [3, 4]])", tf.errors.InvalidArgumentError),
]  # fmt: skip


@pytest.mark.parametrize("statement, error", REFUSALS, ids=[statement for statement, _ in REFUSALS])
def test_refusals_have_tensorflows_class(statement, error):
    with pytest.raises(error):
        eval(statement)


def test_a_batch_jacobian_is_zero_where_nothing_connects():
    x = tf.ones([2, 3])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.ones([2, 4])
    assert np.array_equal(tape.batch_jacobian(y, x), np.zeros([2, 4, 3]))


def test_the_gradient_of_repeat_is_a_tensor():
    x = tf.constant([[1.0, 2.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.repeat(x, 3, axis=1) * [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]
    gradient = tape.gradient(y, x)
    assert isinstance(gradient, tf.Tensor) and np.array_equal(gradient, [[6, 15]])


def test_gradients_of_clipping_go_to_the_bound_that_counts():
    t, low, high = tf.constant([0.0, 5.0, 1.0]), tf.constant([1.0, 1.0, 3.0]), tf.constant([2.0, 2.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch([t, low, high])
        y = tf.clip_by_value(t, low, high)
    assert np.array_equal(y, [1, 2, 3])
    for got, wanted in zip(tape.gradient(y, [t, low, high]), ([0, 0, 0], [1, 0, 1], [0, 1, 0])):
        assert np.array_equal(got, wanted)


def test_narrow_rows_are_summed_exactly():
    """Channels of pictures, classes of rows: sums along the axis before a short last one."""
    random = np.random.default_rng(5)
    for shape, axis in (((5, 96, 64, 3), (1, 2)), ((1000, 10), 0), ((7, 30, 2), 1), ((4, 17, 3), 1), ((2, 6, 5, 63), (0, 2))):
        x = random.integers(-9, 9, shape)
        for dtype in ("int32", "float32", "float64", "int8"):
            values = x.astype(dtype)
            assert np.array_equal(tf.reduce_sum(values, axis), values.sum(axis, dtype=dtype))
            assert np.array_equal(tf.reduce_max(values, axis), values.max(axis))
        np.testing.assert_allclose(tf.reduce_mean(x.astype("float32"), axis), x.mean(axis), rtol=1e-6, atol=1e-6)


def test_marks_are_found_across_slices():
    marks = np.random.default_rng(6).random(300_000) < 0.3
    marks[:70_000] = False
    assert np.array_equal(tf.where(marks)[:, 0], np.flatnonzero(marks))
    assert np.array_equal(tf.boolean_mask(np.arange(300_000), marks), np.flatnonzero(marks))
    assert tf.where(np.zeros(200_000, bool)).shape == (0, 1)
    assert np.array_equal(tf.where(np.ones(200_000, bool))[:, 0], np.arange(200_000))


def test_empty_arrays_of_objects_keep_their_shape():
    for shape in ((0, 2), (2, 0), (0, 0), (3, 0, 1)):
        assert tf.constant(np.zeros(shape, object), tf.string).shape == shape
