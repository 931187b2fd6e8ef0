"""keras.layers.TextVectorization."""
import re
import string

import numpy as np

from ... import _ops, _tandem
from ..._ragged import RaggedTensor
from ...errors import OpByOpError
from .._engine.registry import deserialize_keras_object
from .encoding import _OnHost, as_tensor
from .feature_normalization import batches_of
from .lookup import StringLookup

_PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}]")
_STANDARDS = (None, "lower_and_strip_punctuation", "lower", "strip_punctuation")


class TextVectorization(_OnHost):
    """Texts as places of their words in a vocabulary, or as how often each occurs."""

    def __init__(self, max_tokens=None, standardize="lower_and_strip_punctuation", split="whitespace", ngrams=None,
                 output_mode="int", output_sequence_length=None, pad_to_max_tokens=False, vocabulary=None,
                 idf_weights=None, sparse=False, ragged=False, encoding="utf-8", name=None, **kwargs):  # fmt: skip
        super().__init__(name=name, **kwargs)
        if standardize not in _STANDARDS and not callable(standardize):
            raise ValueError(f"TextVectorization: standardize must be a function or one of {_STANDARDS}, got {standardize!r}")
        if split not in (None, "whitespace", "character") and not callable(split):
            raise ValueError(f"TextVectorization: split must be a function, None, 'whitespace' or 'character', got {split!r}")
        if output_mode != "int" and output_sequence_length is not None:
            raise ValueError(
                "`output_sequence_length` must not be set if `output_mode` is not 'int'. Received "
                f"output_sequence_length={output_sequence_length}."
            )
        if ragged and output_mode != "int":
            raise ValueError(f"`ragged` must not be true if `output_mode` is `'int'`. Received: ragged={ragged} and output_mode={output_mode}")
        self._keep(max_tokens=max_tokens, standardize=standardize, split=split, ngrams=ngrams,
                   output_sequence_length=output_sequence_length, pad_to_max_tokens=pad_to_max_tokens,
                   vocabulary=vocabulary, idf_weights=idf_weights, sparse=sparse, ragged=ragged, encoding=encoding)  # fmt: skip
        self._lookup_layer = StringLookup(max_tokens=max_tokens, vocabulary=vocabulary, idf_weights=idf_weights,
                                    pad_to_max_tokens=pad_to_max_tokens, mask_token="", output_mode=output_mode,
                                    sparse=sparse, encoding=encoding)  # fmt: skip
        self.output_mode = self._lookup_layer.output_mode
        self.built = True

    # --- Words ---

    def _standard(self, text):
        text = text.decode(self.encoding) if isinstance(text, bytes) else str(text)
        if callable(self.standardize):
            text = _text(self.standardize(_tandem.to_tensor(text)), self.encoding)
        elif self.standardize is not None:
            text = text.lower() if "lower" in self.standardize else text
            text = _PUNCTUATION.sub("", text) if "strip" in self.standardize else text
        return text

    def _words(self, text):
        text = self._standard(text)
        if callable(self.split):
            words = [_text(word, self.encoding) for word in np.asarray(self.split(_tandem.to_tensor(text)).numpy()).reshape(-1)]
        elif self.split is None:
            words = [text]
        else:
            words = text.split() if self.split == "whitespace" else list(text)
        return self._with_ngrams(words)

    def _with_ngrams(self, words):
        if self.ngrams is None:
            return words
        sizes = range(1, self.ngrams + 1) if isinstance(self.ngrams, int) else self.ngrams
        return [" ".join(words[i : i + n]) for n in sizes for i in range(len(words) - n + 1)]

    def _rows(self, texts):
        """The words of each sample; without splitting, what stands along the last axis are the words of one."""
        array = np.asarray(texts)
        if self.split is None and array.ndim in (1, 2):
            return [self._with_ngrams([self._standard(word) for word in row]) for row in np.atleast_2d(array).tolist()]
        if array.ndim == 2 and array.shape[1] == 1 or array.ndim == 0:
            array = array.reshape(-1)
        if array.ndim != 1:
            raise ValueError(
                "When using `TextVectorization` to tokenize strings, the input rank must be 1 or the last shape dimension "
                f"must be 1. Received: inputs.shape={array.shape} with rank={array.ndim}"
            )
        return [self._words(text) for text in array.tolist()]

    # --- The vocabulary ---

    def adapt(self, data, batch_size=None, steps=None):
        """Finds the words of texts, datasets or iterables of batches, the most frequent first."""
        self.reset_state()
        if isinstance(data, (list, tuple)):
            data = np.asarray(data)
        for batch in batches_of(data, steps):
            self.update_state(batch)
        self.finalize_state()

    def reset_state(self):
        self._lookup_layer.reset_state()

    def update_state(self, data):
        self._lookup_layer.update_state(self._rows(data))

    def finalize_state(self):
        self._lookup_layer.finalize_state()

    def get_vocabulary(self, include_special_tokens=True):
        return self._lookup_layer.get_vocabulary(include_special_tokens)

    def vocabulary_size(self):
        return self._lookup_layer.vocabulary_size()

    def set_vocabulary(self, vocabulary, idf_weights=None):
        self._lookup_layer.set_vocabulary(vocabulary, idf_weights)

    def save_assets(self, dir_path):
        self._lookup_layer.save_assets(dir_path)

    def load_assets(self, dir_path):
        self._lookup_layer.load_assets(dir_path)

    def save_own_variables(self, store):
        self._lookup_layer.save_own_variables(store)

    def load_own_variables(self, store):
        self._lookup_layer.load_own_variables(store)

    # --- Calls ---

    def call(self, inputs):
        if self.ragged and not _tandem.executing_eagerly():
            raise OpByOpError("E0702 TextVectorization: how many words texts have is not known while a function is traced")
        return super().call(inputs)

    def _compute(self, inputs):
        values = as_tensor(inputs).numpy()
        rows = self._rows(values)
        if self.ragged:
            return self._ragged_rows(rows)
        if self.output_mode == "int":
            length = self.output_sequence_length
            length = max((len(row) for row in rows), default=0) if length is None else length
            padded = np.array([(row + [""] * length)[:length] for row in rows], dtype=object).reshape(len(rows), length)
            out = self._lookup_layer(_tandem.to_tensor(padded.astype(str))) if padded.size else _tandem.to_tensor(np.zeros(padded.shape, np.int64))
        else:
            empty = np.zeros(self._lookup_layer._depth(), self._output_dtype())
            parts = [self._lookup_layer(_tandem.to_tensor(np.array(row, dtype=str))) if row else _tandem.to_tensor(empty) for row in rows]
            out = _ops.stack(parts, 0)
        return out[0] if np.ndim(values) == (1 if self.split is None else 0) else out

    def _ragged_rows(self, rows):
        rows = [row[: self.output_sequence_length] for row in rows]
        words = np.array([word for row in rows for word in row], dtype=str)
        places = self._lookup_layer(_tandem.to_tensor(words)) if words.size else _tandem.to_tensor(np.zeros(0, np.int64))
        return RaggedTensor.from_row_lengths(places, [len(row) for row in rows])

    def compute_output_shape(self, input_shape):
        if self.output_mode == "int":
            return (input_shape[0], self.output_sequence_length)
        return (input_shape[0], self._lookup_layer._depth())

    def _output_dtype(self):
        return self._lookup_layer._output_dtype()

    def _announced_dtype(self):
        return self._lookup_layer._announced_dtype()

    def get_config(self):
        return {**super().get_config(), "vocabulary_size": self.vocabulary_size()}

    @classmethod
    def from_config(cls, config):
        size = config.get("vocabulary_size")
        config = {key: value for key, value in config.items() if key not in ("vocabulary_size", "has_input_vocabulary")}
        for name in ("standardize", "split"):
            if isinstance(config.get(name), dict):
                config[name] = deserialize_keras_object(config[name])
        if isinstance(config.get("ngrams"), list):
            config["ngrams"] = tuple(config["ngrams"])
        made = super().from_config(config)
        made._lookup_layer._size_in_file = size
        return made


def _text(value, encoding):
    value = value.numpy() if hasattr(value, "numpy") else value
    value = value.item() if isinstance(value, np.ndarray) else value
    return value.decode(encoding) if isinstance(value, bytes) else str(value)
