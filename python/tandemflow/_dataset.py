"""tf.data.Dataset: lazy sequences of elements. The work is done in C++; see docs/input.md."""
import functools
import os

from . import _composites, _dtypes, _tandem
from . import _dataset_checks as check
from ._dataset_iterator import DatasetIterator, DatasetStats, NumpyIterator
from ._dataset_options import Options
from ._dataset_structure import flat_shapes, lists_as_arrays, named, names_of, padding, tensors_of
from ._specs import DatasetSpec, NoneTensorSpec, TensorSpec

AUTOTUNE = -1
INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2


def _seed(seed):
    return -1 if seed is None else int(seed) & 0x7FFFFFFFFFFFFFFF


class Dataset:
    """A lazy sequence of elements, with TensorFlow's names."""

    _kind = "Dataset"  # what TensorFlow calls its class, for those who print it

    def __init__(self, handle, options=None, kind=None):
        self._handle = handle
        self._kind = kind or self._kind
        self._options = options or Options()
        self._last_pass = None

    def _next(self, handle, kind=None):
        return Dataset(handle, self._options, kind)

    # --- Sources. ---

    @staticmethod
    def from_tensor_slices(tensors, name=None):
        """An element for each row: of an array, of a tuple or dict of arrays, of a data frame."""
        if tensors is None:
            raise ValueError("Invalid `element`. `element` should not be empty.")
        if type(tensors).__name__ == "DataFrame":
            return Dataset(_tandem.dataset_from_tensor_slices(tensors.to_numpy()), kind="_TensorSliceDataset")
        if any(hasattr(part, "_dataset_parts") for part in tensors_of(tensors)):
            return rows_of_composites(tensors)
        return Dataset(_tandem.dataset_from_tensor_slices(lists_as_arrays(tensors)), kind="_TensorSliceDataset")

    @staticmethod
    def from_tensors(tensors, name=None):
        """One element."""
        return Dataset(_tandem.dataset_from_tensors(lists_as_arrays(tensors)), kind="_TensorDataset")

    @staticmethod
    def from_generator(generator, output_types=None, output_shapes=None, args=None, output_signature=None, name=None):
        """The elements that generator(*args) yields; `output_signature` says what they are."""
        output_signature = check.generator_signature(generator, output_types, output_shapes, output_signature)
        arguments = tuple(_tandem.to_tensor(value).numpy() for value in args or ())
        return Dataset(_tandem.dataset_from_generator(lambda: generator(*arguments), output_signature), kind="_FlatMapDataset")

    @staticmethod
    def range(*args, output_type=_dtypes.int64, name=None):
        """Numbers, as Python's range."""
        numbers = check.limits(args)
        return Dataset(_tandem.dataset_range(numbers.start, numbers.stop, numbers.step, output_type), kind="_RangeDataset")

    @staticmethod
    def counter(start=0, step=1, dtype=_dtypes.int64, name=None):
        """start, start + step, … without end."""
        from .data.experimental import Counter

        return Counter(start, step, dtype)

    @staticmethod
    def random(seed=None, rerandomize_each_iteration=None, name=None):
        """Whole numbers below 2**32 without end; with a seed the same in every pass, unless told otherwise."""
        import numpy

        numbers = numpy.random.default_rng(seed)

        def draw():
            source = numbers if rerandomize_each_iteration or seed is None else numpy.random.default_rng(seed)
            while True:
                yield source.integers(0, 2**32)

        return Dataset.from_generator(draw, output_signature=TensorSpec([], _dtypes.int64))

    @staticmethod
    def zip(*args, datasets=None, name=None):
        """Elements of several datasets side by side, in the structure they are given in."""
        structure = check.zipped(args, datasets, Dataset)
        handle = _tandem.dataset_zip(structure)
        return Dataset(handle, functools.reduce(Options.merge, (part.options() for part in tensors_of(structure))), "_ZipDataset")

    @staticmethod
    def sample_from_datasets(datasets, weights=None, seed=None, stop_on_empty_dataset=False,
                             rerandomize_each_iteration=None):  # fmt: skip
        """Each element from one of the datasets, drawn by weight; with a seed in the same order each pass, unless told otherwise."""
        datasets = check.alternatives(datasets)
        if isinstance(weights, Dataset):
            return sampled_by(datasets, weights, seed, stop_on_empty_dataset)
        numbers = [1.0] * len(datasets) if weights is None else [float(weight) for weight in _tandem.to_tensor(weights).numpy()]
        if len(numbers) != len(datasets):
            raise ValueError(
                f"Invalid `weights`. `weights` should have the same length as `datasets` but got `len(weights)={len(numbers)}` vs. `len(datasets)={len(datasets)}`."
            )
        drawn = [(dataset, weight) for dataset, weight in zip(datasets, numbers) if weight != 0]
        if len(drawn) == 1:
            return drawn[0][0]
        handles = [dataset._handle for dataset, _ in drawn]
        return Dataset(_tandem.dataset_sample_from(handles, [w for _, w in drawn], _seed(seed), stop_on_empty_dataset, bool(rerandomize_each_iteration)))

    @staticmethod
    def choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset=True):
        """Each element from the dataset whose number `choice_dataset` gives."""
        handles = [dataset._handle for dataset in check.alternatives(datasets)]
        return Dataset(_tandem.dataset_choose_from(handles, choice_dataset._handle, stop_on_empty_dataset))

    @staticmethod
    def load(path, element_spec=None, compression=None, reader_func=None, wait=False):
        """What save() wrote."""
        return Dataset(_tandem.dataset_load(os.fspath(path)))

    @staticmethod
    def list_files(file_pattern, shuffle=None, seed=None, name=None):
        """The names of the files that match one or more patterns, shuffled unless shuffle=False."""
        from ._gfile import glob

        patterns = check.names(file_pattern)
        files = sorted(file for pattern in patterns for file in glob(pattern))  # as often as a pattern is given
        if not files:
            from .errors import InvalidArgumentError

            raise InvalidArgumentError(f"No files matched pattern: {', '.join(patterns)}")
        dataset = Dataset.from_tensor_slices(files)
        return dataset if shuffle is False else dataset.shuffle(len(files), seed=seed)

    # --- One element to one element. ---

    def map(self, map_func, num_parallel_calls=None, deterministic=None, synchronous=None, use_unbounded_threadpool=False,
            name=None):  # fmt: skip
        """map_func of each element. Made of ops only, it is recorded once and runs over whole batches."""
        return self._next(self._handle.map(check.function(map_func), check.calls(num_parallel_calls), True), "_ParallelMapDataset" if num_parallel_calls else "_MapDataset")

    def filter(self, predicate, name=None):
        """The elements for which predicate is true."""
        return self._next(self._handle.filter(check.function(predicate)), "_FilterDataset")

    def enumerate(self, start=0, name=None):
        """(number, element)."""
        return self._next(self._handle.enumerate(int(start)), "_ZipDataset")

    def scan(self, initial_state, scan_func, name=None):
        """scan_func(state, element) gives (new state, element)."""
        return self._next(self._handle.scan(initial_state, check.function(scan_func)), "_ScanDataset")

    def take_while(self, predicate, name=None):
        """The elements up to the first for which predicate is false."""
        return self._next(self._handle.take_while(check.function(predicate)), "_TakeWhileDataset")

    def ignore_errors(self, log_warning=False, name=None):
        """Leaves out elements whose making failed; stats() counts them."""
        return self._next(self._handle.ignore_errors(log_warning), "_IgnoreErrorsDataset")

    # --- Order and number. ---

    def shuffle(self, buffer_size, seed=None, reshuffle_each_iteration=None, name=None):
        """A random order by a buffer of buffer_size elements, another one each pass."""
        return self._next(self._handle.shuffle(check.whole(buffer_size, "shuffle: buffer_size"), _seed(seed), reshuffle_each_iteration is not False), "_ShuffleDataset")

    def repeat(self, count=None, name=None):
        """The dataset count times, or without end."""
        return self._next(self._handle.repeat(-1 if count is None else check.whole(count, "repeat: count")), "_RepeatDataset")

    def take(self, count, name=None):
        """The first count elements."""
        return self._next(self._handle.take(check.whole(count, "take: count")), "_TakeDataset")

    def skip(self, count, name=None):
        """All but the first count elements."""
        return self._next(self._handle.skip(check.whole(count, "skip: count")), "_SkipDataset")

    def shard(self, num_shards, index, name=None):
        """Every num_shards-th element, beginning with number index."""
        return self._next(self._handle.shard(int(num_shards), int(index)), "_ShardDataset")

    def concatenate(self, dataset, name=None):
        """This dataset, then another."""
        check.same_elements(self, dataset)
        return self._next(self._handle.concatenate(dataset._handle), "_ConcatenateDataset")

    def unique(self, name=None):
        """Each element once."""
        return self._next(self._handle.unique(), "_UniqueDataset")

    def rejection_resample(self, class_func, target_dist, initial_dist=None, seed=None, name=None):
        """(class, element), elements dropped until classes come as often as target_dist says."""
        target = [float(p) for p in _tandem.to_tensor(target_dist).numpy()]
        initial = [] if initial_dist is None else [float(p) for p in _tandem.to_tensor(initial_dist).numpy()]
        return self._next(self._handle.rejection_resample(class_func, target, initial, _seed(seed)))

    # --- Many elements to one, and back. ---

    def batch(self, batch_size, drop_remainder=False, num_parallel_calls=None, deterministic=None, name=None):
        """batch_size elements stacked along a new first axis."""
        return self._next(self._handle.batch(check.whole(batch_size, "batch: batch_size"), bool(drop_remainder)), "_ParallelBatchDataset" if num_parallel_calls else "_BatchDataset")

    def padded_batch(self, batch_size, padded_shapes=None, padding_values=None, drop_remainder=False, name=None):
        """Batches of elements of different sizes, padded to one."""
        spec = self.element_spec
        check.padded(spec, padded_shapes)
        values = padding(padding_values, spec) if padding_values is not None else None
        shapes = flat_shapes(padded_shapes)
        return self._next(self._handle.padded_batch(int(batch_size), shapes, values, bool(drop_remainder)), "_PaddedBatchDataset")

    def rebatch(self, batch_size, drop_remainder=False, name=None):
        """Batches of another size; a list of sizes is gone through again and again."""
        check.batched(self.element_spec)
        sizes = _tandem.as_ints(batch_size)
        if len(sizes) == 1:
            return self.unbatch().batch(sizes[0], drop_remainder)
        if not sizes or min(sizes) < 1:
            raise ValueError(f"rebatch: batch_size must be a positive number or a list of them, got {batch_size}")
        whole = self.unbatch().batch(sum(sizes), drop_remainder)
        return whole.flat_map(lambda *element: in_turn(element if isinstance(self.element_spec, tuple) else element[0], sizes))

    def sparse_batch(self, batch_size, row_shape, name=None):
        """Batches of elements of different sizes, as sparse tensors of shape [batch_size, *row_shape]."""
        from ._sparse import row_of_size

        return self.map(lambda element: row_of_size(element, _tandem.as_ints(row_shape))).batch(batch_size)

    def unbatch(self, name=None):
        """The rows of each element."""
        return self._next(self._handle.unbatch(), "_UnbatchDataset")

    def window(self, size, shift=None, stride=1, drop_remainder=False, name=None):
        """Datasets of size elements each."""
        if shift is not None and int(shift) < 1:
            from .errors import InvalidArgumentError

            raise InvalidArgumentError(f"window: Window shift must be greater than zero, got {shift}")
        return self._next(self._handle.window(int(size), 0 if shift is None else int(shift), int(stride), drop_remainder), "_WindowDataset")

    def flat_map(self, map_func, name=None):
        """The elements of the datasets that map_func gives."""
        return self._next(self._handle.flat_map(check.function(map_func)), "_FlatMapDataset")

    def interleave(self, map_func, cycle_length=None, block_length=None, num_parallel_calls=None, deterministic=None,
                   name=None):  # fmt: skip
        """The elements of the datasets that map_func gives, block_length of each of cycle_length datasets in turn."""
        cycle = AUTOTUNE if cycle_length is None else int(cycle_length)
        block = 1 if block_length is None else int(block_length)
        return self._next(self._handle.interleave(check.function(map_func), cycle, block, check.calls(num_parallel_calls)), "_ParallelInterleaveDataset" if num_parallel_calls else "_InterleaveDataset")

    def group_by_window(self, key_func, reduce_func, window_size=None, window_size_func=None, name=None):
        """reduce_func(key, dataset) of up to window_size elements of one key."""
        if (window_size is None) == (window_size_func is None):
            raise ValueError("Either the `window_size` argument or the `window_size_func` argument must be specified.")
        size = window_size_func or (lambda key: window_size)
        return self._next(self._handle.group_by_window(key_func, reduce_func, size), "_GroupByWindowDataset")

    def bucket_by_sequence_length(self, element_length_func, bucket_boundaries, bucket_batch_sizes, padded_shapes=None,
                                  padding_values=None, pad_to_bucket_boundary=False, no_padding=False,
                                  drop_remainder=False, name=None):  # fmt: skip
        """Batches of elements of like length."""
        if no_padding:
            return buckets_as_they_are(self, element_length_func, bucket_boundaries, bucket_batch_sizes, drop_remainder)
        values = padding(padding_values, self.element_spec) if padding_values is not None else None
        handle = self._handle.bucket_by_sequence_length(
            element_length_func, [int(b) for b in bucket_boundaries], [int(b) for b in bucket_batch_sizes],
            flat_shapes(padded_shapes), values, pad_to_bucket_boundary, drop_remainder,
        )  # fmt: skip
        return self._next(handle)

    def ragged_batch(self, batch_size, drop_remainder=False, row_splits_dtype=_dtypes.int64, name=None):
        """Batches of elements of different sizes, as ragged tensors; what has one shape in all elements is stacked."""
        return ragged_batches(self, batch_size, drop_remainder, _dtypes.as_dtype(row_splits_dtype))

    # --- Buffers. ---

    def prefetch(self, buffer_size=AUTOTUNE, name=None):
        """Makes the next elements while this one is used."""
        return self._next(self._handle.prefetch(AUTOTUNE if buffer_size is None else int(buffer_size)), "_PrefetchDataset")

    def cache(self, filename="", name=None):
        """Keeps the elements in memory, or in a file, after the first whole pass."""
        return self._next(self._handle.cache(os.fspath(filename)), "CacheDataset")

    def snapshot(self, path, compression="AUTO", reader_func=None, shard_func=None, name=None):
        """The elements kept in files of the folder `path` after the first whole pass; later passes and programs read them."""
        folder = os.fspath(path)
        os.makedirs(folder, exist_ok=True)
        return self.cache(os.path.join(folder, "snapshot"))

    def save(self, path, compression=None, shard_func=None, checkpoint_args=None):
        """Writes the elements into a folder that load() reads."""
        self._handle.save(os.fspath(path))

    # --- What is known, and reading. ---

    @property
    def element_spec(self):
        return self._handle.element_spec()

    @property
    def _exact_spec(self):
        """What is true of all elements, though TensorFlow's spec does not promise it."""
        return self._handle.exact_element_spec()

    def cardinality(self, name=None):
        """The number of elements; -1: infinite, -2: unknown."""
        return _tandem.to_tensor(self._handle.cardinality(), _dtypes.int64)

    def __len__(self):
        count = self._handle.cardinality()
        if count == INFINITE_CARDINALITY:
            raise TypeError("The dataset is infinite.")
        if count == UNKNOWN_CARDINALITY:
            raise TypeError("The dataset length is unknown.")
        return count

    def __bool__(self):
        return True

    def __iter__(self):
        return DatasetIterator(self)

    def as_numpy_iterator(self):
        """Iterates over NumPy arrays instead of tensors."""
        return NumpyIterator(self)

    def get_single_element(self, name=None):
        """The only element."""
        elements = list(self.take(2))
        if len(elements) != 1:
            from .errors import InvalidArgumentError

            raise InvalidArgumentError("Dataset had more than one element." if elements else "Dataset was empty.")
        return elements[0]

    def reduce(self, initial_state, reduce_func, name=None):
        """reduce_func(state, element) over all elements."""
        return self._handle.reduce(initial_state, reduce_func)

    def apply(self, transformation_func):
        """transformation_func(self)."""
        dataset = transformation_func(self)
        if not isinstance(dataset, Dataset):
            raise TypeError(f"`transformation_func` must return a `tf.data.Dataset` object. Got {type(dataset)}.")
        return dataset

    def options(self):
        return self._options

    def with_options(self, options, name=None):
        return Dataset(self._handle, self._options.merge(options), "_OptionsDataset")

    def stats(self):
        """What the last pass over this dataset did, stage by stage, with its bottleneck; None before the first."""
        return None if self._last_pass is None else DatasetStats(self._last_pass.read())

    def __repr__(self):
        return f"<{self._kind} element_spec={self.element_spec!r}>"

    def _repr_html_(self):
        from ._html import of_dataset

        return of_dataset(self)


_tandem.register_dataset_classes(Dataset, TensorSpec, DatasetSpec, _composites.of_parts, _composites.of_alternative, names_of, named, NoneTensorSpec())

from ._dataset_parts import buckets_as_they_are, in_turn, ragged_batches, rows_of_composites, sampled_by  # noqa: E402  they are made of Dataset
