"""Names that guides and answers use: values as TensorFlow gives them."""
import numpy as np
import pytest
import tandemflow as tf


def test_kinds_of_errors_have_the_names_that_programs_print():
    def name_of(function):
        with pytest.raises(Exception) as caught:
            function()
        return caught.type.__name__

    x = tf.constant([1, 2, 3])
    assert name_of(lambda: x + 1.5) == "TypeError" and name_of(lambda: x + tf.constant([1.0])) == "InvalidArgumentError"
    assert name_of(lambda: tf.constant([[1], [2, 3]])) == name_of(lambda: tf.constant(None)) == "ValueError"
    assert name_of(lambda: tf.Variable([1.0]).assign([1.0, 2.0])) == "ValueError" and name_of(lambda: x[7]) == "InvalidArgumentError"
    assert name_of(lambda: tf.function(lambda a: tf.matmul(a, tf.ones([3, 3])))(tf.ones([2, 2]))) == "ValueError"
    assert name_of(lambda: tf.matmul(tf.ones([2, 2]), tf.ones([3, 3]))) == "InvalidArgumentError"
    assert name_of(lambda: tf.function(lambda a: a, input_signature=[tf.TensorSpec([None])])(x)) == "TypeError"
    leaked = []
    tf.function(lambda a: leaked.append(a + 1))(x)
    assert name_of(lambda: tf.function(lambda b: b + leaked[0])(x)) == "TypeError"


def test_eager_assertions_show_what_they_compared():
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.debugging.assert_equal([1, 2], [1, 3], message="Arrays differ")
    assert str(caught.value) == (
        "Arrays differ\nCondition x == y did not hold.\nIndices of first 1 different values:\n[[1]]\nCorresponding x values:\n[2]\n"
        "Corresponding y values:\n[3]\nFirst 2 elements of x:\n[1 2]\nFirst 2 elements of y:\n[1 3]"
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="Condition x > 0 did not hold element-wise:\nx \\(shape=\\(\\) dtype=int32\\) = \n0"):
        tf.debugging.assert_positive(0)


def test_factors_of_matrices():
    a = np.array([[1.0, 2.0, 4.0], [3.0, 8.0, 14.0], [2.0, 6.0, 13.0]])
    lu, p = tf.linalg.lu(a)
    assert p.numpy().tolist() == [1, 2, 0]
    np.testing.assert_allclose(tf.linalg.lu_reconstruct(lu, p).numpy(), a)
    np.testing.assert_allclose(tf.linalg.lu_solve(lu, p, np.eye(3)).numpy(), np.linalg.inv(a), atol=1e-9)
    values, vectors = tf.linalg.eig(a)
    np.testing.assert_allclose(a @ vectors.numpy(), vectors.numpy() * values.numpy(), atol=1e-9)
    bands = tf.constant([[1.0, 1.0, 0.0], [2.0, 2.0, 2.0], [0.0, 1.0, 1.0]])
    np.testing.assert_allclose(tf.linalg.tridiagonal_solve(bands, [1.0, 2.0, 3.0]).numpy(), [0.5, 0.0, 1.5], atol=1e-6)


def test_windows_and_the_transform_of_overlapping_frames():
    np.testing.assert_allclose(tf.signal.kaiser_window(4).numpy(), [5.277e-05, 0.5190, 0.5190, 5.277e-05], rtol=1e-3)
    x = np.sin(np.arange(32, dtype=np.float32))
    back = tf.signal.inverse_mdct(tf.signal.mdct(x, 8), norm=None).numpy()
    np.testing.assert_allclose(back[4:-4], x[4:-4], atol=1e-5)


def test_sparse_counts_and_rows_of_tables():
    counts = tf.sparse.bincount([1, 1, 3])
    assert counts.indices.numpy().tolist() == [[1], [3]] and counts.values.numpy().tolist() == [2, 1] and counts.shape == (4,)
    ids = tf.sparse.SparseTensor([[0, 0], [0, 1], [1, 0]], np.array([1, 2, 3]), [2, 2])
    table = tf.reshape(tf.range(10.0), [5, 2])
    assert tf.nn.embedding_lookup_sparse(table, ids, None, combiner="sum").numpy().tolist() == [[6.0, 8.0], [6.0, 7.0]]
    assert tf.nn.embedding_lookup_sparse(table, ids, None).numpy().tolist() == [[3.0, 4.0], [6.0, 7.0]]
    assert tf.sparse.segment_sum(table, [0, 1, 4], [0, 0, 1]).numpy().tolist() == [[2.0, 4.0], [8.0, 9.0]]


def test_numbers_as_quantised_models_see_them():
    x = tf.Variable([0.1, 5.0, -7.0])
    with tf.GradientTape() as tape:
        y = tf.quantization.fake_quant_with_min_max_args(x, -6, 6)
    np.testing.assert_allclose(y.numpy(), [0.09411764, 4.9882355, -6.0235295], rtol=1e-5)
    assert tape.gradient(y, x).numpy().tolist() == [1.0, 1.0, 0.0]


def test_boxes_of_several_classes():
    boxes = tf.reshape(tf.constant([[0, 0, 1, 1], [0, 0, 0.9, 0.9], [2, 2, 3, 3.0]]), [1, 3, 1, 4])
    found = tf.image.combined_non_max_suppression(boxes, tf.reshape(tf.constant([0.9, 0.8, 0.7]), [1, 3, 1]), 2, 3, 0.5, 0.1)
    assert found.valid_detections.numpy().tolist() == [2]
    np.testing.assert_allclose(found.nmsed_scores.numpy(), [[0.9, 0.7, 0.0]])


def test_pictures_as_jpeg_leaves_them():
    image = tf.cast(tf.reshape(tf.range(4 * 6 * 3) * 3 % 256, [4, 6, 3]), tf.uint8)
    assert tf.io.extract_jpeg_shape(tf.io.encode_jpeg(image)).numpy().tolist() == [4, 6, 3]
    assert tf.image.adjust_jpeg_quality(image, 75).dtype == tf.uint8 and tf.image.random_jpeg_quality(image, 75, 95).shape == (4, 6, 3)
    header = b"BM" + (54 + 8).to_bytes(4, "little") + bytes(4) + (54).to_bytes(4, "little") + (40).to_bytes(4, "little")
    bmp = header + (1).to_bytes(4, "little") + (2).to_bytes(4, "little") + (1).to_bytes(2, "little") + (24).to_bytes(2, "little") + bytes(24) + bytes([3, 2, 1, 0, 6, 5, 4, 0])
    assert tf.image.decode_bmp(bmp).numpy().tolist() == [[[4, 5, 6]], [[1, 2, 3]]]


def test_threads_stop_together():
    import threading

    coordinator, seen = tf.train.Coordinator(), []

    def work():
        with coordinator.stop_on_exception():
            while not coordinator.should_stop():
                seen.append(1)
                if len(seen) > 3:
                    raise ValueError("enough")

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    with pytest.raises(ValueError, match="enough"):
        coordinator.join(threads)


def test_graphs_and_events_of_summaries(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path))
    tf.summary.trace_on(graph=True)
    tf.function(lambda x: tf.nn.relu(x) * 2)(tf.ones([2]))
    with writer.as_default():
        tf.summary.trace_export("my", step=0)
        tf.summary.scalar("loss", 0.5, step=3)
        tf.summary.audio("sound", tf.zeros([1, 10, 1]), 8000, step=3)
    from tandemflow._graph_def.messages import Graph

    events = list(tf.compat.v1.train.summary_iterator(writer.path))
    assert [node.op for event in events if event.graph_def for node in Graph.parse(event.graph_def).node][:2] == ["Placeholder", "Relu"]
    values = [(event.step, value.tag) for event in events for value in event.summary.value]
    assert values == [(3, "loss"), (3, "sound")] and tf.make_ndarray(events[2].summary.value[0].tensor) == 0.5


def test_ragged_texts_in_look_up_layers():
    lookup = tf.keras.layers.StringLookup(vocabulary=["a", "b"], mask_token=None)
    letters = tf.strings.unicode_split(tf.constant(["ab", "a"]), "UTF-8")
    assert lookup(letters).to_list() == [[1, 2], [1]]
    words = tf.keras.layers.TextVectorization(ragged=True, vocabulary=["one", "two"])
    assert words(["one two", "two"]).to_list() == [[2, 3], [3]]
    assert repr(tf.ragged.constant([[1, 2], [3, 4]])) == "<tf.RaggedTensor [[1, 2],\n [3, 4]]>"
    assert tf.gather_nd(tf.ragged.constant([[3, 1], [5]]), [[0, 1], [1, 0]]).numpy().tolist() == [1, 5]


def test_an_array_that_grows_while_a_loop_reads_it():
    @tf.function
    def generate(count):
        found = tf.TensorArray(tf.int64, size=0, dynamic_size=True).write(0, tf.constant([2], tf.int64))
        for i in tf.range(4):
            new = tf.reduce_sum(found.stack(), 0) % 7
            found = found.write(i + 1, new)
            if new[0] == 1:
                break
        return found.stack()

    assert generate(tf.constant(1)).numpy().ravel().tolist() == [2, 2, 4, 1]


def test_skipgrams_are_all_neighbours():
    pairs, labels = tf.keras.preprocessing.sequence.skipgrams([1, 2, 3], vocabulary_size=4, window_size=1, negative_samples=0)
    assert sorted(pairs) == [[1, 2], [2, 1], [2, 3], [3, 2]] and labels == [1] * 4
    assert tf.keras.preprocessing.sequence.make_sampling_table(3)[0] == pytest.approx(0.00315225, rel=1e-4)


def test_functions_of_keras_2s_backend():
    backend = tf.keras.backend
    x, y = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[0.1, 0.9], [0.3, 0.6]])
    assert backend.random_normal(shape=(tf.shape(x)[0], 3), mean=0.0, stddev=1.0).shape == (2, 3)
    assert backend.batch_dot(x, x).numpy().tolist() == [[5.0], [25.0]] and backend.batch_dot(tf.ones([2, 3, 4]), tf.ones([2, 4, 5])).shape == (2, 3, 5)
    np.testing.assert_allclose(backend.binary_crossentropy(y, y).numpy()[0], [0.32508, 0.32508], rtol=1e-4)
    variable = backend.zeros((2,))
    backend.update_add(variable, [1.0, 2.0])
    assert backend.get_value(variable).tolist() == [1.0, 2.0] and backend.dot(tf.ones([2, 3, 4]), tf.ones([4, 5])).shape == (2, 3, 5)
