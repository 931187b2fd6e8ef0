"""Stages of datasets that are made of others."""
import bisect
import functools
import itertools

from . import _composites, _dtypes, _tandem
from ._dataset import Dataset
from ._dataset_structure import flatten, map_structure, map_structures, tensors_of
from ._specs import TensorSpec


def rows_of_composites(tensors):
    """An element for each row, where some of the tensors are ragged or sparse."""
    counts = [int(part.shape[0]) if hasattr(part, "_dataset_parts") else _tandem.to_tensor(part).shape[0] for part in tensors_of(tensors)]
    if len(set(counts)) > 1:
        raise ValueError(f"from_tensor_slices: all parts must have the same number of rows, got {counts}")
    rows = Dataset.from_tensors(tensors).unbatch()
    return rows._next(rows._handle.assert_cardinality(counts[0]), "_TensorSliceDataset")


def sampled_by(datasets, weights, seed, stop_on_empty):
    """Elements drawn by weights that are a dataset themselves, a row of them each time."""
    import numpy

    def choices():
        dice = numpy.random.default_rng(seed)
        for row in weights.as_numpy_iterator():
            yield dice.choice(len(datasets), p=numpy.asarray(row, "float64") / numpy.sum(row, dtype="float64"))

    chosen = Dataset.from_generator(choices, output_signature=TensorSpec([], _dtypes.int64))
    return Dataset.choose_from_datasets(datasets, chosen, stop_on_empty)


def in_turn(element, sizes):
    """A dataset of the parts of a batch: sizes[0] rows, then sizes[1], …"""
    ends = list(itertools.accumulate(sizes))
    rows = flatten(element)[0].shape[0]
    parts = [(end - size, min(end, rows)) for end, size in zip(ends, sizes) if end - size < rows]
    whole = Dataset.from_tensors(element).unbatch()
    datasets = [whole.skip(begin).take(end - begin).batch(end - begin) for begin, end in parts]
    return functools.reduce(Dataset.concatenate, datasets)


def buckets_as_they_are(dataset, length_of, boundaries, sizes, drop_remainder):
    """Batches of elements of like length, which must be of one shape: bucket_by_sequence_length(no_padding=True)."""
    boundaries, sizes = [int(b) for b in boundaries], [int(size) for size in sizes]
    if len(sizes) != len(boundaries) + 1:
        raise ValueError(
            f"`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but `len(bucket_batch_sizes)={len(sizes)}` and "
            f"`len(bucket_boundaries)={len(boundaries)}`."
        )

    def bucket(*element):
        return bisect.bisect_right(boundaries, int(length_of(*element)))

    return dataset.group_by_window(bucket, lambda key, some: some.batch(sizes[int(key)], drop_remainder), window_size_func=lambda key: sizes[int(key)])


def ragged_batches(dataset, batch_size, drop_remainder, splits):
    """Batches in which what has unknown sizes is ragged, its splits of dtype `splits`."""
    spec = dataset.element_spec
    several = isinstance(spec, tuple) and not hasattr(spec, "_fields")

    def to_rows(*element):
        return map_structures(_as_row, spec, element if several else element[0])

    def with_splits(*element):
        change = lambda leaf: leaf.with_row_splits_dtype(splits) if hasattr(leaf, "row_splits") else leaf  # noqa: E731
        return map_structure(change, element if several else element[0])

    batches = dataset.map(to_rows).batch(batch_size, drop_remainder)
    return batches if splits == _dtypes.int64 else batches.map(with_splits)


def _as_row(spec, leaf):
    if getattr(spec, "ragged_rank", None) == 0:
        return _composites.RaggedRow(leaf)
    plain = not isinstance(spec, TensorSpec) or spec.shape.rank is None or spec.shape.is_fully_defined()
    return leaf if plain else _composites.row(leaf, spec)
