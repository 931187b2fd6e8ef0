"""Reductions, scans, segments, slices, scatters and sorts beside NumPy."""
import math

import numpy as np
import pytest

import tandemflow as tf

RNG = np.random.default_rng(11)
X = RNG.normal(size=(3, 4, 5)).astype("float32")
SPECIAL = np.array([[1.0, -2.0, 0.0], [math.inf, 3.0, -math.inf], [math.nan, 1.0, 2.0]], "float32")


def same(tensor, expected, **tolerance):
    got = tensor.numpy()
    expected = np.asarray(expected)
    assert got.shape == expected.shape, (got.shape, expected.shape)
    np.testing.assert_allclose(got, expected, **({"rtol": 2e-6, "atol": 1e-6} | tolerance))


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(axis, keepdims):
    a = list(axis) if isinstance(axis, tuple) else axis
    same(tf.reduce_min(X, a, keepdims), X.min(axis, keepdims=keepdims))
    same(tf.reduce_prod(X, a, keepdims), X.astype("float64").prod(axis, keepdims=keepdims), rtol=1e-5)
    same(tf.reduce_any(X > 1.5, a, keepdims), (X > 1.5).any(axis, keepdims=keepdims))
    same(tf.reduce_all(X > -1.5, a, keepdims), (X > -1.5).all(axis, keepdims=keepdims))
    same(tf.reduce_logsumexp(X, a, keepdims), np.log(np.exp(X).sum(axis, keepdims=keepdims)))
    same(tf.math.reduce_variance(X, a, keepdims), X.var(axis, keepdims=keepdims))
    same(tf.math.reduce_std(X, a, keepdims), X.std(axis, keepdims=keepdims))
    same(tf.math.reduce_euclidean_norm(X, a, keepdims), np.sqrt((X**2).sum(axis, keepdims=keepdims)))
    same(tf.math.count_nonzero(X > 0, a, keepdims), np.count_nonzero(X > 0, axis, keepdims=keepdims))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_integers_reduce_as_in_numpy(dtype):
    x = RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (5, 70), dtype=dtype)
    same(tf.reduce_min(x, 1), x.min(1))
    same(tf.reduce_max(x, 0), x.max(0))
    with np.errstate(over="ignore"):
        same(tf.reduce_sum(x, 1), x.sum(1, dtype=dtype))
        same(tf.reduce_prod(x, 1), x.prod(1, dtype=dtype))
        same(tf.cumsum(x, 1), x.cumsum(1, dtype=dtype))
    assert tf.argmin(x, 1).numpy().tolist() == x.argmin(1).tolist()


def test_reductions_of_special_values_and_of_nothing():
    same(tf.reduce_min(SPECIAL, 1), [-2, -math.inf, math.nan])
    same(tf.reduce_logsumexp(SPECIAL[:2], 1), [np.log(np.exp([1.0, -2, 0]).sum()), math.inf])
    assert tf.reduce_logsumexp([-math.inf, -math.inf]).numpy() == -math.inf
    assert tf.reduce_any(np.zeros((0,), bool)).numpy() == False and tf.reduce_all(np.zeros((0,), bool)).numpy() == True  # noqa: E712
    assert tf.reduce_prod(np.zeros((0,), "float32")).numpy() == 1 and tf.reduce_min(np.zeros((0,), "float32")).numpy() == math.inf
    assert tf.argmin(SPECIAL, 1).numpy().tolist() == [1, 2, 1]  # NaN is passed over
    assert tf.reduce_min(np.zeros((0,), "int32")).numpy() == 2**31 - 1
    with pytest.raises((TypeError, tf.errors.InvalidArgumentError, ValueError)):
        tf.reduce_any([1.0])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_running_sums_and_products(axis):
    flipped = np.flip(X, axis)
    same(tf.cumsum(X, axis), X.cumsum(axis))
    same(tf.cumsum(X, axis, reverse=True), np.flip(flipped.cumsum(axis), axis))
    same(tf.cumsum(X, axis, exclusive=True), X.cumsum(axis) - X)
    same(tf.math.cumprod(X, axis), X.cumprod(axis))
    ones = np.ones_like(np.take(X, [0], axis))
    same(tf.math.cumprod(X, axis, exclusive=True), np.concatenate([ones, np.delete(X.cumprod(axis), -1, axis)], axis))


def test_segments():
    data, ids = X[:, :, 0].T, [0, 2, 2, 3]  # (4, 3)
    same(tf.math.segment_sum(data, ids), [data[0], [0, 0, 0], data[1] + data[2], data[3]])
    same(tf.math.segment_max(data, ids), [data[0], [0, 0, 0], np.maximum(data[1], data[2]), data[3]])
    same(tf.math.segment_mean(data, ids), [data[0], [0, 0, 0], (data[1] + data[2]) / 2, data[3]])
    same(tf.math.segment_prod(data, ids), [data[0], [1, 1, 1], data[1] * data[2], data[3]])
    same(tf.math.unsorted_segment_sum(data, [1, -1, 0, 1], 2), [data[2], data[0] + data[3]])
    same(tf.math.unsorted_segment_min(data, [1, 1, 1, 1], num_segments=2), [[np.finfo("float32").max] * 3, data.min(0)])
    same(tf.math.unsorted_segment_mean(data, [1, 1, 0, -1], 3), [data[2], (data[0] + data[1]) / 2, [0, 0, 0]])
    same(tf.math.unsorted_segment_sqrt_n(data, [0, 0, 0, 0], 1), [data.sum(0) / 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="increasing"):
        tf.math.segment_sum(data, [1, 0, 0, 0])
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="outside 2 segments"):
        tf.math.unsorted_segment_sum(data, [0, 1, 2, 0], 2)


def test_histograms():
    numbers = RNG.integers(0, 9, 200).astype("int32")
    same(tf.math.bincount(numbers), np.bincount(numbers))
    same(tf.math.bincount(numbers, minlength=12), np.bincount(numbers, minlength=12))
    same(tf.math.bincount(numbers, maxlength=4), np.bincount(numbers)[:4])
    same(tf.math.bincount([1, 1, 3], weights=[0.5, 1.0, 2.0]), [0, 1.5, 0, 2])
    same(tf.histogram_fixed_width([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], [0.0, 5.0], nbins=5), [2, 1, 1, 0, 2])


@pytest.mark.parametrize("key", [np.s_[::2], np.s_[::-1], np.s_[..., ::-2], np.s_[1:, None, 3:0:-1, ::2], np.s_[2:0:-1, 1], np.s_[-1:-3:-1, ..., 1::3], np.s_[3:1, ::-1]])  # fmt: skip
def test_slices_with_steps(key):
    same(tf.constant(X)[key], X[key])
    with tf.GradientTape() as tape:
        x = tf.constant(X)
        tape.watch(x)
        y = tf.reduce_sum(x[key] * 2)
    marked = np.zeros_like(X)
    marked[key] = 2
    same(tape.gradient(y, x), marked)


def test_strided_slice_understands_masks():
    same(tf.strided_slice(X, [0, 1], [3, 4], [2, 1]), X[0:3:2, 1:4])
    same(tf.strided_slice(X, [1, 0, 0], [2, 2, 3], begin_mask=1, end_mask=2), X[:2, 0:, :3])
    same(tf.strided_slice(X, [0, 1], [0, 2], [1, 1], ellipsis_mask=1), X[..., 1:2])
    same(tf.strided_slice(X, [1, 0], [2, 1], shrink_axis_mask=1), X[1, 0:1])
    same(tf.strided_slice(X, [0, 1], [0, 2], new_axis_mask=1), X[None, 1:2])


def test_movements():
    same(tf.reverse(X, [0, -1]), X[::-1, :, ::-1])
    same(tf.roll(X, [1, -2], [0, 2]), np.roll(X, [1, -2], [0, 2]))
    same(tf.repeat(X, 2, axis=1), np.repeat(X, 2, axis=1))
    same(tf.repeat([[1, 2], [3, 4]], [1, 3], axis=0), np.repeat([[1, 2], [3, 4]], [1, 3], axis=0))
    same(tf.repeat([3, 4], 2), [3, 3, 4, 4])
    for indexing in ("xy", "ij"):
        for ours, theirs in zip(tf.meshgrid([1, 2], [3, 4, 5], indexing=indexing), np.meshgrid([1, 2], [3, 4, 5], indexing=indexing)):
            same(ours, theirs)
    same(tf.sequence_mask([1, 3, 2], 4), [[True, False, False, False], [True, True, True, False], [True, True, False, False]])
    for mode, numpy_mode in (("REFLECT", "reflect"), ("SYMMETRIC", "symmetric"), ("CONSTANT", "constant")):
        same(tf.pad(X, [[1, 2], [0, 3], [2, 0]], mode), np.pad(X, [[1, 2], [0, 3], [2, 0]], numpy_mode))
    same(tf.linalg.diag([[1, 2], [3, 4]]), [[[1, 0], [0, 2]], [[3, 0], [0, 4]]])
    same(tf.linalg.diag([1, 2], k=-1), np.diag([1, 2], -1))
    same(tf.linalg.diag_part(X), np.diagonal(X, axis1=1, axis2=2))
    same(tf.linalg.diag_part(X, k=1), np.diagonal(X, 1, axis1=1, axis2=2))
    same(tf.linalg.band_part(X, 1, 0), np.tril(X) - np.tril(X, -2))
    same(tf.linalg.matrix_transpose(X), X.transpose(0, 2, 1))
    same(tf.linalg.trace(X[:, :4, :4]), np.trace(X[:, :4, :4], axis1=1, axis2=2), rtol=1e-5)


def test_gather_and_scatter():
    same(tf.gather(X, [[1, 0], [2, 2], [3, 1]], batch_dims=1, axis=1), np.stack([X[b][i] for b, i in enumerate([[1, 0], [2, 2], [3, 1]])]))
    same(tf.gather(X, [[1, 0], [2, 4], [3, 1]], batch_dims=1, axis=2), np.stack([X[b][:, i] for b, i in enumerate([[1, 0], [2, 4], [3, 1]])]))
    same(tf.gather_nd(X, [[0, 1], [2, 3]]), X[[0, 2], [1, 3]])
    same(tf.gather_nd(X, [[[1]], [[0]], [[3]]], batch_dims=1), np.stack([X[0, [1]], X[1, [0]], X[2, [3]]]))
    same(tf.scatter_nd([[1], [3], [1]], [5, 6, 7], [5]), [0, 12, 0, 6, 0])
    base = np.arange(6.0).reshape(3, 2).astype("float32")
    same(tf.tensor_scatter_nd_update(base, [[0], [2]], [[9.0, 9.0], [8.0, 8.0]]), [[9, 9], [2, 3], [8, 8]])
    same(tf.tensor_scatter_nd_add(base, [[0, 1], [0, 1]], [1.0, 2.0]), [[0, 4], [2, 3], [4, 5]])
    same(tf.tensor_scatter_nd_sub(base, [[0, 1]], [1.0]), [[0, 0], [2, 3], [4, 5]])
    same(tf.tensor_scatter_nd_max(base, [[1]], [[7.0, 0.0]]), [[0, 1], [7, 3], [4, 5]])
    same(tf.tensor_scatter_nd_min(base, [[1]], [[7.0, 0.0]]), [[0, 1], [2, 0], [4, 5]])
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="outside"):
        tf.gather_nd(base, [[3, 0]])
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="updates must be"):
        tf.tensor_scatter_nd_add(base, [[0]], [1.0])
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="outside"):
        tf.gather(X, [[1, 0], [2, 9], [3, 1]], batch_dims=1, axis=1)


def test_positions():
    mask = X > 0.3
    same(tf.where(mask), np.argwhere(mask))
    same(tf.where([0, 3, 0]), [[1]])
    same(tf.where([True, False], [1, 2], [3, 4]), [1, 4])
    same(tf.boolean_mask(X, mask), X[mask])
    same(tf.boolean_mask(X, mask[:, :, 0]), X[mask[:, :, 0]])
    same(tf.boolean_mask(X, mask[0, :, 0], axis=1), X[:, mask[0, :, 0]])
    y, idx = tf.unique([3, 1, 3, 2, 1])
    assert y.numpy().tolist() == [3, 1, 2] and idx.numpy().tolist() == [0, 1, 0, 2, 1]
    assert tf.unique_with_counts([3.0, 1.0, 3.0]).count.numpy().tolist() == [2, 1]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int32", "int64"])
def test_sorting(dtype):
    x = (RNG.normal(size=(3, 700)) * 60).astype(dtype)
    same(tf.sort(x), np.sort(x))
    same(tf.sort(x, axis=0, direction="DESCENDING"), -np.sort(-x.astype("int64"), 0) if dtype == "uint8" else -np.sort(-x.astype("float64"), 0))
    same(tf.argsort(x), np.argsort(x, kind="stable"))
    values, indices = tf.math.top_k(x, 10)
    same(values, np.sort(x)[:, ::-1][:, :10])
    same(tf.gather(x, indices, batch_dims=1), values.numpy())
    grid = np.sort(x[0])
    same(tf.searchsorted(grid, x[1]), np.searchsorted(grid, x[1]))
    same(tf.searchsorted(grid, x[1], side="right"), np.searchsorted(grid, x[1], side="right"))


def test_sorting_special_values():
    x = np.array([2.0, -0.0, math.nan, math.inf, 0.0, -math.inf, 1e-42], "float32")
    got = tf.sort(x).numpy()
    assert np.array_equal(got[:-1], np.sort(x)[:-1]) and math.isnan(got[-1])
    assert tf.argsort([1, 1, 0]).numpy().tolist() == [2, 0, 1]
    assert tf.argsort([1, 1, 0], direction="DESCENDING").numpy().tolist() == [0, 1, 2]
    assert tf.math.in_top_k([1, 0], [[0.1, 0.9, 0.5], [0.1, 0.9, 0.5]], 2).numpy().tolist() == [True, False]
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="top_k"):
        tf.math.top_k([1, 2], 3)


def test_norms():
    same(tf.norm(X), np.linalg.norm(X))
    same(tf.norm(X, 1, axis=-1), np.abs(X).sum(-1))
    same(tf.norm(X, np.inf, axis=0), np.abs(X).max(0))
    same(tf.norm(X, 3, axis=1), (np.abs(X) ** 3).sum(1) ** (1 / 3), rtol=1e-5)
    same(tf.norm(X[0], 1, axis=[0, 1]), np.linalg.norm(X[0], 1))
    same(tf.nn.l2_normalize(X, -1), X / np.linalg.norm(X, axis=-1, keepdims=True))
    mean, variance = tf.nn.moments(X, [0, 1])
    same(mean, X.mean((0, 1)))
    same(variance, X.var((0, 1)))
    same(tf.clip_by_norm([3.0, 4.0], 1.0), [0.6, 0.8])
    clipped, size = tf.clip_by_global_norm([[3.0], None, [4.0]], 2.5)
    assert size.numpy() == 5 and clipped[1] is None
    same(clipped[0], [1.5])


def test_gradients_pass_through():
    x = tf.constant(X)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        sums = tf.reduce_sum(tf.sort(x)[..., -1]), tf.reduce_sum(tf.boolean_mask(x, X > 0)), tf.reduce_logsumexp(x), tf.reduce_prod(x[0, :2, 0])
    largest = (X == X.max(-1, keepdims=True)).astype("float32")
    same(tape.gradient(sums[0], x), largest)
    same(tape.gradient(sums[1], x), (X > 0).astype("float32"))
    same(tape.gradient(sums[2], x), np.exp(X) / np.exp(X).sum())
    same(tape.gradient(sums[3], x)[0, :2, 0], X[0, 1::-1, 0])


def test_a_slice_of_size_minus_one_goes_to_the_end():
    x = tf.reshape(tf.range(12), [3, 4])
    assert tf.slice(x, [1, 2], [-1, -1]).numpy().tolist() == [[6, 7], [10, 11]]
    assert tf.slice(tf.constant(["a", "b", "c"]), [1], [-1]).numpy().tolist() == [b"b", b"c"]


def test_lists_of_strings_are_moved_as_tensors_of_them_are():
    assert tf.concat([["a"], ["b", "c"]], 0).numpy().tolist() == [b"a", b"b", b"c"]
    assert tf.transpose([["a", "b"]]).numpy().tolist() == [[b"a"], [b"b"]]
    assert tf.gather_nd([["a", "b"], ["c", "d"]], [[0, 1], [1, 0]]).numpy().tolist() == [b"b", b"c"]


def test_numbers_are_counted_in_each_row():
    assert tf.math.bincount([[1, 2], [0, 0]], axis=-1).numpy().tolist() == [[0, 1, 1], [2, 0, 0]]
    assert tf.math.bincount([[0, 0], [1, 9]], axis=-1, binary_output=True, maxlength=3).numpy().tolist() == [[1, 0, 0], [0, 1, 0]]
    assert tf.math.bincount([[0, 1], [1, 1]], weights=[[0.5, 1.0], [2.0, 3.0]], axis=-1).numpy().tolist() == [[0.5, 1], [0, 5]]


def test_unstack_and_split_refuse_numbers_that_do_not_fit():
    with pytest.raises(tf.errors.InvalidArgumentError, match="has 2 parts, but num=3"):
        tf.unstack(tf.ones([2, 2]), num=3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not divide into 3"):
        tf.split(tf.ones([4]), 3)


def test_sums_of_squares_and_products_of_large_tensors():
    """Eagerly these are one traced loop; the answers and gradients are those of the ops one by one."""
    random = np.random.default_rng(8)
    m, other = random.standard_normal((300, 400)), random.standard_normal((400, 300))
    for dtype, close in (("float64", 1e-10), ("float32", 2e-5)):
        x, y = tf.constant(m.astype(dtype)), tf.constant(other.astype(dtype))
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            results = [
                tf.norm(x), tf.norm(x, axis=[0, 1], keepdims=True), tf.nn.l2_loss(x), tf.linalg.global_norm([x, y]), tf.tensordot(x, y, [[0, 1], [1, 0]]), tf.tensordot(x, x, 2),
                tf.nn.l2_normalize(x, axis=1), tf.clip_by_norm(x, 2.0, axes=[1]), tf.norm(x, axis=-1),
            ]  # fmt: skip
        length = np.linalg.norm(m, axis=1, keepdims=True)
        wanted = [
            np.linalg.norm(m), [[np.linalg.norm(m)]], (m**2).sum() / 2, np.sqrt((m**2).sum() + (other**2).sum()), (m * other.T).sum(), (m * m).sum(),
            m / length, m * 2 / length, length[:, 0],
        ]  # fmt: skip
        for got, value in zip(results, wanted):
            np.testing.assert_allclose(got, value, rtol=close, atol=close)
            assert got.dtype == dtype
        np.testing.assert_allclose(tape.gradient(results[0], x), m / np.linalg.norm(m), rtol=close, atol=close)
        np.testing.assert_allclose(tape.gradient(results[4], x), other.T, rtol=close)
        np.testing.assert_allclose(tape.gradient(results[5], x), 2 * m, rtol=close)
        np.testing.assert_allclose(tape.gradient(results[8], x), m / length, rtol=close, atol=close)
