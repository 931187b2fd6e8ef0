"""Linear algebra: values against NumPy, gradients against differences, and what is refused."""
import numpy as np
import pytest

import tandemflow as tf

linalg = tf.linalg
RNG = np.random.default_rng(5)
DTYPES = [(np.float32, 2e-4), (np.float64, 1e-11)]


def matrices(*shape, dtype=np.float64):
    return RNG.standard_normal(shape).astype(dtype)


def positive(*shape, dtype=np.float64):
    a = RNG.standard_normal(shape)
    return (a @ np.swapaxes(a, -1, -2) + shape[-1] * np.eye(shape[-1])).astype(dtype)


@pytest.mark.parametrize("dtype,close", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 7, 65])
def test_values_are_those_of_numpy(dtype, close, n):
    a, b, p = matrices(3, n, n, dtype=dtype) + n * np.eye(n, dtype=dtype), matrices(3, n, 2, dtype=dtype), positive(3, n, n, dtype=dtype)

    def check(got, expected):
        np.testing.assert_allclose(got, expected, rtol=close, atol=close * max(1, np.abs(expected).max()))
        assert np.asarray(got).dtype == dtype

    check(linalg.cholesky(p), np.linalg.cholesky(p))
    check(linalg.solve(a, b), np.linalg.solve(a, b))
    check(linalg.solve(a, b, adjoint=True), np.linalg.solve(np.swapaxes(a, -1, -2), b))
    check(linalg.inv(a), np.linalg.inv(a))
    check(linalg.triangular_solve(a, b), np.linalg.solve(np.tril(a), b))
    check(linalg.triangular_solve(a, b, lower=False, adjoint=True), np.linalg.solve(np.swapaxes(np.triu(a), -1, -2), b))
    check(linalg.cholesky_solve(linalg.cholesky(p), b), np.linalg.solve(p, b))
    for got, expected in zip(linalg.slogdet(a), np.linalg.slogdet(a)):
        check(got, expected)
    if n < 60:  # beyond, float32 has no room for it
        check(linalg.det(a), np.linalg.det(a))
    check(linalg.logdet(p), np.linalg.slogdet(p)[1])
    check(linalg.eigvalsh(p), np.linalg.eigvalsh(p))
    e, v = linalg.eigh(p)
    check(tf.matmul(v * e[:, None, :], v, transpose_b=True), p)


@pytest.mark.parametrize("dtype,close", DTYPES)
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (2, 6, 3), (40, 70)])
def test_factors_multiply_to_the_matrix(dtype, close, shape):
    a = matrices(*shape, dtype=dtype)
    for full in (False, True):
        q, r = linalg.qr(a, full_matrices=full)
        expected = np.linalg.qr(a, mode="complete" if full else "reduced") if a.ndim == 2 else None
        if expected is not None:
            np.testing.assert_allclose(q, expected[0], atol=close * 50)
            np.testing.assert_allclose(r, expected[1], atol=close * 50)
        np.testing.assert_allclose(q @ r, a, atol=close * 50)
        s, u, v = linalg.svd(a, full_matrices=full)
        np.testing.assert_allclose(s, np.linalg.svd(a, compute_uv=False), atol=close * 50)
        k = min(shape[-2:])
        assert u.shape[-1] == (shape[-2] if full else k) and v.shape[-1] == (shape[-1] if full else k)
        np.testing.assert_allclose(u[..., :k] * s[..., None, :] @ linalg.adjoint(v[..., :k]), a, atol=close * 50)
        np.testing.assert_allclose(tf.matmul(u, u, transpose_a=True), np.broadcast_to(np.eye(u.shape[-1]), shape[:-2] + (u.shape[-1],) * 2), atol=close * 50)


def test_least_squares_ranks_and_pseudoinverses():
    for shape in ((7, 3), (3, 7), (2, 6, 4)):
        a, b = matrices(*shape), matrices(*shape[:-1], 2)
        expected = np.linalg.pinv(a) @ b
        np.testing.assert_allclose(linalg.lstsq(a, b), expected, atol=1e-10)
        np.testing.assert_allclose(linalg.pinv(a), np.linalg.pinv(a), atol=1e-10)
        assert linalg.matrix_rank(a).numpy().tolist() == np.linalg.matrix_rank(a).tolist()
        t = np.swapaxes(a, -1, -2)
        ridge = np.linalg.solve(t @ a + 0.5 * np.eye(shape[-1]), t @ b)
        np.testing.assert_allclose(linalg.lstsq(a, b, l2_regularizer=0.5), ridge, atol=1e-10)
    low = np.outer(np.arange(1.0, 5), np.arange(1.0, 4))
    assert linalg.matrix_rank(low) == 1 and linalg.matrix_rank(low, tol=1e6) == 0
    np.testing.assert_allclose(linalg.pinv(low), np.linalg.pinv(low), atol=1e-10)


def test_parts_and_products():
    a = matrices(2, 3, 4)
    d = matrices(2, 3)
    expected = a.copy()
    for i in range(3):
        expected[:, i, i] = d[:, i]
    np.testing.assert_array_equal(linalg.set_diag(a, d), expected)
    below = a.copy()
    below[:, 1, 0], below[:, 2, 1] = d[:, 0], d[:, 1]
    np.testing.assert_array_equal(linalg.set_diag(a, d[:, :2], k=-1), below)
    np.testing.assert_allclose(linalg.matvec(a, matrices(4) * 0 + 2), a.sum(-1) * 2)
    np.testing.assert_allclose(linalg.cross(d, d[::-1] + 1), np.cross(d, d[::-1] + 1))
    np.testing.assert_array_equal(linalg.tensor_diag([1.0, 2.0]), np.diag([1.0, 2.0]))
    unit, length = linalg.normalize(d, axis=1)
    np.testing.assert_allclose(unit * length, d)


def packed_band(matrix, low, high, align, padding):
    """What TensorFlow's documentation says of MatrixDiagPartV3, element by element."""
    rows, columns = matrix.shape
    width = min(rows + min(high, 0), columns - max(low, 0))
    out = np.full((high - low + 1, width), padding, matrix.dtype)
    for row, k in zip(out, range(high, low - 1, -1)):
        diagonal = np.diagonal(matrix, k)
        above, below = align.split("_")
        left = "LEFT" in ((above, below) if k == 0 else (above,) if k > 0 else (below,))
        first = 0 if left else width - len(diagonal)
        row[first : first + len(diagonal)] = diagonal
    return out


@pytest.mark.parametrize("align", ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"])
@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (3, 3), (1, 5)])
def test_bands_are_taken_set_and_spread_as_tensorflow_aligns_them(shape, align):
    a = matrices(2, *shape)
    rows, columns = shape
    for low in range(1 - rows, columns):
        for high in range(low + 1, columns):
            packed = linalg.diag_part(a, k=(low, high), padding_value=9.0, align=align)
            np.testing.assert_array_equal(packed, [packed_band(m, low, high, align, 9.0) for m in a])
            inside = np.subtract.outer(np.arange(columns), np.arange(rows)).T
            inside = (inside >= low) & (inside <= high)
            spread = linalg.diag(packed, k=(low, high), num_rows=rows, num_cols=columns, padding_value=7.0, align=align)
            np.testing.assert_array_equal(spread, np.where(inside, a, 7.0))
            np.testing.assert_array_equal(linalg.set_diag(-a, packed, k=[low, high], align=align), np.where(inside, a, -a))


def test_bands_have_tensorflows_sizes_gradients_and_errors():
    packed = tf.constant([[0.0, 8, 9], [1, 2, 3], [4, 5, 0]])
    expected = [[1, 8, 0], [4, 2, 9], [0, 5, 3]]
    np.testing.assert_array_equal(linalg.diag(packed, k=(-1, 1)), expected)
    np.testing.assert_array_equal(tf.function(lambda x: linalg.diag(x, k=(-1, 1)))(packed), expected)
    assert linalg.diag(packed, k=(0, 2), num_cols=4).shape == (3, 4)
    np.testing.assert_array_equal(linalg.diag_part([[True, False], [True, True]], k=tf.constant([0, 1]), padding_value=True), [[True, False], [True, True]])
    with tf.GradientTape() as tape:
        tape.watch(packed)
        y = tf.reduce_sum(linalg.diag(packed, k=(-1, 1)) ** 2)
    np.testing.assert_array_equal(tape.gradient(y, packed), [[0, 16, 18], [2, 4, 6], [8, 10, 0]])
    for call, message in [
        (lambda: linalg.diag_part(packed, k=(1, -1)), "must not be larger"),
        (lambda: linalg.diag_part(packed, k=(-3, 0)), "out of bound: -3"),
        (lambda: linalg.diag(packed, k=(-1, 1), num_rows=5, num_cols=5), "do not fit 5 rows and 5 columns"),
        (lambda: linalg.diag(packed, k=(0, 1)), "has 2 diagonals"),
        (lambda: linalg.diag_part(packed, k=(0, 1), align="CENTER"), "align must be one of"),
        (lambda: linalg.set_diag(packed, [[1.0, 2.0]], k=(0, 1)), "have the shape"),
    ]:
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            call()


def check_gradient(function, a):
    """The tape's gradient of a scalar against central differences, in every direction."""
    x = tf.constant(a)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    got = tape.gradient(y, x).numpy()
    step, expected = 1e-6, np.zeros_like(a)
    for at in np.ndindex(a.shape):
        up, down = a.copy(), a.copy()
        up[at] += step
        down[at] -= step
        expected[at] = (function(tf.constant(up)).numpy() - function(tf.constant(down)).numpy()) / (2 * step)
    np.testing.assert_allclose(got, expected, atol=2e-6 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5), (2, 4, 4)])
def test_gradients_through_every_factor(shape):
    a = matrices(*shape)

    def weighted(tensor):
        return tf.reduce_sum(tensor * np.cos(np.arange(int(np.prod(tensor.shape))).reshape(tensor.shape)))

    check_gradient(lambda x: weighted(linalg.qr(x).q) + weighted(linalg.qr(x).r), a)
    # Vectors are known up to their sign: only what does not depend on it has a gradient.
    check_gradient(lambda x: sum(weighted(part * part) for part in linalg.svd(x)), a)
    check_gradient(lambda x: weighted(tf.matmul(linalg.svd(x)[1][..., :1], linalg.svd(x)[2][..., :1], transpose_b=True)), a)
    if shape[-1] == shape[-2]:
        symmetric = (a + np.swapaxes(a, -1, -2)) / 2
        check_gradient(lambda x: weighted(linalg.eigh(x)[0] ** 2) + weighted(linalg.eigh(x)[1] ** 2), symmetric)
        check_gradient(lambda x: weighted(linalg.det(x)) + weighted(linalg.slogdet(x)[1]), a)
        check_gradient(lambda x: weighted(linalg.inv(x)), a + 4 * np.eye(shape[-1]))


def test_what_cannot_be_done_is_refused():
    singular, rectangular = tf.constant([[1.0, 2.0], [2.0, 4.0]]), tf.ones([2, 3])
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        linalg.inv(singular)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not positive definite.*matrix 1"):
        linalg.cholesky(tf.stack([tf.eye(2), -tf.eye(2)]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="zero on its diagonal"):
        linalg.triangular_solve(tf.zeros([2, 2]), tf.ones([2, 1]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="NaN"):
        linalg.svd([[np.nan, 1.0], [1.0, 2.0]])
    for function in (linalg.cholesky, linalg.det, linalg.eigh):
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="square"):
            function(rectangular)
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="rows"):
        linalg.solve(tf.eye(2), tf.ones([3, 1]))
    assert linalg.det(singular).numpy() == 0
    assert linalg.slogdet(singular)[0].numpy() == 0 and linalg.slogdet(singular)[1].numpy() == -np.inf


def test_empty_matrices():
    assert linalg.det(np.zeros([2, 0, 0])).numpy().tolist() == [1, 1]
    assert linalg.svd(np.zeros([0, 3]))[2].shape == (3, 0)
    assert linalg.cholesky(np.zeros([0, 3, 3])).shape == (0, 3, 3)
