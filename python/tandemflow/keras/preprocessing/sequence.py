"""keras.preprocessing.sequence"""
import random as _random

import numpy as _np

from ..utils.numeric import pad_sequences
from ..utils.py_dataset import PyDataset

__all__ = ["TimeseriesGenerator", "make_sampling_table", "pad_sequences", "skipgrams"]


class TimeseriesGenerator(PyDataset):
    """Batches of windows of `length` rows of data, each with the target of the row that follows it.

    A window takes every `sampling_rate`-th row, windows begin `stride` rows apart; with `shuffle` they begin anywhere.
    """

    def __init__(self, data, targets, length, sampling_rate=1, stride=1, start_index=0, end_index=None, shuffle=False, reverse=False, batch_size=128):
        super().__init__()
        if len(data) != len(targets):
            raise ValueError(f"Data and targets have to be of same length. Data length is {len(data)} while target length is {len(targets)}")
        self.data, self.targets, self.length, self.sampling_rate, self.stride = data, targets, length, sampling_rate, stride
        self.start_index, self.end_index = start_index + length, len(data) - 1 if end_index is None else end_index
        self.shuffle, self.reverse, self.batch_size = shuffle, reverse, batch_size
        if self.start_index > self.end_index:
            raise ValueError(
                f"`start_index+length={self.start_index} > end_index={self.end_index}` is disallowed, as no part of the sequence "
                "would be left to be used as current step."
            )

    def __len__(self):
        rows = self.batch_size * self.stride
        return (self.end_index - self.start_index + rows) // rows

    def __getitem__(self, index):
        ends = self._ends(index)
        samples = _np.array([self.data[end - self.length : end : self.sampling_rate] for end in ends])
        return samples[:, ::-1] if self.reverse else samples, _np.array([self.targets[end] for end in ends])

    def _ends(self, index):
        """The rows after the windows of a batch."""
        if self.shuffle:
            return _np.random.randint(self.start_index, self.end_index + 1, size=self.batch_size)
        first = self.start_index + self.batch_size * self.stride * index
        return range(first, min(first + self.batch_size * self.stride, self.end_index + 1), self.stride)


def make_sampling_table(size, sampling_factor=1e-05):
    """How likely the word of each rank is kept, where words are as frequent as Zipf's law says."""
    euler = 0.577
    rank = _np.arange(size)
    rank[0] = 1
    inverse = rank * (_np.log(rank) + euler) + 0.5 - 1.0 / (12.0 * rank)
    share = sampling_factor * inverse
    return _np.minimum(1.0, share / _np.sqrt(share))


def skipgrams(sequence, vocabulary_size, window_size=4, negative_samples=1.0, shuffle=True, categorical=False, sampling_table=None, seed=None):
    """([word, neighbour] pairs, labels): 1 for words that stand together, 0 for pairs drawn at random."""
    couples, labels = [], []
    for place, word in enumerate(sequence):
        if not word or sampling_table is not None and sampling_table[word] < _random.random():
            continue
        start = max(0, place - window_size)
        for other in range(start, min(len(sequence), place + window_size + 1)):
            if other != place and sequence[other]:
                couples.append([word, sequence[other]])
                labels.append([0, 1] if categorical else 1)
    if negative_samples > 0:
        count = int(len(labels) * negative_samples)
        words = [couple[0] for couple in couples]
        _random.shuffle(words)
        couples += [[words[i % len(words)], _random.randint(1, vocabulary_size - 1)] for i in range(count)]
        labels += [[1, 0] if categorical else 0] * count
    if shuffle:
        seed = _random.randint(0, int(10e6)) if seed is None else seed
        for values in (couples, labels):
            _random.seed(seed)
            _random.shuffle(values)
    return couples, labels
