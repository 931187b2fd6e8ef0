"""tf.data: datasets in Python."""
import gc
import threading
import time

import numpy as np
import pytest

import tandemflow as tf
from test_config import run as in_process


def values(dataset):
    return [element.numpy().tolist() for element in dataset]


def test_slices_of_arrays_tuples_and_dicts():
    x, y = np.arange(6, dtype=np.float32).reshape(3, 2), np.array([7, 8, 9])
    assert values(tf.data.Dataset.from_tensor_slices([1, 2, 3])) == [1, 2, 3]
    pairs = list(tf.data.Dataset.from_tensor_slices((x, y)))
    assert pairs[1][0].numpy().tolist() == [2, 3] and pairs[1][1].numpy() == 8
    named = list(tf.data.Dataset.from_tensor_slices({"x": x, "more": (y, y)}))
    assert list(named[0]) == ["x", "more"] and named[2]["more"][1].numpy() == 9


def test_element_specs_are_tensor_specs():
    dataset = tf.data.Dataset.from_tensor_slices({"x": np.zeros((5, 3), np.float32), "y": np.zeros(5, np.int64)}).batch(2)
    assert dataset.element_spec == {"x": tf.TensorSpec([None, 3], tf.float32), "y": tf.TensorSpec([None], tf.int64)}
    assert repr(dataset.element_spec["y"]) == "TensorSpec(shape=(None,), dtype=tf.int64, name=None)"
    assert len(dataset) == 3 and dataset.cardinality().numpy() == 3


def test_a_lambda_of_ops_is_called_once_and_gives_what_it_gives_element_by_element():
    calls = []

    def scaled(x, y):
        calls.append(x)
        return (x - 0.5) * 2, tf.one_hot(y, 3)

    x, y = np.random.rand(1000, 4).astype(np.float32), np.random.randint(0, 3, 1000).astype(np.int32)
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).map(scaled)
    batches = list(dataset.batch(64))
    assert len(calls) == 1
    np.testing.assert_array_equal(np.concatenate([b[0].numpy() for b in batches]), (x - np.float32(0.5)) * 2)
    np.testing.assert_array_equal(np.concatenate([b[1].numpy() for b in batches]), np.eye(3, dtype=np.float32)[y])
    assert [tuple(e[0].shape) for e in dataset.take(2)] == [(4,), (4,)]


def test_functions_that_read_values_are_called_for_each_element():
    dataset = tf.data.Dataset.range(6)
    assert values(dataset.map(lambda x: x * 10 if int(x) % 2 else x)) == [0, 10, 2, 30, 4, 50]
    assert values(dataset.map(lambda x: x.numpy() + 1)) == [1, 2, 3, 4, 5, 6]
    assert values(dataset.filter(lambda x: x > 3)) == [4, 5]
    assert values(dataset.filter(lambda x: int(x) % 3 == 0)) == [0, 3]


def test_functions_of_other_ops_are_replayed_without_python():
    calls = []

    def total(x):
        calls.append(1)
        return tf.reduce_sum(tf.reshape(x, [2, 2]), axis=0)

    dataset = tf.data.Dataset.from_tensor_slices(np.arange(40, dtype=np.float32).reshape(10, 4)).map(total)
    assert values(dataset)[1] == [10, 12]
    assert len(calls) == 1


@pytest.mark.parametrize("calls", [None, 1, 3, tf.data.AUTOTUNE])
def test_random_numbers_depend_on_the_seed_and_not_on_the_threads(calls):
    def draw(calls):
        tf.random.set_seed(3)
        return values(tf.data.Dataset.range(50).map(lambda x: tf.random.uniform([2]), num_parallel_calls=calls))

    first = draw(None)
    assert draw(calls) == first
    assert first[0] != first[1]


def test_generators_are_checked_and_may_fail():
    def count(n):
        yield from range(n)

    dataset = tf.data.Dataset.from_generator(count, args=(4,), output_signature=tf.TensorSpec([], tf.int32))
    assert values(dataset) == values(dataset) == [0, 1, 2, 3]
    old = tf.data.Dataset.from_generator(lambda: iter([(1, [2.0, 3.0])]), (tf.int64, tf.float32), ([], [None]))
    assert next(iter(old))[1].numpy().tolist() == [2, 3]

    def broken():
        yield 1
        raise RuntimeError("the disk is gone")

    failing = tf.data.Dataset.from_generator(broken, output_signature=tf.TensorSpec([], tf.int32)).prefetch(2)
    with pytest.raises(RuntimeError, match="the disk is gone"):
        values(failing)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"expected int32 \[\]"):
        wrong = lambda: iter([[1, 2]])  # noqa: E731
        values(tf.data.Dataset.from_generator(wrong, output_signature=tf.TensorSpec([], tf.int32)))


def test_errors_of_functions_keep_their_type_and_can_be_ignored():
    def inverse(x):
        if int(x) == 2:
            raise ZeroDivisionError("two")
        return x

    dataset = tf.data.Dataset.range(5).map(inverse, num_parallel_calls=2)
    with pytest.raises(ZeroDivisionError, match="two"):
        values(dataset)
    ignoring = dataset.ignore_errors()
    assert values(ignoring) == [0, 1, 3, 4]
    assert ignoring.stats().stages[0]["errors_skipped"] == 1


def test_shuffles_are_seeded_and_differ_from_pass_to_pass():
    dataset = tf.data.Dataset.range(20).shuffle(20, seed=4)
    first, second = values(dataset), values(dataset)
    assert sorted(first) == list(range(20)) and first != second
    assert values(tf.data.Dataset.range(20).shuffle(20, seed=4)) == first
    fixed = tf.data.Dataset.range(20).shuffle(20, seed=4, reshuffle_each_iteration=False)
    assert values(fixed) == values(fixed)
    tf.random.set_seed(9)
    a = values(tf.data.Dataset.range(20).shuffle(20))
    tf.random.set_seed(9)
    assert values(tf.data.Dataset.range(20).shuffle(20)) == a


def test_windows_and_flat_map():
    windows = tf.data.Dataset.range(7).window(3, shift=1, drop_remainder=True)
    assert values(windows.flat_map(lambda w: w.batch(3)))[-1] == [4, 5, 6]
    assert [values(w) for w in windows.take(1)] == [[0, 1, 2]]


def test_grouping_buckets_and_padding():
    even = tf.data.Dataset.range(10).group_by_window(lambda x: x % 2, lambda key, d: d.batch(5), window_size=5)
    assert values(even) == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]
    lines = tf.data.Dataset.from_generator(
        lambda: iter([[1], [1, 2, 3], [1, 2], [1, 2, 3, 4]]), output_signature=tf.TensorSpec([None], tf.int32)
    )
    assert values(lines.padded_batch(2, padding_values=-1))[0] == [[1, -1, -1], [1, 2, 3]]
    buckets = lines.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3], [2, 2])
    assert values(buckets) == [[[1, 0], [1, 2]], [[1, 2, 3, 0], [1, 2, 3, 4]]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="different shapes"):
        values(lines.batch(2))


def test_zip_concatenate_sample_choose_scan_reduce():
    a, b = tf.data.Dataset.range(3), tf.data.Dataset.range(10, 13)
    assert [(x.numpy(), y.numpy()) for x, y in tf.data.Dataset.zip((a, b))] == [(0, 10), (1, 11), (2, 12)]
    assert [e["b"].numpy() for e in tf.data.Dataset.zip({"a": a, "b": b})] == [10, 11, 12]
    assert values(a.concatenate(b)) == [0, 1, 2, 10, 11, 12]
    choices = tf.data.Dataset.from_tensor_slices(np.array([1, 0, 1], np.int64))
    assert values(tf.data.Dataset.choose_from_datasets([a, b], choices)) == [10, 0, 11]
    assert sorted(values(tf.data.Dataset.sample_from_datasets([a, b], seed=1))) == [0, 1, 2, 10, 11, 12]
    assert values(a.scan(np.int64(0), lambda s, x: (s + x, s + x))) == [0, 1, 3]
    assert a.reduce(np.int64(0), lambda s, x: s + x).numpy() == 3


def test_lengths_as_tensorflow_says_them():
    with pytest.raises(TypeError, match="The dataset is infinite."):
        len(tf.data.Dataset.range(3).repeat())
    with pytest.raises(TypeError, match="The dataset length is unknown."):
        len(tf.data.Dataset.range(3).filter(lambda x: x > 1))


def test_caches_and_files(tmp_path):
    calls = []
    dataset = tf.data.Dataset.range(5).map(lambda x: calls.append(1) or int(x)).cache(tmp_path / "kept")
    assert values(dataset) == values(dataset) == [0, 1, 2, 3, 4]
    once = len(calls)
    assert values(dataset) == [0, 1, 2, 3, 4] and len(calls) == once
    tf.data.Dataset.from_tensor_slices({"s": ["a", "b"], "n": [1, 2]}).save(tmp_path / "saved")
    assert [e["s"].numpy() for e in tf.data.Dataset.load(tmp_path / "saved")] == [b"a", b"b"]


def test_leaving_a_loop_stops_the_workers():
    def slow(x):
        time.sleep(0.001)
        return int(x)

    before = threading.active_count()
    for _ in range(5):
        for element in tf.data.Dataset.range(10**9).map(slow, num_parallel_calls=3).prefetch(4):
            assert element.numpy() == 0
            break
    gc.collect()
    assert threading.active_count() == before


def test_stats_name_the_bottleneck():
    def slow(x):
        time.sleep(0.0005)
        return int(x)

    dataset = tf.data.Dataset.range(200).map(slow).batch(10).prefetch(tf.data.AUTOTUNE)
    assert dataset.stats() is None
    values(dataset)
    stats = dataset.stats()
    assert stats.bottleneck == "Map" and "num_parallel_calls" in stats.remedy
    assert [stage["name"] for stage in stats.stages] == ["Prefetch", "Batch", "Map", "Range"]
    assert "elements/s" in repr(stats)


def test_options_and_experimental_names():
    options = tf.data.Options()
    options.autotune.ram_budget = 1 << 20
    options.threading.private_threadpool_size = 2
    options.deterministic = False
    dataset = tf.data.Dataset.range(3).with_options(options)
    assert values(dataset.prefetch(2)) == [0, 1, 2]
    assert dataset.options().autotune.ram_budget == 1 << 20
    sized = tf.data.Dataset.range(4).filter(lambda x: x < 3).apply(tf.data.experimental.assert_cardinality(3))
    assert len(sized) == 3 and values(sized) == [0, 1, 2]
    assert tf.data.experimental.cardinality(tf.data.Dataset.range(3).repeat()).numpy() == tf.data.INFINITE_CARDINALITY


def test_numpy_iterators_and_single_elements():
    dataset = tf.data.Dataset.from_tensor_slices({"a": [1, 2]})
    assert list(dataset.as_numpy_iterator()) == [{"a": 1}, {"a": 2}]
    assert dataset.batch(2).get_single_element()["a"].numpy().tolist() == [1, 2]
    iterator = iter(dataset)
    iterator.get_next(), iterator.get_next()
    with pytest.raises(tf.errors.OutOfRangeError):
        iterator.get_next()


def test_list_files(tmp_path):
    for name in ("b.txt", "a.txt", "c.csv"):
        (tmp_path / name).write_text("x")
    found = [f.numpy().decode() for f in tf.data.Dataset.list_files(str(tmp_path / "*.txt"), shuffle=False)]
    assert [f.rsplit("/", 1)[1] for f in found] == ["a.txt", "b.txt"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="No files matched"):
        tf.data.Dataset.list_files(str(tmp_path / "*.png"))


def test_rows_of_mapped_arrays(tmp_path):
    x, y = np.arange(60, dtype=np.float32).reshape(20, 3), np.arange(20, dtype=np.uint16)
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "both.npz", x=x, y=y)
    np.savez_compressed(tmp_path / "packed.npz", x=x, y=y)
    rows = tf.data.NpyDataset(tmp_path / "x.npy")
    assert len(rows) == 20 and rows.element_spec == tf.TensorSpec((3,), tf.float32)
    np.testing.assert_array_equal(next(rows.skip(5).batch(4).as_numpy_iterator()), x[5:9])
    for name in ("both.npz", "packed.npz"):
        batch = next(iter(tf.data.NpzDataset(tmp_path / name).batch(20)))
        np.testing.assert_array_equal(batch["x"], x)
        pair = next(iter(tf.data.NpzDataset(tmp_path / name, ["y", "x"]).shuffle(20, seed=1).batch(20)))
        assert pair[0].dtype == tf.uint16
        np.testing.assert_array_equal(x[pair[0].numpy()], pair[1])
    with pytest.raises(ValueError, match="has no array 'z'; it has x, y"):
        tf.data.NpzDataset(tmp_path / "both.npz", ["z"])


def test_arrays_that_cannot_be_mapped_are_loaded(tmp_path):
    for array in (np.asfortranarray(np.arange(12.0).reshape(4, 3)), np.arange(4, dtype=">i4"), np.array([True, False]), np.array(["a", "bc"])):
        np.save(tmp_path / "a.npy", array)
        rows = next(tf.data.NpyDataset(tmp_path / "a.npy").batch(9).as_numpy_iterator())
        np.testing.assert_array_equal(rows, array if array.dtype.kind != "U" else array.astype("S"))


def test_parallel_interleave_gives_the_order_of_the_serial_one():
    def build(calls):
        numbers = tf.data.Dataset.range(6)
        return numbers.interleave(lambda i: tf.data.Dataset.range(10 * int(i), 10 * int(i) + int(i)), 3, 2, num_parallel_calls=calls)

    expected = [int(x) for x in build(None)]
    for calls in (1, 4, tf.data.AUTOTUNE):
        assert [int(x) for x in build(calls)] == expected


def test_elements_arrive_on_the_device_they_were_sent_to():
    code = """
    import numpy as np
    data = tf.data.Dataset.from_tensor_slices((np.ones([64, 100], "float32"), np.arange(64))).batch(16)
    before = tf.config.experimental.get_transfer_stats()["h2d"]["bytes"]
    for x, y in data.apply(tf.data.experimental.prefetch_to_device("/GPU:0")):
        print(x.device, y.device, float(tf.reduce_sum(x)), int(tf.reduce_sum(y)))
        with tf.device("/GPU:0"):
            z = x + 1
        print(z.device)
    print(tf.config.experimental.get_transfer_stats()["h2d"]["bytes"] - before >= 64 * (400 + 8))
    """
    lines = in_process(code, TANDEM_OPENCL_CPU_AS_GPU="1")
    gpu = "/job:localhost/replica:0/task:0/device:GPU:0"
    sums = [sum(range(i, i + 16)) for i in range(0, 64, 16)]
    assert lines == [line for total in sums for line in (f"{gpu} {gpu} 1600.0 {total}", gpu)] + ["True"]


def test_datasets_print_as_tensorflow_prints_them():
    spec = "element_spec=TensorSpec(shape=(), dtype=tf.int64, name=None)>"
    numbers = tf.data.Dataset.range(3)
    for dataset, kind in [(numbers, "_RangeDataset"), (numbers.map(lambda x: x), "_MapDataset"), (numbers.map(lambda x: x, tf.data.AUTOTUNE), "_ParallelMapDataset"),
                          (numbers.shuffle(2), "_ShuffleDataset"), (numbers.repeat(), "_RepeatDataset"), (numbers.prefetch(1), "_PrefetchDataset"),
                          (numbers.cache(), "CacheDataset"), (tf.data.Dataset.zip(numbers), "_ZipDataset")]:  # fmt: skip
        assert repr(dataset) == f"<{kind} {spec}"
    assert repr(tf.data.Dataset.from_tensor_slices([1, 2]).batch(2, drop_remainder=True)) == "<_BatchDataset element_spec=TensorSpec(shape=(2,), dtype=tf.int32, name=None)>"


def test_records_of_fixed_length_are_read_between_header_and_footer(tmp_path):
    path = tmp_path / "records"
    path.write_bytes(b"H" + bytes(range(6)) + b"FF")
    dataset = tf.data.FixedLengthRecordDataset([path, path], 2, header_bytes=1, footer_bytes=2)
    assert list(dataset.as_numpy_iterator()) == [b"\x00\x01", b"\x02\x03", b"\x04\x05"] * 2
    with pytest.raises(ValueError, match="8 bytes after header and before footer are no multiple of 3"):
        list(tf.data.FixedLengthRecordDataset(path, 3, header_bytes=1))


def test_a_number_is_the_padded_shape_of_vectors():
    dataset = tf.data.Dataset.range(1, 4).map(lambda x: tf.fill([x], x)).padded_batch(3, padded_shapes=4, padding_values=tf.constant(-1, tf.int64))
    assert next(iter(dataset)).numpy().tolist() == [[1, -1, -1, -1], [2, 2, -1, -1], [3, 3, 3, -1]]


def test_options_have_only_the_names_that_they_have():
    options = tf.data.Options()
    options.deterministic, options.threading.private_threadpool_size = False, 2
    with pytest.raises(AttributeError, match="Cannot set the property nonsense"):
        options.nonsense = 1
    with pytest.raises(ValueError, match="must be a callable"):
        tf.data.Dataset.range(3).map(1)
