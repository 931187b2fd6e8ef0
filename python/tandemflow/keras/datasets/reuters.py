"""11,228 newswires of 46 topics as lists of word numbers."""
from . import _word_numbers as words
from ._files import STORE, archive, shuffled


def load_data(path="reuters.npz", num_words=None, skip_top=0, maxlen=None, test_split=0.2, seed=113, start_char=1,
              oov_char=2, index_from=3):  # fmt: skip
    """((x_train, y_train), (x_test, y_test))."""
    import numpy as np

    arrays = archive(path, STORE + "reuters.npz")
    texts, labels = shuffled([arrays["x"], arrays["y"]], np.random.RandomState(seed))
    texts, labels = words.without_long(words.shifted(texts, start_char, index_from), labels, maxlen)
    texts = words.within(texts, num_words, skip_top, oov_char)
    at = int(len(texts) * (1 - test_split))
    return words.pair(texts[:at], labels[:at]), words.pair(texts[at:], labels[at:])


def get_word_index(path="reuters_word_index.json"):
    """{word: number}, before index_from is added."""
    return words.word_index(path, "reuters_word_index.json")


def get_label_names():
    """The topics, in the order of their numbers."""
    return (
        "cocoa", "grain", "veg-oil", "earn", "acq", "wheat", "copper", "housing", "money-supply", "coffee", "sugar", "trade", "reserves", "ship",
        "cotton", "carcass", "crude", "nat-gas", "cpi", "money-fx", "interest", "gnp", "meal-feed", "alum", "oilseed", "gold", "tin", "strategic-metal",
        "livestock", "retail", "ipi", "iron-steel", "rubber", "heat", "jobs", "lei", "bop", "zinc", "orange", "pet-chem", "dlr", "gas", "silver", "wpi",
        "hog", "lead",
    )  # fmt: skip
