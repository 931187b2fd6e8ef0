"""Tensors taken apart and put together, names of graphs, and methods that few programs use."""
import numpy as np
import pytest
import tandemflow as tf


def test_partitions_and_stitches_undo_each_other():
    data, parts = np.arange(12.0).reshape(6, 2), [1, 0, 2, 0, 1, 0]
    pieces = tf.dynamic_partition(data, parts, 3)
    assert [piece.shape[0] for piece in pieces] == [3, 2, 1] and pieces[2].numpy().tolist() == [[4, 5]]
    places = tf.dynamic_partition(tf.range(6), parts, 3)
    assert np.array_equal(tf.dynamic_stitch(places, pieces).numpy(), data)
    assert tf.dynamic_stitch([[0, 1], [1]], [[1, 2], [3]]).numpy().tolist() == [1, 3]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must begin with"):
        tf.dynamic_partition(data, [0, 1], 2)


def test_sequences_turn_around_up_to_their_length():
    assert tf.reverse_sequence([[1, 2, 3, 4], [5, 6, 7, 8]], [2, 3], seq_axis=1).numpy().tolist() == [[2, 1, 3, 4], [7, 6, 5, 8]]
    turned = tf.reverse_sequence(np.arange(8).reshape(4, 2), [1, 4], seq_axis=0, batch_axis=1)
    assert turned.numpy().tolist() == [[0, 7], [2, 5], [4, 3], [6, 1]]
    with pytest.raises(ValueError, match="must differ"):
        tf.reverse_sequence([[1]], [1], seq_axis=0, batch_axis=0)


def test_indices():
    assert tf.unravel_index([5, 7], [2, 4]).numpy().tolist() == np.array(np.unravel_index([5, 7], [2, 4])).tolist()
    assert tf.math.invert_permutation([2, 0, 1]).numpy().tolist() == [1, 2, 0]


def test_blocks_move_between_axes():
    image = np.arange(2 * 4 * 6 * 3).reshape(2, 4, 6, 3)
    deep = tf.nn.space_to_depth(image, 2)
    assert deep.shape == (2, 2, 3, 12) and deep.numpy()[0, 0, 0].tolist() == [*range(6), *range(18, 24)]
    assert np.array_equal(tf.nn.depth_to_space(deep, 2).numpy(), image)
    batches = tf.space_to_batch(image, [2, 3], [[0, 0], [0, 0]])
    assert batches.shape == (12, 2, 2, 3) and np.array_equal(batches.numpy()[0], image[0, ::2, ::3])
    assert np.array_equal(tf.batch_to_space(batches, [2, 3], [[0, 0], [1, 0]]).numpy(), image[:, :, 1:])
    with pytest.raises(tf.errors.InvalidArgumentError, match="no multiple"):
        tf.space_to_batch(image, [3, 3], [[0, 0], [0, 0]])


def test_names_of_graphs():
    x = tf.constant([[1.0, 2.0]])
    assert tf.is_tensor(x) and tf.is_tensor(tf.Variable(1)) and not tf.is_tensor(np.ones(2)) and not tf.is_tensor([1])
    with tf.control_dependencies([tf.debugging.assert_positive(x)]):
        assert tf.group(x.ref(), tf.no_op()) is None
    assert tf.ensure_shape(x, [None, 2]).shape == (1, 2) and tf.get_static_value(x).tolist() == [[1, 2]]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\(1, 2\).*\(None, 3\)"):
        tf.ensure_shape(x, [None, 3])
    assert tf.broadcast_static_shape([2, 1], [None, 3]).as_list() == [2, 3] and tf.broadcast_dynamic_shape([2, 1], [3]).numpy().tolist() == [2, 3]
    with pytest.raises(ValueError, match="Incompatible"):
        tf.broadcast_static_shape([2], [3])
    assert tf.zeros_initializer()((2,)).numpy().tolist() == [0, 0] and tf.constant_initializer(3.0)((1,)).numpy() == 3
    assert [t.numpy().tolist() for t in tf.tuple([x, x])] == [[[1, 2]]] * 2 and tf.as_string(7).numpy() == b"7"
    traced = tf.function(lambda v: tf.constant(float(tf.is_symbolic_tensor(v) and tf.get_static_value(v) is None)))
    assert traced(x).numpy() == 1
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.grad_pass_through(tf.round)(x * 1.4)
    assert np.allclose(tape.gradient(y, x), 1.4) and y.numpy().tolist() == [[1, 3]]


def test_methods_of_tensors_and_variables():
    x = tf.ones((2, 3))
    x.set_shape([None, 3])
    with pytest.raises(ValueError, match="not compatible"):
        x.set_shape([2, 4])
    assert "CPU:0" in x.cpu().device
    v = tf.Variable([1.0, 2.0, 3.0])
    assert v.scatter_nd_update([[1]], [9.0]) is v and v.numpy().tolist() == [1, 9, 3]
    v.scatter_nd_add([[0], [0]], [1.0, 2.0])
    v.scatter_nd_sub([[2]], [1.0])
    v.scatter_nd_max([[2]], [5.0])
    v.scatter_nd_min([[1]], [4.0])
    assert v.numpy().tolist() == [4, 4, 5] and v.get_shape() == (3,) and v.is_initialized()
    assert v.gather_nd([[2]]).numpy().tolist() == [5] and v.sparse_read([0, 2]).numpy().tolist() == [4, 5]


def test_functions_that_few_programs_use():
    a = np.random.default_rng(0).normal(size=(3, 8))
    np.testing.assert_allclose(tf.math.cumulative_logsumexp(a, axis=1), np.logaddexp.accumulate(a, axis=1))
    np.testing.assert_allclose(tf.math.polyval([1.0, 2.0, 3.0], a), np.polyval([1, 2, 3], a))
    assert tf.math.reciprocal_no_nan([0.0, 2.0]).numpy().tolist() == [0, 0.5] and tf.math.xlog1py([0.0], [-1.0]).numpy() == 0
    assert tf.math.is_non_decreasing([1, 1, 2]) and not tf.math.is_strictly_increasing([1, 1, 2])
    np.testing.assert_allclose(tf.math.lbeta([2.0, 3.0]), np.log(1 / 12), rtol=1e-5)
    labels = (a > 0).astype(float)
    plain = np.maximum(a, 0) - a * labels + np.log1p(np.exp(-np.abs(a)))
    np.testing.assert_allclose(tf.nn.weighted_cross_entropy_with_logits(labels, a, 3.0), np.where(labels, 3, 1) * plain)
    np.testing.assert_allclose(tf.nn.log_poisson_loss(labels, a, compute_full_loss=True), np.exp(a) - a * labels)
    assert tf.nn.crelu([-1.0, 2.0]).numpy().tolist() == [0, 2, 1, 0]
    mean, variance = tf.nn.weighted_moments(a, [1], labels + 1)
    expected = np.average(a, 1, labels + 1)
    np.testing.assert_allclose(mean, expected)
    np.testing.assert_allclose(variance, np.average((a - expected[:, None]) ** 2, 1, labels + 1))
    image = np.random.default_rng(1).uniform(size=(1, 2, 2, 5))
    window = np.stack([(image[..., max(0, i - 1) : i + 2] ** 2).sum(-1) for i in range(5)], -1)
    np.testing.assert_allclose(tf.nn.lrn(image, 1, 1.0, 0.1, 0.75), image / (1 + 0.1 * window) ** 0.75)
    np.testing.assert_allclose(tf.nn.pool(image, [2, 2], "AVG").numpy(), image.mean((1, 2), keepdims=True))
    with pytest.raises(ValueError, match="MAX"):
        tf.nn.pool(image, [2, 2], "MIN")
