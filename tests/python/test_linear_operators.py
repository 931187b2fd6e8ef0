"""Matrices by their structure do what their dense forms do."""
import numpy as np
import pytest

import tandemflow as tf

L = tf.linalg
SYMMETRIC = [[2.0, 1.0], [1.0, 3.0]]


def operators():
    full = L.LinearOperatorFullMatrix(SYMMETRIC, is_self_adjoint=True, is_positive_definite=True)
    diagonal = L.LinearOperatorDiag([1.0, 2.0, 4.0])
    lower = L.LinearOperatorLowerTriangular([[1.0, 9.0], [2.0, 3.0]])
    scaled = L.LinearOperatorScaledIdentity(2, 3.0)
    return {
        "full": (full, SYMMETRIC),
        "diag": (diagonal, np.diag([1, 2, 4])),
        "lower": (lower, [[1, 0], [2, 3]]),
        "identity": (L.LinearOperatorIdentity(2), np.eye(2)),
        "scaled": (scaled, 3 * np.eye(2)),
        "householder": (L.LinearOperatorHouseholder([3.0, 4.0]), np.eye(2) - 2 * np.outer([0.6, 0.8], [0.6, 0.8])),
        "permutation": (L.LinearOperatorPermutation([1, 2, 0]), np.eye(3)[[1, 2, 0]]),
        "toeplitz": (L.LinearOperatorToeplitz([4.0, 2.0, 1.0], [4.0, 3.0, 5.0]), [[4, 3, 5], [2, 4, 3], [1, 2, 4]]),
        "tridiag": (L.LinearOperatorTridiag([[1.0, 1, 9], [4, 4, 4], [9, 2, 2]]), [[4, 1, 0], [2, 4, 1], [0, 2, 4]]),
        "adjoint": (L.LinearOperatorAdjoint(lower), [[1, 2], [0, 3]]),
        "inversion": (L.LinearOperatorInversion(full), np.linalg.inv(SYMMETRIC)),
        "composition": (L.LinearOperatorComposition([lower, scaled]), [[3, 0], [6, 9]]),
        "block diag": (L.LinearOperatorBlockDiag([full, diagonal]), np.block([[np.array(SYMMETRIC), np.zeros([2, 3])], [np.zeros([3, 2]), np.diag([1, 2, 4])]])),
        "block lower": (L.LinearOperatorBlockLowerTriangular([[full], [L.LinearOperatorFullMatrix([[1.0, 2.0]]), L.LinearOperatorFullMatrix([[5.0]])]]), [[2, 1, 0], [1, 3, 0], [1, 2, 5]]),
        "kronecker": (L.LinearOperatorKronecker([full, lower]), np.kron(SYMMETRIC, [[1, 0], [2, 3]])),
        "low rank": (L.LinearOperatorLowRankUpdate(diagonal, tf.ones([3, 1]), v=[[1.0], [0.0], [2.0]]), np.diag([1, 2, 4]) + np.outer(np.ones(3), [1, 0, 2])),
    }


@pytest.mark.parametrize("name", operators())
def test_an_operator_multiplies_solves_and_measures_as_its_matrix(name):
    operator, matrix = operators()[name]
    matrix = np.array(matrix, "float32")
    size = len(matrix)
    x = np.arange(1, 2 * size + 1, dtype="float32").reshape(size, 2)
    close = dict(rtol=1e-4, atol=1e-4)
    assert operator.shape == matrix.shape and operator.domain_dimension == size
    np.testing.assert_allclose(operator.to_dense(), matrix, **close)
    np.testing.assert_allclose(operator.matmul(x), matrix @ x, **close)
    np.testing.assert_allclose(operator.matmul(x, adjoint=True), matrix.T @ x, **close)
    np.testing.assert_allclose(operator @ x, matrix @ x, **close)
    np.testing.assert_allclose(operator.matvec(x[:, 0]), matrix @ x[:, 0], **close)
    np.testing.assert_allclose(operator.solve(x), np.linalg.solve(matrix, x), **close)
    np.testing.assert_allclose(operator.solvevec(x[:, 0], adjoint=True), np.linalg.solve(matrix.T, x[:, 0]), **close)
    np.testing.assert_allclose(operator.determinant(), np.linalg.det(matrix), **close)
    np.testing.assert_allclose(operator.log_abs_determinant(), np.linalg.slogdet(matrix)[1], **close)
    np.testing.assert_allclose(operator.trace(), np.trace(matrix), **close)
    np.testing.assert_allclose(operator.inverse().to_dense(), np.linalg.inv(matrix), **close)
    np.testing.assert_allclose(operator.adjoint().to_dense(), matrix.T, **close)
    np.testing.assert_allclose(operator.add_to_tensor(tf.ones([size, size])), matrix + 1, **close)


def test_batches_broadcast():
    operator = L.LinearOperatorDiag([[1.0, 2.0], [3.0, 4.0]])
    assert operator.batch_shape == (2,) and operator.matvec([1.0, 1.0]).numpy().tolist() == [[1, 2], [3, 4]]
    both = L.LinearOperatorBlockDiag([operator, L.LinearOperatorIdentity(1)])
    assert both.shape == (2, 3, 3) and both.to_dense().numpy()[1].tolist() == [[3, 0, 0], [0, 4, 0], [0, 0, 1]]


def test_gradients_reach_the_variables_of_an_operator():
    scale = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(L.LinearOperatorDiag(scale).matvec([3.0, 5.0]))
    assert tape.gradient(loss, scale).numpy().tolist() == [3, 5]


def test_what_is_known_of_an_operator_decides_what_it_may_be_asked():
    operator = L.LinearOperatorFullMatrix(SYMMETRIC)
    with pytest.raises(ValueError, match="is_self_adjoint=True and is_positive_definite=True"):
        operator.cholesky()
    with pytest.raises(ValueError, match="Dimensions 2 and 4 are not compatible"):
        operator.matmul(tf.ones([4, 4]))
    with pytest.raises(ValueError, match="2 rows and 1 columns"):
        L.LinearOperatorFullMatrix([[1.0], [2.0]], is_square=True)
    with pytest.raises(NotImplementedError, match="singular"):
        L.LinearOperatorZeros(2).solve(tf.ones([2, 1]))
    known = L.LinearOperatorFullMatrix(SYMMETRIC, is_self_adjoint=True, is_positive_definite=True)
    assert known.is_non_singular and isinstance(known.cholesky(), L.LinearOperatorLowerTriangular)
    np.testing.assert_allclose(known.eigvals(), np.linalg.eigvalsh(SYMMETRIC), rtol=1e-5)
