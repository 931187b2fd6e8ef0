"""tf.data.experimental: names from before they moved into Dataset."""
from .. import nest
from .._optional import Optional  # noqa: F401
from .._dataset_options import (  # noqa: F401
    AutoShardPolicy,
    AutotuneAlgorithm,
    AutotuneOptions,
    DistributeOptions,
    ExternalStatePolicy,
    OptimizationOptions,
    ThreadingOptions,
)
from .._dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset  # noqa: F401
from .._readers import CsvDataset, make_csv_dataset  # noqa: F401


def cardinality(dataset):
    """The number of elements; -1: infinite, -2: unknown."""
    return dataset.cardinality()


def assert_cardinality(expected_cardinality):
    """For apply(): the dataset is known to have, and must have, this many elements."""
    return lambda dataset: dataset._next(dataset._handle.assert_cardinality(int(expected_cardinality)))


def prefetch_to_device(device, buffer_size=None):
    """For apply(): prefetches, and starts the copies to the device early."""
    size = 2 if buffer_size in (None, AUTOTUNE) else int(buffer_size)
    return lambda dataset: dataset._next(dataset._handle.prefetch_to_device(str(device), size))


copy_to_device = prefetch_to_device


def ignore_errors(log_warning=False):
    """Dataset.ignore_errors, to be applied."""
    return lambda dataset: dataset.ignore_errors(log_warning)


def unbatch():
    """Dataset.unbatch, to be applied."""
    return lambda dataset: dataset.unbatch()


def unique():
    """Dataset.unique, to be applied."""
    return lambda dataset: dataset.unique()


def scan(initial_state, scan_func):
    """Dataset.scan, to be applied."""
    return lambda dataset: dataset.scan(initial_state, scan_func)


def take_while(predicate):
    """Dataset.take_while, to be applied."""
    return lambda dataset: dataset.take_while(predicate)


def enumerate_dataset(start=0):
    """Dataset.enumerate, to be applied."""
    return lambda dataset: dataset.enumerate(start)


def group_by_window(key_func, reduce_func, window_size=None, window_size_func=None):
    """Dataset.group_by_window, to be applied."""
    return lambda dataset: dataset.group_by_window(key_func, reduce_func, window_size, window_size_func)


def bucket_by_sequence_length(element_length_func, bucket_boundaries, bucket_batch_sizes, **options):
    """Dataset.bucket_by_sequence_length, to be applied."""
    return lambda dataset: dataset.bucket_by_sequence_length(
        element_length_func, bucket_boundaries, bucket_batch_sizes, **options
    )


def dense_to_ragged_batch(batch_size, drop_remainder=False, row_splits_dtype="int64"):
    """Dataset.ragged_batch, to be applied."""
    return lambda dataset: dataset.ragged_batch(batch_size, drop_remainder, row_splits_dtype)


def dense_to_sparse_batch(batch_size, row_shape):
    """Dataset.sparse_batch, to be applied."""
    return lambda dataset: dataset.sparse_batch(batch_size, row_shape)


def snapshot(path, compression="AUTO", reader_func=None, shard_func=None):
    """Dataset.snapshot, to be applied."""
    return lambda dataset: dataset.snapshot(path, compression, reader_func, shard_func)


def rejection_resample(class_func, target_dist, initial_dist=None, seed=None):
    """Dataset.rejection_resample, to be applied."""
    return lambda dataset: dataset.rejection_resample(class_func, target_dist, initial_dist, seed)


def parallel_interleave(map_func, cycle_length, block_length=1, sloppy=False, buffer_output_elements=None, prefetch_input_elements=None):
    """Dataset.interleave by several threads, to be applied."""
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length, num_parallel_calls=AUTOTUNE)


def parse_example_dataset(features, num_parallel_calls=1, deterministic=None):
    """tf.io.parse_example of each batch of records, to be applied."""
    from ..io import parse_example

    return lambda dataset: dataset.map(lambda records: parse_example(records, features), num_parallel_calls)


def from_list(elements, name=None):
    """A dataset of the elements of a list."""
    elements = list(elements)
    if not elements:
        raise ValueError("Invalid `elements`. `elements` should not be empty. If you want an empty dataset, use `tf.data.Dataset.range(0)`.")
    return Dataset.from_tensor_slices(nest.map_structure(lambda *parts: list(parts), *elements))


def at(dataset, index):
    """The element of a number."""
    for element in dataset.skip(int(index)).take(1):
        return element
    from ..errors import OutOfRangeError

    raise OutOfRangeError(f"at: the dataset has no element {int(index)}")


def get_next_as_optional(iterator):
    """The next element, or an Optional without a value at the end."""
    return iterator.get_next_as_optional()


class TFRecordWriter:
    """Writes the strings of a dataset to a TFRecord file."""

    def __init__(self, filename, compression_type=None):
        self._filename, self._compression = filename, compression_type

    def write(self, dataset):
        from ..io import TFRecordWriter as Writer

        if dataset.element_spec.dtype.name != "string" or dataset.element_spec.shape.rank != 0:
            raise TypeError(f"TFRecordWriter: a dataset of single strings is needed, got elements {dataset.element_spec!r}; map(tf.io.serialize_tensor) makes them")
        with Writer(self._filename, self._compression) as writer:
            for record in dataset:
                writer.write(record)


def get_structure(dataset_or_iterator):
    """The spec of the elements."""
    return dataset_or_iterator.element_spec


def shuffle_and_repeat(buffer_size, count=None, seed=None):
    """Dataset.shuffle, then repeat, to be applied."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def map_and_batch(map_func, batch_size, num_parallel_batches=None, drop_remainder=False, num_parallel_calls=None):
    """Dataset.map, then batch, to be applied."""
    return lambda dataset: dataset.map(map_func, num_parallel_calls).batch(batch_size, drop_remainder)


sample_from_datasets = Dataset.sample_from_datasets
choose_from_datasets = Dataset.choose_from_datasets


def get_single_element(dataset):
    """The only element of a dataset."""
    return dataset.get_single_element()


def save(dataset, path, compression=None, shard_func=None):
    """Dataset.save."""
    dataset.save(path)


def load(path, element_spec=None, compression=None, reader_func=None):
    """Dataset.load."""
    return Dataset.load(path)


def Counter(start=0, step=1, dtype="int64"):  # noqa: N802  TensorFlow's name
    """Numbers without end."""
    end = 2**62 if step > 0 else -(2**62)
    numbers = Dataset.range(start, end, step, output_type=dtype)
    return numbers._next(numbers._handle.assert_cardinality(INFINITE_CARDINALITY))
