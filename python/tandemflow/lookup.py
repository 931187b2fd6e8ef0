"""tf.lookup: tables from keys to values."""
from . import _dtypes, _names, _tandem
from ._ragged import RaggedTensor
from ._sparse import SparseTensor
from .errors import FailedPreconditionError, InvalidArgumentError


def _items(tensor):
    values = tensor.numpy()
    return values.ravel().tolist() if hasattr(values, "ravel") else [values]


class KeyValueTensorInitializer:
    """Keys and values of a table, one by one."""

    def __init__(self, keys, values, key_dtype=None, value_dtype=None, name=None):
        self.keys, self.values = _tandem.to_tensor(keys, key_dtype), _tandem.to_tensor(values, value_dtype)
        if self.keys.shape != self.values.shape:
            raise ValueError(f"keys and values must have the same shape, got {self.keys.shape} and {self.values.shape}")

    @property
    def key_dtype(self):
        return self.keys.dtype

    @property
    def value_dtype(self):
        return self.values.dtype

    def pairs(self):
        return list(zip(_items(self.keys), _items(self.values)))


class TextFileIndex:
    """What of a line is the key or value: its number, all of it, or a column."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class TextFileInitializer:
    """Keys and values from the lines of a file."""

    def __init__(self, filename, key_dtype, key_index, value_dtype, value_index, vocab_size=None, delimiter="\t", name=None, value_index_offset=0):
        self.key_dtype, self.value_dtype = _dtypes.as_dtype(key_dtype), _dtypes.as_dtype(value_dtype)
        with open(filename, "rb") as file:
            lines = [line.rstrip(b"\r\n") for line in file]
        self._lines = lines if vocab_size is None else lines[:vocab_size]
        self._key, self._value, self._delimiter = key_index, value_index, delimiter.encode()

    def _part(self, number, line, index, dtype):
        part = number if index == TextFileIndex.LINE_NUMBER else line if index == TextFileIndex.WHOLE_LINE else line.split(self._delimiter)[index]
        return part if dtype == _dtypes.string else (float if dtype.is_floating else int)(part)

    def pairs(self):
        return [(self._part(i, s, self._key, self.key_dtype), self._part(i, s, self._value, self.value_dtype)) for i, s in enumerate(self._lines)]


class _Table:
    """Looks values up; in a traced function when it runs."""

    def _find(self, keys, missing):
        """missing(key) gives the value of a key that is not there."""
        table, dtype = self._table, self._value_dtype
        if isinstance(keys, RaggedTensor):
            return keys.with_flat_values(self._find(keys.flat_values, missing))
        if isinstance(keys, SparseTensor):
            return SparseTensor(keys.indices, self._find(keys.values, missing), keys.dense_shape)
        keys = _tandem.to_tensor(keys, None if hasattr(keys, "dtype") else self._key_dtype)
        if keys.dtype != self._key_dtype:
            raise TypeError(f"Signature mismatch. Keys must be dtype {self._key_dtype!r}, got {keys.dtype!r}.")

        def run(tensors):
            import numpy

            flat = [table[key] if key in table else missing(key) for key in _items(tensors[0])]
            out = numpy.empty(len(flat), object)
            out[:] = flat
            return [_tandem.to_tensor(out.reshape(tensors[0].shape.as_list()).tolist(), dtype)]

        if _tandem.executing_eagerly():
            return run([keys])[0]
        return _tandem.python_call(run, [keys], [(keys.shape, dtype)], None)[0]

    @property
    def key_dtype(self):
        return self._key_dtype

    @property
    def value_dtype(self):
        return self._value_dtype

    def size(self, name=None):
        return _tandem.to_tensor(self._size(), _dtypes.int64)

    def _size(self):
        return len(self._table)

    def __getitem__(self, keys):
        return self.lookup(keys)

    def export(self, name=None):
        return _tandem.to_tensor(list(self._table), self._key_dtype), _tandem.to_tensor(list(self._table.values()), self._value_dtype)


class StaticHashTable(_Table):
    """A table that does not change."""

    def __init__(self, initializer, default_value, name=None, experimental_is_anonymous=False):
        self._key_dtype, self._value_dtype = initializer.key_dtype, initializer.value_dtype
        self._table = {}
        for key, value in initializer.pairs():
            if self._table.setdefault(key, value) != value:
                raise FailedPreconditionError(f"HashTable has different value for same key. Key {key} has {self._table[key]} and trying to add value {value}")
        self._default = _items(_tandem.to_tensor(default_value, self._value_dtype))[0]

    def lookup(self, keys, name=None):
        return self._find(keys, lambda key: self._default)


class StaticVocabularyTable(_Table):
    """Numbers of words; unknown ones share `num_oov_buckets` numbers behind them."""

    def __init__(self, initializer, num_oov_buckets, lookup_key_dtype=None, name=None, experimental_is_anonymous=False):
        self._key_dtype, self._value_dtype = initializer.key_dtype, initializer.value_dtype
        self._table = dict(initializer.pairs())
        self._buckets = int(num_oov_buckets)

    def _size(self):
        return len(self._table) + self._buckets

    def lookup(self, keys, name=None):
        from .keras._engine.farmhash import fingerprint64

        def bucket(key):
            if not self._buckets:
                return -1
            return len(self._table) + fingerprint64(key if isinstance(key, bytes) else str(key).encode()) % self._buckets

        return self._find(keys, bucket)


class experimental:
    """tf.lookup.experimental."""

    class MutableHashTable(_Table):
        """A table that insert() and remove() change."""

        def __init__(self, key_dtype, value_dtype, default_value, name="MutableHashTable", checkpoint=True, experimental_is_anonymous=False):
            self._key_dtype, self._value_dtype = _dtypes.as_dtype(key_dtype), _dtypes.as_dtype(value_dtype)
            self._table = {}
            self._default = _items(_tandem.to_tensor(default_value, self._value_dtype))[0]

        def insert(self, keys, values, name=None):
            self._table.update(zip(_items(_tandem.to_tensor(keys, self._key_dtype)), _items(_tandem.to_tensor(values, self._value_dtype))))

        def _checkpoint_tensors(self):
            keys, values = list(self._table), list(self._table.values())
            return "table", {"-keys": _tandem.to_tensor(keys, self._key_dtype), "-values": _tandem.to_tensor(values, self._value_dtype)}

        def _checkpoint_restore(self, tensors):
            self._table.clear()
            self.insert(tensors["-keys"], tensors["-values"])

        def remove(self, keys, name=None):
            for key in _items(_tandem.to_tensor(keys, self._key_dtype)):
                self._table.pop(key, None)

        def lookup(self, keys, dynamic_default_values=None, name=None):
            return self._find(keys, lambda key: self._default)

    class DenseHashTable(MutableHashTable):
        """A table that insert(), erase() and remove() change; two keys are kept for TensorFlow's sake and cannot be used."""

        def __init__(self, key_dtype, value_dtype, default_value, empty_key, deleted_key, initial_num_buckets=None, name="MutableDenseHashTable",
                     checkpoint=True, experimental_is_anonymous=False):  # fmt: skip
            super().__init__(key_dtype, value_dtype, default_value)
            self._forbidden = {_items(_tandem.to_tensor(key, self._key_dtype))[0]: role for key, role in ((empty_key, "empty"), (deleted_key, "deleted"))}

        def insert(self, keys, values, name=None):
            for key in _items(_tandem.to_tensor(keys, self._key_dtype)):
                if key in self._forbidden:
                    raise InvalidArgumentError(f"E0104 DenseHashTable: {key!r} is the {self._forbidden[key]}_key and cannot be inserted")
            super().insert(keys, values)

        def erase(self, keys, name=None):
            self.remove(keys)


__getattr__, __dir__ = _names.lazy(__name__)
