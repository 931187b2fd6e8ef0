"""Ragged and sparse tensors as elements of datasets; the values are TensorFlow's."""
import pytest
import tandemflow as tf

ROWS = [[1, 2], [], [3], [4, 5, 6], [7]]
RAGGED = tf.ragged.constant(ROWS)
SPARSE = tf.SparseTensor([[0, 1], [2, 0], [2, 1]], [5.0, 7.0, 8.0], [3, 2])


def lists(dataset):
    return [element.to_list() if isinstance(element, tf.RaggedTensor) else element.numpy().tolist() for element in dataset]


def dense(dataset):
    return [tf.sparse.to_dense(element).numpy().tolist() for element in dataset]


def test_a_ragged_tensor_is_one_element():
    dataset = tf.data.Dataset.from_tensors(RAGGED)
    assert repr(dataset.element_spec) == "RaggedTensorSpec(TensorShape([5, None]), tf.int32, 1, tf.int64)"
    assert lists(dataset) == [ROWS] and lists(dataset.repeat(2)) == [ROWS, ROWS]


def test_rows_of_a_ragged_tensor_are_tensors_that_batch_joins_again():
    rows = tf.data.Dataset.from_tensor_slices(RAGGED)
    assert repr(rows.element_spec) == "RaggedTensorSpec(TensorShape([None]), tf.int32, 0, tf.int64)" and len(rows) == 5
    assert all(isinstance(row, tf.Tensor) for row in rows) and lists(rows) == ROWS
    assert lists(rows.batch(2)) == [ROWS[:2], ROWS[2:4], ROWS[4:]]
    assert lists(rows.batch(2, drop_remainder=True)) == [ROWS[:2], ROWS[2:4]]
    assert lists(rows.batch(2).batch(2)) == [[ROWS[:2], ROWS[2:4]], [ROWS[4:]]]
    assert lists(rows.batch(2).unbatch()) == ROWS
    assert lists(rows.map(lambda row: row * 2)) == [[2, 4], [], [6], [8, 10, 12], [14]]
    assert lists(rows.padded_batch(5)) == [[[1, 2, 0], [0, 0, 0], [3, 0, 0], [4, 5, 6], [7, 0, 0]]]


def test_rows_that_are_ragged_themselves():
    deep = tf.ragged.constant([[[1], [2, 3]], [[4]], []], ragged_rank=2)
    rows = tf.data.Dataset.from_tensor_slices(deep)
    assert lists(rows) == [[[1], [2, 3]], [[4]], []] and lists(rows.batch(3)) == [deep.to_list()]


def test_ragged_tensors_beside_others_pass_every_stage(tmp_path):
    dataset = tf.data.Dataset.from_tensor_slices((RAGGED, {"y": [1, 2, 3, 4, 5]})).batch(2)
    for stage in (dataset, dataset.prefetch(2), dataset.cache(), dataset.cache(str(tmp_path / "file")), dataset.shuffle(1), dataset.map(lambda x, y: (x, y))):
        assert [(x.to_list(), y["y"].numpy().tolist()) for x, y in stage] == [(ROWS[:2], [1, 2]), (ROWS[2:4], [3, 4]), (ROWS[4:], [5])]
    both = tf.data.Dataset.zip((dataset, dataset))
    assert [a.to_list() == b.to_list() for (a, _), (b, _) in both] == [True] * 3
    long = dataset.filter(lambda x, y: tf.reduce_max(x.row_lengths()) > 2)
    assert [x.to_list() for x, _ in long] == [ROWS[2:4]]
    dataset.save(str(tmp_path / "saved"))
    assert [x.to_list() for x, _ in tf.data.Dataset.load(str(tmp_path / "saved"))] == [ROWS[:2], ROWS[2:4], ROWS[4:]]


def test_words_of_sentences_in_batches():
    sentences = tf.data.Dataset.from_tensor_slices(["a b", "c", "d e f"])
    assert lists(sentences.map(tf.strings.split).ragged_batch(2)) == [[[b"a", b"b"], [b"c"]], [[b"d", b"e", b"f"]]]
    assert lists(sentences.batch(3).map(tf.strings.split)) == [[[b"a", b"b"], [b"c"], [b"d", b"e", b"f"]]]
    lengths = sentences.batch(3).map(lambda text: tf.strings.split(text).row_lengths())
    assert lists(lengths) == [[2, 1, 3]]


def test_tensors_of_different_sizes_become_ragged_or_sparse_batches():
    counted = tf.data.Dataset.range(4).map(lambda n: tf.range(n))
    assert lists(counted.ragged_batch(3)) == [[[], [0], [0, 1]], [[0, 1, 2]]]
    assert lists(counted.apply(tf.data.experimental.dense_to_ragged_batch(2))) == [[[], [0]], [[0, 1], [0, 1, 2]]]
    shown = [b.dense_shape.numpy().tolist() for b in counted.sparse_batch(3, [4])]
    assert shown == [[3, 4], [1, 4]]
    assert lists(tf.data.Dataset.range(3).ragged_batch(2)) == [[0, 1], [2]]
    with pytest.raises(ValueError, match=r"shape \[3\] does not fit into row_shape \[2\]"):
        list(counted.sparse_batch(4, [2]))


def test_sparse_tensors_are_elements_rows_and_batches():
    rows = tf.data.Dataset.from_tensor_slices(SPARSE)
    assert repr(rows.element_spec) == "SparseTensorSpec(TensorShape([None]), tf.float32)"
    assert dense(rows) == [[0, 5], [0, 0], [7, 8]] and len(rows) == 3
    assert dense(rows.batch(2)) == [[[0, 5], [0, 0]], [[7, 8]]]
    assert dense(tf.data.Dataset.from_tensors(SPARSE).unbatch()) == [[0, 5], [0, 0], [7, 8]]
    assert next(rows.as_numpy_iterator()).tolist() == [0, 5]


def test_generators_announce_ragged_and_sparse_tensors():
    def elements():
        yield tf.ragged.constant([[1, 2], [3]]), [1, 2], 0
        yield tf.ragged.constant([[1], [3, 4, 5]]), [3], 1

    signature = (tf.RaggedTensorSpec([2, None], tf.int32), tf.RaggedTensorSpec([None], tf.int32, 0), tf.TensorSpec([], tf.int32))
    dataset = tf.data.Dataset.from_generator(elements, output_signature=signature)
    (ragged, row, number), = dataset.batch(2)
    assert ragged.to_list() == [[[1, 2], [3]], [[1], [3, 4, 5]]] and row.to_list() == [[1, 2], [3]] and number.numpy().tolist() == [0, 1]
    sparse = tf.data.Dataset.from_generator(lambda: iter([SPARSE]), output_signature=tf.SparseTensorSpec([3, 2], tf.float32))
    assert dense(sparse) == [[[0, 5], [0, 0], [7, 8]]]
    wrong = tf.data.Dataset.from_generator(lambda: iter([[1, 2]]), output_signature=tf.RaggedTensorSpec([2, None], tf.int32))
    with pytest.raises(TypeError, match="announces a tf.RaggedTensor of ragged_rank 1, got list.*tf.ragged.constant"):
        list(wrong)


def test_what_cannot_be_padded_or_joined_is_named():
    with pytest.raises(TypeError, match="only tensors can be padded.*to_tensor"):
        tf.data.Dataset.from_tensors(RAGGED).padded_batch(2)
    with pytest.raises(ValueError, match="same number of rows"):
        tf.data.Dataset.from_tensor_slices((RAGGED, [1, 2]))


def test_batches_of_other_sizes_and_snapshots(tmp_path):
    numbers = tf.data.Dataset.range(10).batch(4)
    assert lists(numbers.rebatch(3)) == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]
    assert lists(numbers.rebatch([1, 2])) == [[0], [1, 2], [3], [4, 5], [6], [7, 8], [9]]
    assert lists(tf.data.Dataset.from_tensor_slices(RAGGED).batch(2).rebatch(4)) == [ROWS[:4], ROWS[4:]]
    with pytest.raises(ValueError, match="positive"):
        numbers.rebatch([])
    made = []
    counted = tf.data.Dataset.from_generator(lambda: (made.append(i) or i for i in range(3)), output_signature=tf.TensorSpec([], tf.int64))
    kept = counted.snapshot(str(tmp_path / "kept"))
    assert lists(kept) == lists(kept) == [0, 1, 2] and made == [0, 1, 2]


def test_small_names_of_data_experimental():
    assert lists(tf.data.experimental.from_list([1, 2, 3])) == [1, 2, 3]
    assert int(tf.data.experimental.at(tf.data.Dataset.range(5), 3)) == 3
    assert tf.data.experimental.get_structure(tf.data.Dataset.range(5)) == tf.TensorSpec([], tf.int64)
    with pytest.raises(tf.errors.OutOfRangeError, match="no element 7"):
        tf.data.experimental.at(tf.data.Dataset.range(5), 7)


def test_other_divisions_into_rows():
    make = tf.RaggedTensor
    assert make.from_row_starts([1, 2, 3], [0, 2]).to_list() == make.from_row_limits([1, 2, 3], [2, 3]).to_list() == [[1, 2], [3]]
    nested = make.from_nested_row_lengths([1, 2, 3, 4], [[1, 2], [1, 2, 1]])
    assert nested.to_list() == [[[1]], [[2, 3], [4]]] == make.from_nested_value_rowids([1, 2, 3, 4], [[0, 1, 1], [0, 1, 1, 2]]).to_list()
    assert [part.numpy().tolist() for part in nested.nested_value_rowids()] == [[0, 1, 1], [0, 1, 1, 2]]
    assert [part.numpy().tolist() for part in nested.nested_row_lengths()] == [[1, 2], [1, 2, 1]]
    assert nested.row_limits().numpy().tolist() == [1, 3] and nested.with_row_splits_dtype(tf.int32).row_splits.dtype == tf.int32
    assert make.from_tensor(tf.reshape(tf.range(8), [2, 2, 2]), ragged_rank=2).to_list() == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    with pytest.raises(ValueError, match="value_rowids must rise"):
        make.from_value_rowids([1, 2], [1, 0])


def test_functions_take_and_give_ragged_and_sparse_tensors():
    @tf.function
    def doubled(rows, axis):
        return tf.concat([rows, tf.reverse(rows, axis=[axis])], axis=axis) if axis == 0 else rows * 2

    assert doubled(RAGGED, 1).to_list() == [[2, 4], [], [6], [8, 10, 12], [14]]
    words = tf.function(lambda text: tf.strings.split(text))
    assert words(tf.constant(["a b", "c"])).to_list() == words(tf.constant(["a b", "c"])).to_list() == [[b"a", b"b"], [b"c"]]
    made = tf.function(lambda x: tf.RaggedTensor.from_row_splits(x, [0, 2, 3]))
    assert made(tf.constant([1, 2, 3])).to_list() == [[1, 2], [3]]

    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.int32)])
    def longest(rows):
        return tf.reduce_max(rows.row_lengths())

    assert int(longest(RAGGED)) == 3


def test_optional_elements():
    numbers = iter(tf.data.Dataset.range(1))
    first, second = numbers.get_next_as_optional(), numbers.get_next_as_optional()
    assert first.has_value() and int(first.get_value()) == 0 and first.element_spec == tf.TensorSpec([], tf.int64)
    assert not second.has_value() and second.element_spec == tf.TensorSpec([], tf.int64)
    with pytest.raises(tf.errors.InvalidArgumentError, match="has_value"):
        second.get_value()


def test_a_list_that_a_map_function_gives_is_several_tensors():
    dataset = tf.data.Dataset.range(2).map(lambda n: [n, tf.ones([2, 3])])
    assert dataset.element_spec == (tf.TensorSpec([], tf.int64), tf.TensorSpec([2, 3], tf.float32))
    called = tf.data.Dataset.range(2).map(lambda n: tf.py_function(lambda x: (x, [x, x]), [n], [tf.int64, tf.int64]))
    assert [(int(a), b.numpy().tolist()) for a, b in called] == [(0, [0, 0]), (1, [1, 1])]


def test_specs_of_values():
    assert tf.type_spec_from_value(RAGGED) == tf.RaggedTensorSpec([5, None], tf.int32, 1)
    assert tf.type_spec_from_value(SPARSE) == tf.SparseTensorSpec([3, 2], tf.float32)
    assert tf.type_spec_from_value([1.0, 2.0]) == tf.TensorSpec([2], tf.float32)
    assert tf.type_spec_from_value(tf.data.Dataset.range(2)) == tf.data.DatasetSpec(tf.TensorSpec([], tf.int64))
