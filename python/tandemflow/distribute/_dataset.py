"""Datasets whose elements are divided among replicas."""
import itertools

from .._dataset import Dataset
from .._gradient import flatten, pack_like
from ._values import PerReplica, regroup


def check_dataset(dataset, needs):
    if not isinstance(dataset, Dataset):
        raise TypeError(f"{needs} a tf.data.Dataset, got {dataset!r}")
    return dataset


class DistributedDataset:
    """Every element is a global batch, cut along its first axis."""

    def __init__(self, dataset, strategy):
        self._dataset, self._strategy = dataset, strategy

    def __iter__(self):
        for element in self._dataset:
            yield split_element(element, self._strategy)

    def __len__(self):
        return len(self._dataset)

    @property
    def element_spec(self):
        return self._dataset.element_spec

    def cardinality(self):
        return self._dataset.cardinality()


def split_element(element, strategy):
    """The element with a PerReplica value for every tensor."""
    if strategy.num_replicas_in_sync == 1:
        return element
    leaves = flatten(element)
    sizes = strategy.sizes(leaves[0].shape[0])
    bounds = [0, *itertools.accumulate(sizes)]
    parts = [PerReplica(*(leaf[a:b] for a, b in zip(bounds, bounds[1:]))) for leaf in leaves]
    return pack_like(element, iter(parts))


class DatasetByReplica:
    """Every replica takes the next element of one dataset."""

    def __init__(self, dataset, strategy):
        self._dataset, self._strategy = dataset, strategy

    def __iter__(self):
        count = self._strategy.num_replicas_in_sync
        iterator = iter(self._dataset)
        while True:
            elements = list(itertools.islice(iterator, count))
            if not elements:
                return
            if count == 1:
                yield elements[0]
                continue
            empty = [pack_like(elements[0], iter([leaf[:0] for leaf in flatten(elements[0])]))] * (count - len(elements))
            yield regroup(elements + empty)
