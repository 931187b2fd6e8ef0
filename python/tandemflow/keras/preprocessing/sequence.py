"""keras.preprocessing.sequence"""
import random as _random

import numpy as _np

from ..utils.numeric import pad_sequences

__all__ = ["make_sampling_table", "pad_sequences", "skipgrams"]


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
