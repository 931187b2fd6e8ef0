"""keras.preprocessing.text: words as numbers, as it was done before layers.TextVectorization."""
import hashlib
import json
from collections import Counter, defaultdict

import numpy as np

_FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'


def text_to_word_sequence(input_text, filters=_FILTERS, lower=True, split=" "):
    """The words of a text, without the characters of `filters`."""
    if lower:
        input_text = input_text.lower()
    return [word for word in input_text.translate(str.maketrans(dict.fromkeys(filters, split))).split(split) if word]


def one_hot(input_text, n, filters=_FILTERS, lower=True, split=" ", analyzer=None):
    """A number below n for each word, by its hash; words may share one."""
    return hashing_trick(input_text, n, hash, filters, lower, split, analyzer)


def hashing_trick(text, n, hash_function=None, filters=_FILTERS, lower=True, split=" ", analyzer=None):
    """A number from 1 to n - 1 for each word; hash_function "md5" gives the same in every program."""
    words = analyzer(text) if analyzer else text_to_word_sequence(text, filters, lower, split)
    if hash_function == "md5":
        hash_function = lambda word: int(hashlib.md5(word.encode()).hexdigest(), 16)  # noqa: E731
    return [(hash_function or hash)(word) % (n - 1) + 1 for word in words]


class Tokenizer:
    """Numbers words by how often they come; 0 stays free, for padding."""

    def __init__(self, num_words=None, filters=_FILTERS, lower=True, split=" ", char_level=False, oov_token=None, analyzer=None, **kwargs):
        document_count = kwargs.pop("document_count", 0)
        if kwargs:
            raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
        self.num_words, self.filters, self.lower, self.split = num_words, filters, lower, split
        self.char_level, self.oov_token, self.analyzer = char_level, oov_token, analyzer
        self.document_count = document_count
        self.word_counts, self.word_docs, self.index_docs = {}, defaultdict(int), defaultdict(int)
        self.word_index, self.index_word = {}, {}

    def _words(self, text):
        if self.char_level or isinstance(text, list):
            lowered = (word.lower() for word in text) if self.lower and isinstance(text, list) else text.lower() if self.lower else text
            return list(lowered)
        return self.analyzer(text) if self.analyzer else text_to_word_sequence(text, self.filters, self.lower, self.split)

    def fit_on_texts(self, texts):
        """Learns the words of texts, or of lists of words."""
        counts = Counter(self.word_counts)
        for text in texts:
            words = self._words(text)
            self.document_count += 1
            counts.update(words)
            for word in set(words):
                self.word_docs[word] += 1
        self.word_counts = dict(counts)
        known = [word for word, _ in sorted(counts.items(), key=lambda item: -item[1])]
        if self.oov_token is not None:
            known.insert(0, self.oov_token)
        self.word_index = {word: i for i, word in enumerate(known, 1)}
        self.index_word = {i: word for word, i in self.word_index.items()}
        self.index_docs = defaultdict(int, {self.word_index[word]: count for word, count in self.word_docs.items()})

    def fit_on_sequences(self, sequences):
        """Learns from lists of numbers how many of them each is in: for modes that need it."""
        self.document_count += len(sequences)
        for sequence in sequences:
            for number in set(sequence):
                self.index_docs[number] += 1

    def texts_to_sequences(self, texts):
        """Lists of numbers; a word that is not known, or not among the first num_words, is left out or becomes oov_token."""
        return list(self.texts_to_sequences_generator(texts))

    def texts_to_sequences_generator(self, texts):
        unknown = self.word_index.get(self.oov_token)
        for text in texts:
            numbers = (self.word_index.get(word) for word in self._words(text))
            kept = (unknown if number is None or self.num_words and number >= self.num_words else number for number in numbers)
            yield [number for number in kept if number is not None]

    def sequences_to_texts(self, sequences):
        """The words of numbers, one text a list."""
        return list(self.sequences_to_texts_generator(sequences))

    def sequences_to_texts_generator(self, sequences):
        unknown = self.word_index.get(self.oov_token)
        for sequence in sequences:
            kept = (unknown if number not in self.index_word or self.num_words and number >= self.num_words else number for number in sequence)
            yield " ".join(self.index_word[number] for number in kept if number is not None)

    def texts_to_matrix(self, texts, mode="binary"):
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode)

    def sequences_to_matrix(self, sequences, mode="binary"):
        """A row for each sequence, a column for each word: "binary", "count", "freq" or "tfidf"."""
        if mode not in ("binary", "count", "freq", "tfidf"):
            raise ValueError(f"Unknown vectorization mode: {mode}; known are binary, count, freq and tfidf")
        if not self.num_words and not self.word_index:
            raise ValueError("Specify a dimension (`num_words` argument), or fit on some text data first.")
        if mode == "tfidf" and not self.document_count:
            raise ValueError("Fit the Tokenizer on some data before using tfidf mode.")
        matrix = np.zeros((len(sequences), self.num_words or len(self.word_index) + 1))
        for row, sequence in zip(matrix, sequences):
            for number, count in Counter(number for number in sequence if number < len(row)).items():
                row[number] = self._weight(mode, number, count, len(sequence))
        return matrix

    def _weight(self, mode, number, count, length):
        if mode == "tfidf":
            return (1 + np.log(count)) * np.log(1 + self.document_count / (1 + self.index_docs.get(number, 0)))
        return {"binary": 1, "count": count, "freq": count / length}[mode]

    def get_config(self):
        learned = ("word_counts", "word_docs", "index_docs", "index_word", "word_index")
        return {
            "num_words": self.num_words, "filters": self.filters, "lower": self.lower, "split": self.split, "char_level": self.char_level,
            "oov_token": self.oov_token, "document_count": self.document_count, **{name: json.dumps(getattr(self, name)) for name in learned},
        }  # fmt: skip

    def to_json(self, **kwargs):
        return json.dumps({"class_name": type(self).__name__, "config": self.get_config()}, **kwargs)


def tokenizer_from_json(json_string):
    """The tokenizer that to_json wrote."""
    config = json.loads(json_string)["config"]
    learned = {name: json.loads(config.pop(name)) for name in ("word_counts", "word_docs", "index_docs", "index_word", "word_index")}
    tokenizer = Tokenizer(**config)
    tokenizer.word_counts, tokenizer.word_index = learned["word_counts"], learned["word_index"]
    tokenizer.word_docs = defaultdict(int, learned["word_docs"])
    tokenizer.index_docs = defaultdict(int, {int(number): count for number, count in learned["index_docs"].items()})
    tokenizer.index_word = {int(number): word for number, word in learned["index_word"].items()}
    return tokenizer
