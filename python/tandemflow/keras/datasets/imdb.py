"""50,000 reviews of films, good (1) or bad (0), as lists of word numbers."""
from . import _word_numbers as words
from ._files import STORE, archive, shuffled


def load_data(path="imdb.npz", num_words=None, skip_top=0, maxlen=None, seed=113, start_char=1, oov_char=2, index_from=3,
              **kwargs):  # fmt: skip
    """((x_train, y_train), (x_test, y_test)); the most frequent word has the number 1 + index_from."""
    import numpy as np

    if kwargs:
        raise TypeError(f"Unrecognized keyword arguments: {kwargs}.")
    arrays = archive(path, STORE + "imdb.npz")
    random = np.random.RandomState(seed)
    parts = []
    for part in ("train", "test"):
        texts, labels = shuffled([arrays[f"x_{part}"], arrays[f"y_{part}"]], random)
        parts.append(words.without_long(words.shifted(texts, start_char, index_from), labels, maxlen))
    texts = words.within(parts[0][0] + parts[1][0], num_words, skip_top, oov_char)
    at = len(parts[0][0])
    return words.pair(texts[:at], parts[0][1]), words.pair(texts[at:], parts[1][1])


def get_word_index(path="imdb_word_index.json"):
    """{word: number}, before index_from is added."""
    return words.word_index(path, "imdb_word_index.json")
