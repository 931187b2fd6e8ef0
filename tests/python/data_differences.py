"""Expressions of data_cases.py and file_cases.py that are not answered as TensorFlow answers them, by reason."""

DIFFERENCES = {
    "Of the dense shape of sparse tensors only the rank is known beforehand, if that.": r'''
D.from_tensors(tf.sparse.from_dense([[1, 0], [0, 2]]))
D.from_tensor_slices(tf.sparse.from_dense([[1, 0], [0, 2]]))
D.from_tensor_slices({"s": tf.sparse.from_dense([[1, 0], [0, 2]]), "n": [1, 2]})
D.from_generator(lambda: [tf.sparse.from_dense([[1, 0]])], output_signature=tf.SparseTensorSpec([1, 2], tf.int32))
D.from_tensors(tf.sparse.from_dense([[1, 0], [0, 2]])).unbatch()
D.from_tensor_slices(tf.sparse.from_dense([[1, 0], [0, 2], [3, 3]])).batch(2)
growing(3).apply(X.dense_to_sparse_batch(2, [4]))
growing(3).sparse_batch(2, [4])
D.from_tensor_slices(tf.sparse.from_dense([[1, 0], [0, 2], [3, 3]])).bucket_by_sequence_length(lambda x: 1, [3], [2, 2], no_padding=True)
D.range(4).map(lambda x: tf.sparse.from_dense(tf.stack([x, 0])))
D.from_tensor_slices(tf.sparse.from_dense([[1, 0], [0, 2]])).map(tf.sparse.to_dense)
saved(D.from_tensor_slices(tf.sparse.from_dense([[1, 0], [0, 2]])), folder + "/s7")
D.from_tensors(tf.sparse.from_dense([[1, 0], [0, 2]])).element_spec
D.from_tensor_slices(tf.sparse.from_dense([[1, 0], [0, 2]])).batch(2).element_spec
tf.data.TFRecordDataset(records("a.tfrecord", example(n=3), example(n=4))).map(lambda r: tf.io.parse_single_example(r, {"n": tf.io.VarLenFeature(tf.int64)}))
tf.data.TFRecordDataset(records("a.tfrecord", example(n=3), example(n=[4, 5]))).batch(2).map(lambda r: tf.io.parse_example(r, {"n": tf.io.VarLenFeature(tf.int64)}))
tf.data.TFRecordDataset(records("a.tfrecord", example(n=3), example(n=[4, 5]))).map(lambda r: tf.io.parse_single_example(r, {"n": tf.io.VarLenFeature(tf.int64)})).batch(2)
''',
    "What a generator raises keeps its class; TensorFlow says InvalidArgumentError with its text.": r'''
D.from_generator(lambda: [[[1, 2], [3]]], output_signature=tf.RaggedTensorSpec([None, None], tf.int32))
D.from_generator(throwing, output_signature=S((), tf.int32))
D.from_generator(throwing_late, output_signature=S((), tf.int32))
D.from_generator(lambda: 5, output_signature=S((), tf.int32))
''',
    "A fraction is no int32, and a list may stand for a tuple.": r'''
D.from_generator(lambda: [1.5], output_signature=S((), tf.int32))
D.from_generator(lambda: [[1, 2]], (tf.int32, tf.int64))
''',
    "Functions that Python runs are known by what they gave, not by a trace.": r'''
D.range(4).map(lambda x: tf.ragged.range(tf.stack([x, 2])))
D.range(4).map(lambda x: tf.py_function(lambda v: v.numpy() * 2, [x], tf.int64))
D.range(4).map(lambda x: tf.py_function(lambda v: (v, v * 2), [x], (tf.int64, tf.int64)))
D.range(4).map(lambda x: tf.numpy_function(lambda v: v * 2, [x], tf.int64))
D.range(3).map(lambda x: tf.shape(tf.fill([x], 1)))
D.range(3).map(str)
D.from_tensors(tf.ragged.constant([[1, 2], [3]])).map(lambda r: r.to_tensor())
D.from_tensors(tf.ragged.constant([[1, 2], [3]])).map(lambda r: r * 2)
D.range(3).map(lambda x: tf.reshape(tf.range(x), [-1, 1])).element_spec
D.range(3).map(lambda x: tf.ones([x, 2])).element_spec
D.range(3).map(lambda x: tf.py_function(lambda v: v, [x], tf.int64)).element_spec
tf.data.TFRecordDataset(records("a.tfrecord", example(x=tf.io.serialize_tensor(tf.constant([[1, 2]])).numpy()))).map(lambda r: tf.io.parse_tensor(tf.io.parse_single_example(r, {"x": tf.io.FixedLenFeature([], tf.string)})["x"], tf.int32))
D.from_tensor_slices([1, 2]).map(lambda x: tf.io.serialize_tensor(x)).map(lambda s: tf.io.parse_tensor(s, tf.int32))
D.from_tensor_slices([b"\x01\x02"]).map(lambda r: tf.reshape(tf.io.decode_raw(r, tf.uint8), [2]))
D.from_tensor_slices([wrote("a.png", tf.io.encode_png(np.full([2, 2, 3], 7, np.uint8)).numpy())]).map(tf.io.read_file).map(lambda b: tf.io.decode_png(b, channels=1))
D.from_tensor_slices([wrote("a.jpg", tf.io.encode_jpeg(np.full([8, 8, 3], 7, np.uint8)).numpy())]).map(tf.io.read_file).map(lambda b: tf.io.decode_jpeg(b, channels=3))
D.from_tensor_slices([wrote("a.png", tf.io.encode_png(np.full([2, 2, 3], 7, np.uint8)).numpy())]).map(tf.io.read_file).map(lambda b: tf.image.resize(tf.io.decode_image(b, channels=3, expand_animations=False), [4, 4]))
D.from_tensor_slices(["a b c", "b"]).batch(2).map(K.layers.TextVectorization(vocabulary=["a", "b"], output_sequence_length=3))
D.from_tensor_slices(np.full([1, 4, 4, 3], 0.5, np.float32)).map(lambda x: tf.image.random_flip_left_right(x, seed=1))
D.from_tensor_slices(np.full([1, 4, 4, 3], 0.5, np.float32)).map(lambda x: tf.image.random_crop(x, [2, 2, 3]))
''',
    "TensorFlow's class for this mistake is FailedPreconditionError or DataLossError.": r'''
D.range(10).shard(-1, 0)
D.range(5).filter(lambda x: x > 2).apply(X.assert_cardinality(3))
D.range(5).filter(lambda x: x > 2).apply(X.assert_cardinality(1))
D.range(5).apply(X.assert_cardinality(tf.data.INFINITE_CARDINALITY))
D.range(5).apply(X.assert_cardinality(tf.data.UNKNOWN_CARDINALITY))
growing(4).padded_batch(2, padded_shapes=[2])
growing(3).sparse_batch(2, row_shape=[1])
''',
    "More is accepted, or known, than in TensorFlow.": r'''
D.range(5).take(-3)
D.sample_from_datasets([D.range(3), D.range(4)]).cardinality()
growing(4).padded_batch(2, [None], padding_values=-1)
D.range(7).batch(4, drop_remainder=True).rebatch(2)
D.range(7).batch(2).rebatch(0)
D.range(10).group_by_window(lambda x: tf.cast(x % 2, tf.int32), lambda k, d: d, window_size=2)
D.range(6).filter(lambda x: [x > 2])
D.from_tensor_slices(([1, 2, 1], [3, 4, 3])).unique()
D.from_tensor_slices([1.5, 1.5]).unique()
D.choose_from_datasets([D.range(3), D.range(10, 14)], D.range(2, output_type=tf.int32))
D.range(3).prefetch(1).apply(X.prefetch_to_device("/CPU:0"))
D.range(3).apply(X.copy_to_device("/CPU:0")).prefetch(1)
X.CsvDataset(wrote("a.csv", "1,2\n\n3,4\n"), [0, 0])
K.utils.timeseries_dataset_from_array(np.arange(10), None, 3)
K.utils.timeseries_dataset_from_array(np.arange(10), np.arange(10) * 10, 3)
K.utils.timeseries_dataset_from_array(np.arange(10), np.arange(10) * 10, 3, sequence_stride=2, batch_size=2)
K.utils.timeseries_dataset_from_array(np.arange(10), np.arange(10) * 10, 3, sampling_rate=2)
K.utils.timeseries_dataset_from_array(np.arange(10), None, 3, batch_size=None)
K.utils.timeseries_dataset_from_array(np.arange(10), None, 3, start_index=2, end_index=7)
K.utils.timeseries_dataset_from_array(np.arange(20.0).reshape(10, 2), np.arange(10), 4)
K.utils.timeseries_dataset_from_array(np.arange(10), None, 30)
K.utils.timeseries_dataset_from_array(np.arange(10), None, 0)
D.from_tensor_slices(np.ones([2, 4, 4, 3], np.float32)).batch(2).map(lambda x: K.layers.RandomFlip("horizontal", seed=1)(x, training=True))
D.from_tensor_slices(np.ones([2, 4, 4, 3], np.float32)).batch(2).map(lambda x: K.layers.RandomFlip()(x, training=False))
D.from_tensor_slices(tf.ragged.constant([[1, 2], [3]])).padded_batch(2)
''',
    "Specs of batches made in groups are those of the first group.": r'''
growing(6).bucket_by_sequence_length(lambda x: tf.size(x), [3, 5], [2, 2, 2], pad_to_bucket_boundary=True)
growing(6).bucket_by_sequence_length(lambda x: tf.size(x), [3, 7], [2, 2, 2], pad_to_bucket_boundary=True)
growing(6).bucket_by_sequence_length(lambda x: tf.size(x), [3, 5], [2, 2, 2], drop_remainder=True)
''',
    "Another class of error for the same mistake.": r'''
D.range(4).map(lambda x: tf.debugging.assert_less(x, tf.constant(2, tf.int64)))
D.range(4).map(lambda x: x["a"])
D.range(6).filter(lambda x: (x > 2, x > 3))
D.range(5).scan(0, lambda s, x: s)
D.range(3).flat_map(lambda x: x)
D.range(4).interleave(lambda x: x, cycle_length=2)
D.sample_from_datasets([D.range(3), D.range(10, 14)], weights=[-1.0, 2.0])
D.choose_from_datasets([D.range(3), D.range(10, 14)], D.from_tensor_slices([[0]]))
D.range(3).with_options(5)
tf.data.TFRecordDataset(records("a.tfrecord", b"one"), "BAD")
tf.train.Example(features=5)
tf.train.Feature(int64_list=tf.train.Int64List(value=[1]), float_list=tf.train.FloatList(value=[1.5])).WhichOneof("kind")
''',
    "Not there: complex numbers in datasets, tf.data's service.": r'''
D.from_tensors(1 + 2j)
tf.data.experimental.service is not None
''',
    "TensorFlow takes small numbers for dtypes.": r'''
X.CsvDataset(wrote("a.csv", "NA,2\n"), [9, 0], na_value="NA")
X.make_csv_dataset(wrote("a.csv", "n,x\n,2\n"), 1, column_defaults=[7, 0.5], num_epochs=1, shuffle=False)
''',
    "A damaged record is an error here and the rest is read; TensorFlow takes a cut file for its end, and stops at damage.": r'''
tf.data.TFRecordDataset(cut(records("a.tfrecord", b"one", b"two"), 30))
tf.data.TFRecordDataset(cut(records("a.tfrecord", b"one", b"two"), 22))
tf.data.TFRecordDataset(damaged(records("a.tfrecord", b"one", b"two"), 12, 0)).ignore_errors()
''',
    "Another order of keys.": r'''
tf.io.parse_single_example(example(n=3), {"n": tf.io.FixedLenFeature([], tf.int64), "m": tf.io.FixedLenFeature([], tf.int64, 7)})
''',
    "Nearest pixels of folders are float32, and pad_to_aspect_ratio is missing.": r'''
K.utils.image_dataset_from_directory(pictures("p"), image_size=(2, 2), interpolation="nearest", shuffle=False)
K.utils.image_dataset_from_directory(pictures("p"), image_size=(2, 2), pad_to_aspect_ratio=True, shuffle=False)
''',
    "A folder that is not there is a ValueError.": r'''
K.utils.image_dataset_from_directory(folder + "/missing")
K.utils.text_dataset_from_directory(folder + "/missing")
''',
    "One-hot codes of look-ups are float32.": r'''
D.from_tensor_slices(["a", "c", "b"]).batch(3).map(K.layers.StringLookup(vocabulary=["a", "b"], output_mode="one_hot"))
''',
    "How many rows ragged tensors have is not counted beforehand.": r'''
D.from_tensors(tf.ragged.constant([[1, 2], [3]])).unbatch()
''',
}
