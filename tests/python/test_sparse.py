"""tf.sparse, tf.sets and tf.IndexedSlices; the answers are TensorFlow's."""
import pytest

import tandemflow as tf

A = tf.SparseTensor([[0, 2], [3, 4]], [31, 2], [4, 10])
B = tf.SparseTensor([[0, 2], [3, 0]], [56, 38], [4, 10])
F = tf.SparseTensor([[0, 1], [1, 0], [1, 2]], [1.0, 2.0, -3.0], [2, 3])
G = tf.SparseTensor([[0, 0], [1, 0]], [-1.0, 5.0], [2, 3])


def parts(sparse):
    return sparse.indices.numpy().tolist(), sparse.values.numpy().tolist(), sparse.shape.as_list()


@pytest.mark.parametrize(
    "compute, expected",
    [
        (lambda: tf.sparse.add(A, B), ([[0, 2], [3, 0], [3, 4]], [87, 38, 2], [4, 10])),
        (lambda: tf.sparse.slice(A, [0, 2], [4, 3]), ([[0, 0], [3, 2]], [31, 2], [4, 3])),
        (lambda: tf.sparse.slice(A, [3, 3], [4, 30]), ([[0, 1]], [2], [1, 7])),
        (lambda: tf.sparse.split(A, num_split=3, axis=1)[0], ([[0, 2]], [31], [4, 4])),
        (lambda: tf.sparse.transpose(A), ([[2, 0], [4, 3]], [31, 2], [10, 4])),
        (lambda: tf.sparse.reshape(A, [8, -1]), ([[0, 2], [6, 4]], [31, 2], [8, 5])),
        (lambda: tf.sparse.expand_dims(F, 0), ([[0, 0, 1], [0, 1, 0], [0, 1, 2]], [1.0, 2.0, -3.0], [1, 2, 3])),
        (lambda: tf.sparse.retain(F, [True, False, True]), ([[0, 1], [1, 2]], [1.0, -3.0], [2, 3])),
        (lambda: tf.sparse.map_values(tf.add, A, 5), ([[0, 2], [3, 4]], [36, 7], [4, 10])),
        (lambda: tf.sparse.maximum(F, G), ([[0, 0], [0, 1], [1, 0], [1, 2]], [0.0, 1.0, 5.0, 0.0], [2, 3])),
        (lambda: tf.sparse.minimum(F, G), ([[0, 0], [0, 1], [1, 0], [1, 2]], [-1.0, 0.0, 2.0, -3.0], [2, 3])),
        (lambda: tf.sparse.fill_empty_rows(B, -1)[0], ([[0, 2], [1, 0], [2, 0], [3, 0]], [56, -1, -1, 38], [4, 10])),
        (lambda: tf.sparse.eye(2, 3), ([[0, 0], [1, 1]], [1.0, 1.0], [2, 3])),
        (lambda: F * 2.0, ([[0, 1], [1, 0], [1, 2]], [2.0, 4.0, -6.0], [2, 3])),
        (lambda: F / tf.constant([[1.0, 2.0, 3.0]]), ([[0, 1], [1, 0], [1, 2]], [0.5, 2.0, -1.0], [2, 3])),
    ],
)
def test_functions_of_sparse_tensors(compute, expected):
    assert parts(compute()) == expected


def test_sparse_and_dense_give_dense():
    assert tf.sparse.add(F, tf.ones([2, 3])).numpy().tolist() == [[1.0, 2.0, 1.0], [3.0, 1.0, -2.0]]
    assert tf.sparse.reduce_max(F, axis=1).numpy().tolist() == [1.0, 2.0]
    assert tf.sparse.softmax(F).values.numpy() == pytest.approx([1.0, 0.993307, 0.00669285], rel=1e-5)


def test_sparse_tensors_of_other_shapes_are_refused():
    with pytest.raises(ValueError, match=r"one shape are needed, got \(4, 10\) and \(2, 3\)"):
        tf.sparse.add(A, F)
    with pytest.raises(ValueError, match="No SparseTensor"):
        tf.sparse.map_values(tf.add, 1, 2)


def test_models_take_sparse_tensors():
    x = tf.keras.Input(shape=(4,), sparse=True)
    model = tf.keras.Model(x, tf.keras.layers.Dense(2, kernel_initializer="ones")(x))
    data = tf.SparseTensor([(0, 0), (2, 1)], [1.0, 2.0], (3, 4))
    expected = [[1.0, 1.0], [0.0, 0.0], [2.0, 2.0]]
    assert model(data).numpy().tolist() == expected
    assert model.predict(data, verbose=0).tolist() == expected


@pytest.mark.parametrize(
    "name, expected",
    [("union", [[1, 2, 3, 4, 5, 6, 7], [0, 1, 7, 9, 10]]), ("intersection", [[5], [0, 9]]), ("difference", [[2, 3, 7], [7]])],
)
def test_sets_are_combined_row_by_row(name, expected):
    a, b = tf.constant([[2, 3, 5, 7], [7, 9, 0, 0]]), tf.constant([[4, 5, 6, 1], [9, 10, 0, 1]])
    result = getattr(tf.sets, name)(a, b)
    assert [row for row in tf.RaggedTensor.from_sparse(result).to_list()] == expected
    assert tf.sets.size(result).numpy().tolist() == [len(row) for row in expected]


def test_indexed_slices_are_rows_of_a_tensor():
    rows = tf.IndexedSlices(values=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], indices=[2, 0, 2], dense_shape=[3, 2])
    assert tf.add(rows, 0.0).numpy().tolist() == [[3.0, 4.0], [0.0, 0.0], [6.0, 8.0]]
    with pytest.raises(ValueError, match="how many rows"):
        tf.IndexedSlices([[1.0]], [0]).to_dense()


def test_parts_and_rows_of_variables_are_assigned():
    v = tf.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    v[0, 1].assign(42.0)
    v[:, 2].assign([0.0, 1.0])
    assert v.numpy().tolist() == [[1.0, 42.0, 0.0], [4.0, 5.0, 1.0]]
    v.scatter_update(tf.IndexedSlices(values=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], indices=[1, 0]))
    v.scatter_add(tf.IndexedSlices(values=[[1.0, 1.0, 1.0]], indices=[1]))
    assert v.numpy().tolist() == [[4.0, 5.0, 6.0], [2.0, 3.0, 4.0]]

    @tf.function
    def clear(i):
        v[i].assign([0.0, 0.0, 0.0])

    clear(tf.constant(1))
    assert v.numpy().tolist() == [[4.0, 5.0, 6.0], [0.0, 0.0, 0.0]]


def test_ops_that_keep_zeros_work_on_the_values():
    sparse = tf.SparseTensor([[0, 1], [2, 0]], [-4, 9], [3, 2])
    assert tf.cast(sparse, tf.float32).values.numpy().tolist() == [-4.0, 9.0] and tf.abs(sparse).values.numpy().tolist() == [4, 9]
    assert tf.sparse.sparse_dense_matmul(tf.cast(sparse, tf.float32), tf.ones([2, 1])).numpy().ravel().tolist() == [-4, 0, 9]
    with pytest.raises(TypeError):
        tf.exp(sparse)


def test_shapes_are_reset_and_numbers_marked():
    sparse = tf.SparseTensor([[0, 1], [1, 0]], tf.constant([2, 0], tf.int64), [5, 5])
    assert tf.sparse.reset_shape(sparse).shape == (2, 2) and tf.sparse.reset_shape(sparse, [3, 4]).shape == (3, 4)
    with pytest.raises(ValueError, match="does not hold"):
        tf.sparse.reset_shape(sparse, [1, 4])
    assert tf.sparse.to_indicator(tf.sparse.reset_shape(sparse), 3).numpy().tolist() == [[False, False, True], [True, False, False]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="the value 2 is not between 0 and vocab_size, 2"):
        tf.sparse.to_indicator(sparse, 2)
