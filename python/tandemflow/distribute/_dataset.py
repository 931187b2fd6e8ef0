"""Datasets whose elements are divided among replicas."""
import itertools

from .. import _tandem
from .._dataset import Dataset
from .._device import device
from .._gradient import flatten, pack_like
from .._optional import Optional, only_at_run_time
from ._values import PerReplica, regroup


def check_dataset(dataset, needs):
    if not isinstance(dataset, Dataset):
        raise TypeError(f"{needs} a tf.data.Dataset, got {dataset!r}")
    return dataset


class _Divided:
    """A dataset, or a running pass over one, whose elements are for all replicas; `divided` gives each replica its part.

    `whole` holds the elements as they are before: a loop in a traced function runs over it.
    """

    def __init__(self, whole, divided):
        self.whole, self.divided = whole, divided


class DistributedIterator(_Divided):
    """A running pass over a distributed dataset."""

    def __init__(self, whole, divided, element_spec):
        super().__init__(whole, divided)
        self.element_spec = element_spec

    def __iter__(self):
        return self

    def __next__(self):
        return self.divided(next(self.whole))

    def get_next(self):
        """The next element; OutOfRangeError at the end."""
        return self.divided(self.whole.get_next())

    def get_next_as_optional(self):
        """The next element, or an Optional without a value at the end."""
        following = self.whole.get_next_as_optional()
        return Optional.from_value(self.divided(following.get_value())) if following.has_value() else following


class DistributedDataset(_Divided):
    """What both kinds of distributed datasets are."""

    def __init__(self, whole, divided, strategy):
        super().__init__(whole, divided)
        self._strategy = strategy

    def __iter__(self):
        return DistributedIterator(iter(self.whole), self.divided, self.element_spec)

    @property
    def element_spec(self):
        """What each replica gets; the number of rows where that is known."""
        count = self._strategy.num_replicas_in_sync
        if count == 1:
            return self._dataset.element_spec
        from .. import nest
        from .._specs import TensorSpec

        def of_leaf(leaf):
            if not isinstance(leaf, TensorSpec) or not leaf.shape.rank:
                return PerReplica(*[leaf] * count)
            return PerReplica(*(TensorSpec([rows, *leaf.shape[1:]], leaf.dtype) for rows in self._known_rows(leaf.shape[0])))

        return nest.map_structure(of_leaf, self._dataset.element_spec)

    def _known_rows(self, rows):
        """Of each replica, where elements have so many rows; None: any number."""
        return [None] * self._strategy.num_replicas_in_sync


class GlobalBatches(DistributedDataset):
    """Every element is a global batch, cut along its first axis."""

    def __init__(self, dataset, strategy):
        super().__init__(dataset, lambda element: split_element(element, strategy), strategy)
        self._dataset = dataset

    def __len__(self):
        return len(self._dataset)

    def _known_rows(self, rows):
        return super()._known_rows(rows) if rows is None else self._strategy.even_sizes(rows)

    def cardinality(self):
        return self._dataset.cardinality()


def split_element(element, strategy):
    """The element with a PerReplica value for every tensor."""
    if strategy.num_replicas_in_sync == 1:
        return element
    leaves = flatten(element)
    rows = [_row_count(leaf) for leaf in leaves]
    if None in rows or len(set(rows)) > 1:
        raise ValueError(
            f"a distributed dataset divides batches along their first axis, but an element has tensors of the shapes "
            f"{[tuple(one.shape) for one in leaves]}; call dataset.batch(global_batch_size) before distributing it"
        )
    bounds = [0, *itertools.accumulate(strategy.even_sizes(rows[0]))]
    with device("/CPU:0"):  # where they survive the loss of a device
        parts = [PerReplica(*(_rows(leaf, a, b) for a, b in zip(bounds, bounds[1:]))) for leaf in leaves]
    return pack_like(element, iter(parts))


def _row_count(leaf):
    """None of what has no rows."""
    if isinstance(leaf, _tandem.Tensor):
        return leaf.shape[0] if leaf.ndim else None
    return int(leaf.dense_shape[0]) if hasattr(leaf, "dense_shape") else int(leaf.nrows())  # sparse and ragged tensors


def _rows(leaf, begin, end):
    if not hasattr(leaf, "dense_shape"):
        return leaf[begin:end]
    from .. import sparse

    rest = [int(size) for size in leaf.dense_shape[1:]]
    return sparse.slice(leaf, [begin, *[0] * len(rest)], [end - begin, *rest])


class _Groups:
    """So many elements of a dataset at a time, as a tuple; where the last ones are missing, elements without rows."""

    def __init__(self, dataset, count):
        self._dataset, self._count = dataset, count

    @property
    def element_spec(self):
        return (self._dataset.element_spec,) * self._count

    @property
    def _exact_spec(self):
        return (self._dataset._exact_spec,) * self._count

    def __iter__(self):
        return _GroupIterator(iter(self._dataset), self._count, self.element_spec)


class _GroupIterator:
    def __init__(self, elements, count, element_spec):
        self._elements, self._count, self.element_spec = elements, count, element_spec

    def __iter__(self):
        return self

    def __next__(self):
        return self._group(next(self._elements), lambda: next(self._elements, None))

    def get_next(self):
        return self._group(self._elements.get_next(), lambda: next(self._elements, None))

    def get_next_as_optional(self):
        only_at_run_time()
        try:
            return Optional.from_value(next(self))
        except StopIteration:
            return Optional.empty(self.element_spec)

    def _group(self, first, following):
        elements = [first]
        while len(elements) < self._count:
            element = following()
            if element is None:
                element = pack_like(first, iter([leaf[:0] for leaf in flatten(first)]))
            elements.append(element)
        return tuple(elements)


def _regrouped(elements):
    return regroup(list(elements))


class DatasetByReplica(DistributedDataset):
    """Every replica takes the next element of one dataset."""

    def __init__(self, dataset, strategy):
        count = strategy.num_replicas_in_sync
        whole = dataset if count == 1 else _Groups(dataset, count)
        super().__init__(whole, (lambda element: element) if count == 1 else _regrouped, strategy)
        self._dataset = dataset

    def cardinality(self):
        """Steps, each of which takes an element for every replica; below 0 as the dataset has it."""
        elements = int(self._dataset.cardinality())
        return elements if elements < 0 else -(-elements // self._strategy.num_replicas_in_sync)


class DatasetsOfReplicas(DistributedDataset):
    """Every replica has a dataset of its own; the shortest ends all."""

    def __init__(self, datasets, strategy):
        super().__init__(Dataset.zip(tuple(datasets)), _regrouped, strategy)
        self._dataset = datasets[0]

    def cardinality(self):
        return self.whole.cardinality()
