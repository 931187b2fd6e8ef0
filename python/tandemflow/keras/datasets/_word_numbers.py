"""Texts as lists of word numbers."""
import json

from ..utils.files import get_file
from ._files import STORE


def shifted(texts, start_char, index_from):
    """With the mark of the beginning, and room for marks below the numbers of words."""
    first = [] if start_char is None else [start_char]
    return [first + [int(word) + (index_from or 0) for word in text] for text in texts]


def without_long(texts, labels, maxlen):
    """Those shorter than `maxlen`."""
    if not maxlen:
        return texts, list(labels)
    kept = [(text, label) for text, label in zip(texts, labels) if len(text) < maxlen]
    if not kept:
        raise ValueError(
            f"After filtering for sequences shorter than maxlen={maxlen}, no sequence was kept. Increase maxlen."
        )
    return [text for text, _ in kept], [label for _, label in kept]


def within(texts, num_words, skip_top, oov_char):
    """Words that are too common or too rare replaced by `oov_char`, or left out."""
    num_words = num_words or max(max(text) for text in texts)
    if oov_char is None:
        return [[word for word in text if skip_top <= word < num_words] for text in texts]
    return [[word if skip_top <= word < num_words else oov_char for word in text] for text in texts]


def pair(texts, labels):
    import numpy as np

    out = np.empty(len(texts), object)
    out[:] = texts
    return out, np.array(labels)


def word_index(path, origin):
    with open(get_file(path, origin=STORE + origin)) as file:
        return json.load(file)
