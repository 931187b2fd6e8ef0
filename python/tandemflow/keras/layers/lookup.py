"""keras.layers.StringLookup and IntegerLookup: places of tokens in a vocabulary."""
import collections
from pathlib import Path

import numpy as np

from ... import _arrays, _ops, _tandem
from ...errors import FailedPreconditionError, InvalidArgumentError
from .._engine.farmhash import fingerprint64
from .._engine.floats import floatx
from .encoding import _OnHost, as_tensor, check_mode, encode, encoded_shape

_MODES = ("int", "one_hot", "multi_hot", "count", "tf_idf")


class IndexLookup(_OnHost):
    """[mask,] unknown tokens, then the vocabulary, counted from 0; the mask only where numbers come out."""

    _numpy_type = np.int64

    def _set_up(self, *, max_tokens, num_oov_indices, mask_token, oov_token, vocabulary, idf_weights, invert, output_mode,
                sparse, pad_to_max_tokens, salt):  # fmt: skip
        output_mode = {"binary": "multi_hot", "tf-idf": "tf_idf"}.get(output_mode, output_mode)
        check_mode(self, output_mode, _MODES)
        if sparse or salt is not None:
            raise NotImplementedError(f"{type(self).__name__}: sparse=True and salt are not supported")
        if max_tokens is not None and max_tokens <= 1:
            raise ValueError(f"If set, `max_tokens` must be greater than 1. Received: max_tokens={max_tokens}")
        if pad_to_max_tokens and max_tokens is None:
            raise ValueError(f"If pad_to_max_tokens is True, must set `max_tokens`. Received: max_tokens={max_tokens}")
        if num_oov_indices < 0:
            raise ValueError(f"`num_oov_indices` must be greater than or equal to 0. Received: num_oov_indices={num_oov_indices}")
        if invert and output_mode != "int":
            raise ValueError(f"`output_mode` must be `'int'` when `invert` is true. Received: output_mode={output_mode}")
        self._keep(max_tokens=max_tokens, num_oov_indices=num_oov_indices, mask_token=mask_token, oov_token=oov_token,
                   vocabulary=vocabulary, idf_weights=idf_weights, invert=invert, output_mode=output_mode, sparse=sparse,
                   pad_to_max_tokens=pad_to_max_tokens, salt=salt)  # fmt: skip
        self.built = True
        self._tokens, self._idf, self._changed, self._size_in_file = [], None, 0, None
        self.reset_state()
        if vocabulary is not None:
            self.set_vocabulary(vocabulary, idf_weights)

    # --- The vocabulary ---

    def _special(self):
        """What stands before the tokens."""
        mask = [self.mask_token] if self.mask_token is not None and self.output_mode == "int" else []
        return mask + [self.oov_token] * self.num_oov_indices

    def get_vocabulary(self, include_special_tokens=True):
        tokens = list(map(self._numpy_type, self._tokens))  # Keras reads them out of an array
        return [*self._special(), *tokens] if include_special_tokens else tokens

    def vocabulary_size(self):
        if self.pad_to_max_tokens and self.output_mode != "int":
            return self.max_tokens
        return self._size()

    def set_vocabulary(self, vocabulary, idf_weights=None):
        """Tokens as a list, an array or the name of a file with one a line; special ones may stand at the front."""
        if isinstance(vocabulary, (str, Path)):
            vocabulary = Path(vocabulary).read_text(encoding="utf-8").splitlines()
        tokens = [self._token(value) for value in (vocabulary.numpy() if hasattr(vocabulary, "numpy") else vocabulary)]
        special = self._special()
        if special and tokens[: len(special)] == special:
            tokens = tokens[len(special) :]
        doubles = [token for token, count in collections.Counter(tokens).items() if count > 1]
        if doubles:
            raise ValueError(f"The passed vocabulary has at least one repeated term. Please uniquify your dataset. The repeated terms are: {doubles}")
        for kind, token in (("mask", self.mask_token), ("oov", self.oov_token)):
            if token is not None and token in tokens and (kind == "mask" or not self.invert):
                raise ValueError(f"Found reserved {kind} token {token!r} in the passed vocabulary at a wrong place; leave it out.")
        if self.max_tokens is not None and len(tokens) + len(special) > self.max_tokens:
            raise ValueError(
                f"Attempted to set a vocabulary larger than the maximum vocab size. Received vocabulary size is "
                f"{len(tokens) + len(special)}, max_tokens is {self.max_tokens}."
            )
        if self.output_mode == "tf_idf":
            if idf_weights is None:
                raise ValueError("`idf_weights` must be set if output_mode is 'tf_idf'.")
            weights = np.asarray(idf_weights, np.float32)[-len(tokens) :] if tokens else np.zeros(0, np.float32)
            self._idf = np.concatenate([np.full(self.num_oov_indices, weights.mean() if tokens else 0, np.float32), weights])
        self._tokens = tokens
        self._changed += 1
        self._places = {token: i + len(special) for i, token in enumerate(tokens)}
        if self.mask_token is not None:
            self._places[self.mask_token] = 0 if self.output_mode == "int" else -1  # encoded as nothing

    # --- adapt ---

    def adapt(self, data, steps=None):
        """Finds the tokens of arrays, datasets or iterables of batches, the most frequent first."""
        from .feature_normalization import batches_of

        self.reset_state()
        if isinstance(data, (list, tuple)):
            data = [np.asarray(data)]
        for batch in batches_of(data, steps):
            self.update_state(batch)
        self.finalize_state()

    def reset_state(self):
        self._counts, self._documents, self._document_count = collections.Counter(), collections.Counter(), 0

    def update_state(self, data):
        """`data` is an array of samples, or a list of the tokens of each."""
        rows = data if isinstance(data, list) else np.asarray(data).reshape(len(data) if np.ndim(data) else 1, -1).tolist()
        for row in rows:
            tokens = [self._token(value) for value in row]
            self._counts.update(tokens)
            self._documents.update(set(tokens))
            self._document_count += 1

    def finalize_state(self):
        if not self._counts:
            return
        special = self._special()
        known = [(count, token) for token, count in self._counts.items() if token not in (self.mask_token, self.oov_token)]
        tokens = [token for _, token in sorted(known, reverse=True)]
        if self.max_tokens is not None:
            tokens = tokens[: max(self.max_tokens - len(special), 0)]
        idf = [np.log(1 + self._document_count / (1 + self._documents[token])) for token in tokens]
        self.set_vocabulary(tokens, idf if self.output_mode == "tf_idf" else None)

    # --- Calls ---

    def _compute(self, inputs):
        if self._changed == 0:
            raise FailedPreconditionError(f"Table not initialized: layer '{self.name}' has no vocabulary; call adapt(data) or set_vocabulary(tokens) first")
        inputs = as_tensor(inputs)
        if self.invert:
            return self._tokens_at(inputs)
        return self._encoded(self._indices(inputs))

    def _encoded(self, indices):
        mode = "count" if self.output_mode == "tf_idf" else self.output_mode
        out = encode(indices, mode, self._depth(), self._output_dtype())
        if self.output_mode == "tf_idf":
            out = out * _tandem.to_tensor(self._whole_idf())
        return out

    def _whole_idf(self):
        """A weight for each place, none for those that are padding."""
        weights = np.zeros(self._depth(), np.float32)
        known = self._idf if self._idf is not None else weights
        weights[: len(known)] = known
        return weights

    def _depth(self):
        return self.max_tokens if self.pad_to_max_tokens else self._size()

    def _size(self):
        """Of the vocabulary; while a file is read, before its tokens are there, as the file says."""
        awaited = not self._tokens and self._size_in_file
        return awaited or len(self._special()) + len(self._tokens)

    def _unknown(self, token):
        """The place of a token that is not in the vocabulary."""
        first = len(self._special()) - self.num_oov_indices
        if self.num_oov_indices == 0:
            raise _not_in_vocabulary([token])
        return first if self.num_oov_indices == 1 else first + self._hashed(token)

    def _indices(self, inputs):
        values = inputs.numpy()
        flat = [self._token(value) for value in np.asarray(values).reshape(-1).tolist()]
        places = self.__dict__.get("_places", {})
        found = [places[token] if token in places else self._unknown(token) for token in flat]
        return _tandem.to_tensor(np.array(found, np.int64).reshape(np.shape(values)))

    def _tokens_at(self, inputs):
        vocabulary = self.get_vocabulary()
        values = np.asarray(inputs.numpy())
        found = [vocabulary[i] if 0 <= i < len(vocabulary) else self.oov_token for i in values.reshape(-1).tolist()]
        return _tandem.to_tensor(np.array(found).reshape(values.shape))

    def _output_dtype(self):
        if self.invert:
            return "string"
        return floatx() if self.output_mode == "tf_idf" else "int64"

    def _announced_dtype(self):
        return self._output_dtype() if self.output_mode == "int" else floatx()  # as in Keras, although numbers come out

    def compute_output_shape(self, input_shape):
        mode = "count" if self.output_mode == "tf_idf" else self.output_mode
        return encoded_shape(input_shape, mode, self._depth())

    # --- Files: what was found by adapt is written beside the configuration ---

    def save_assets(self, dir_path):
        if self.vocabulary is None:
            text = "\n".join(str(token) for token in self.get_vocabulary())
            Path(dir_path, "vocabulary.txt").write_text(text, encoding="utf-8")

    def load_assets(self, dir_path):
        if self.vocabulary is None:
            tokens = Path(dir_path, "vocabulary.txt").read_text(encoding="utf-8").splitlines()
            self.set_vocabulary(tokens, None if self._idf is None else self._idf[: len(tokens)])

    def save_own_variables(self, store):
        if self.output_mode == "tf_idf":
            store["idf_weights"] = self._whole_idf()

    def load_own_variables(self, store):
        if self.output_mode == "tf_idf":
            self._idf = np.asarray(store["idf_weights"], np.float32)

    def get_config(self):
        config = super().get_config()
        for name in ("vocabulary", "idf_weights"):
            value = config[name]
            if value is not None and not isinstance(value, (str, list)):
                config[name] = np.asarray(value.numpy() if hasattr(value, "numpy") else value).tolist()
        return {**config, "vocabulary_size": self._size()}

    @classmethod
    def from_config(cls, config):
        made = super().from_config({key: value for key, value in config.items() if key not in ("vocabulary_size", "has_input_vocabulary")})
        made._size_in_file = config.get("vocabulary_size")
        return made


def _not_in_vocabulary(tokens):
    return InvalidArgumentError(
        f"When `num_oov_indices=0` all inputs should be in vocabulary, found OOV values {tokens}, consider setting `num_oov_indices=1`."
    )


class StringLookup(IndexLookup):
    """Strings to their places, or back."""

    _numpy_type = np.str_

    def __init__(self, max_tokens=None, num_oov_indices=1, mask_token=None, oov_token="[UNK]", vocabulary=None,
                 idf_weights=None, invert=False, output_mode="int", pad_to_max_tokens=False, sparse=False,
                 encoding="utf-8", name=None, salt=None, **kwargs):  # fmt: skip
        super().__init__(name=name, **kwargs)
        self.encoding = encoding
        self._set_up(max_tokens=max_tokens, num_oov_indices=num_oov_indices, mask_token=mask_token, oov_token=oov_token,
                     vocabulary=vocabulary, idf_weights=idf_weights, invert=invert, output_mode=output_mode,
                     sparse=sparse, pad_to_max_tokens=pad_to_max_tokens, salt=salt)  # fmt: skip

    def get_config(self):
        return {**super().get_config(), "oov_method": "floormod"}  # as in Keras, where only numbers use it

    @classmethod
    def from_config(cls, config):
        return super().from_config({key: value for key, value in config.items() if key != "oov_method"})

    def _token(self, value):
        return value.decode(self.encoding) if isinstance(value, bytes) else str(value)

    def _hashed(self, token):
        return fingerprint64(token.encode(self.encoding)) % self.num_oov_indices


class IntegerLookup(IndexLookup):
    """Whole numbers to their places, or back; it computes with ops, also in traced functions."""

    def __init__(self, max_tokens=None, num_oov_indices=1, mask_token=None, oov_token=-1, vocabulary=None,
                 vocabulary_dtype="int64", idf_weights=None, invert=False, output_mode="int", sparse=False,
                 pad_to_max_tokens=False, oov_method="floormod", salt=None, name=None, **kwargs):  # fmt: skip
        super().__init__(name=name, **kwargs)
        if oov_method != "floormod":
            raise NotImplementedError(f"IntegerLookup: oov_method must be 'floormod', got {oov_method!r}")
        self.vocabulary_dtype, self.oov_method = vocabulary_dtype, oov_method
        self._set_up(max_tokens=max_tokens, num_oov_indices=num_oov_indices, mask_token=mask_token, oov_token=oov_token,
                     vocabulary=vocabulary, idf_weights=idf_weights, invert=invert, output_mode=output_mode,
                     sparse=sparse, pad_to_max_tokens=pad_to_max_tokens, salt=salt)  # fmt: skip

    def _token(self, value):
        return int(value)

    def _output_dtype(self):
        return "int64" if self.invert else super()._output_dtype()

    def _tokens_at(self, inputs):
        vocabulary = _tandem.to_tensor(np.array([*self.get_vocabulary(), self.oov_token], np.int64))
        count = len(self.get_vocabulary())
        places = _ops.cast(inputs, "int64")
        inside = _ops.logical_and(places >= 0, places < count)
        return _ops.gather(vocabulary, _ops.where(inside, places, _ops.ones_like(places) * count))

    def _indices(self, inputs):
        x = _ops.cast(inputs, "int64")
        first = len(self._special()) - self.num_oov_indices
        unknown = _ops.ones_like(x) * (first if self.num_oov_indices else -1)
        if self.num_oov_indices > 1:
            unknown = first + _ops.floormod(x, self.num_oov_indices)
        places = self.__dict__.get("_places", {})
        if not places:
            return self._checked(x, unknown)
        keys = np.array(sorted(places), np.int64)
        values = np.array([places[int(key)] for key in keys], np.int64)
        near = _ops.minimum(_arrays.searchsorted(_tandem.to_tensor(keys), _ops.reshape(x, [-1]), out_type="int64"), len(keys) - 1)
        near = _ops.reshape(near, x.shape)
        known = _ops.equal(_ops.gather(_tandem.to_tensor(keys), near), x)
        return self._checked(x, _ops.where(known, _ops.gather(_tandem.to_tensor(values), near), unknown), known)

    def _checked(self, x, found, known=False):
        """A traced function cannot look: there what is unknown counts for nothing."""
        if self.num_oov_indices == 0 and _tandem.executing_eagerly():
            unknown = np.asarray(x)[~np.broadcast_to(known, tuple(x.shape))].tolist()
            if unknown:
                raise _not_in_vocabulary(unknown)
        return found
