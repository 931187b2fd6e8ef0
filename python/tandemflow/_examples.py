"""Features of serialised tf.train.Example and SequenceExample messages, as tensors."""
from collections import namedtuple

import numpy

from . import _dtypes, _tandem
from .errors import DataLossError, InvalidArgumentError


class FixedLenFeature(namedtuple("FixedLenFeature", "shape dtype default_value")):
    """A feature with as many values in every example; `default_value` stands where it is missing."""

    def __new__(cls, shape, dtype, default_value=None):
        return super().__new__(cls, shape, _dtypes.as_dtype(dtype), default_value)

    def _entries(self, name):
        if not hasattr(self.shape, "__index__") and any(size is None for size in self.shape):
            raise ValueError(f"First dimension of shape for feature {name} unknown. Consider using FixedLenSequenceFeature. Received feature={self}")
        return [(name, self.dtype, _tandem.as_ints(self.shape), False, self.default_value)]

    def _one(self, columns):
        return columns[0]


class VarLenFeature(namedtuple("VarLenFeature", "dtype")):
    """A feature with any number of values: a tf.SparseTensor."""

    def __new__(cls, dtype):
        return super().__new__(cls, _dtypes.as_dtype(dtype))

    def _entries(self, name):
        return [(name, self.dtype, [], True, None)]

    def _one(self, columns):
        from ._sparse import row_of_size

        return row_of_size(columns[0], [-1])

    def _many(self, rows):
        from ._sparse import SparseTensor

        lengths = [row[0].shape[0] for row in rows]
        places = [(row, column) for row, length in enumerate(lengths) for column in range(length)]
        values = _joined([row[0] for row in rows], self.dtype)
        return SparseTensor(numpy.array(places, "int64").reshape(-1, 2), values, [len(rows), max(lengths, default=0)])


class FixedLenSequenceFeature(namedtuple("FixedLenSequenceFeature", "shape dtype allow_missing default_value")):
    """A feature with any number of parts of one shape; shorter examples are filled up with `default_value`."""

    def __new__(cls, shape, dtype, allow_missing=False, default_value=None):
        return super().__new__(cls, shape, _dtypes.as_dtype(dtype), allow_missing, default_value)

    def _entries(self, name):
        return [(name, self.dtype, [], True, None)]

    def _one(self, columns):
        from ._ops import reshape

        sizes = _tandem.as_ints(self.shape)
        each = int(numpy.prod(sizes, dtype=int))
        if each and columns[0].shape[0] % each:
            raise InvalidArgumentError(f"FixedLenSequenceFeature: {columns[0].shape[0]} values are no whole number of parts of shape {sizes}")
        return reshape(columns[0], [columns[0].shape[0] // each if each else 0, *sizes])

    def _many(self, rows):
        parts = [self._one(row).numpy() for row in rows]
        return _padded(parts, self.dtype, self.default_value, _tandem.as_ints(self.shape))


class RaggedFeature(namedtuple("RaggedFeature", "dtype value_key partitions row_splits_dtype validate")):
    """A feature with any number of values: a tensor of one example, a tf.RaggedTensor of many; `partitions` divide its values."""

    RowSplits, RowLengths, RowStarts, RowLimits, ValueRowIds = (
        namedtuple(kind, "key") for kind in ("RowSplits", "RowLengths", "RowStarts", "RowLimits", "ValueRowIds")
    )
    UniformRowLength = namedtuple("UniformRowLength", "length")

    def __new__(cls, dtype, value_key=None, partitions=(), row_splits_dtype=_dtypes.int32, validate=False):
        return super().__new__(cls, _dtypes.as_dtype(dtype), value_key, tuple(partitions), _dtypes.as_dtype(row_splits_dtype), validate)

    def _entries(self, name):
        keys = [part.key for part in self.partitions if not isinstance(part, self.UniformRowLength)]
        return [(self.value_key or name, self.dtype, [], True, None), *((key, _dtypes.int64, [], True, None) for key in keys)]

    def _one(self, columns):
        from ._ragged import RaggedTensor

        makers = {"RowSplits": "from_row_splits", "RowLengths": "from_row_lengths", "RowStarts": "from_row_starts",
                  "RowLimits": "from_row_limits", "ValueRowIds": "from_value_rowids", "UniformRowLength": "from_uniform_row_length"}  # fmt: skip
        values, rest = columns[0], list(columns[1:])
        for part in reversed(self.partitions):
            given = part.length if isinstance(part, self.UniformRowLength) else rest.pop()
            values = getattr(RaggedTensor, makers[type(part).__name__])(values, given)
        return values.with_row_splits_dtype(self.row_splits_dtype) if self.partitions else values

    def _many(self, rows):
        from ._ragged import RaggedTensor, ragged_stack

        parts = [self._one(row) for row in rows]
        if not self.partitions:
            whole = RaggedTensor.from_row_lengths(_joined(parts, self.dtype), [part.shape[0] for part in parts])
        else:
            whole = ragged_stack(parts)
        return whole.with_row_splits_dtype(self.row_splits_dtype)


class SparseFeature(namedtuple("SparseFeature", "index_key value_key dtype size already_sorted")):
    """A tf.SparseTensor whose places and values are features of their own."""

    def __new__(cls, index_key, value_key, dtype, size, already_sorted=False):
        return super().__new__(cls, index_key, value_key, _dtypes.as_dtype(dtype), size, already_sorted)

    def _entries(self, name):
        keys = [self.index_key] if isinstance(self.index_key, str) else self.index_key
        return [(self.value_key, self.dtype, [], True, None), *((key, _dtypes.int64, [], True, None) for key in keys)]

    def _one(self, columns):
        from ._sparse import SparseTensor, reorder

        places = numpy.stack([column.numpy() for column in columns[1:]], 1)
        return reorder(SparseTensor(places, columns[0], _tandem.as_ints(self.size)))

    def _many(self, rows):
        from ._sparse import SparseTensor, reorder

        places = [numpy.stack([numpy.full(row[0].shape[0], at), *(column.numpy() for column in row[1:])], 1) for at, row in enumerate(rows)]
        values = _joined([row[0] for row in rows], self.dtype)
        return reorder(SparseTensor(numpy.concatenate(places), values, [len(rows), *_tandem.as_ints(self.size)]))


def _array_dtype(dtype):
    return object if dtype == _dtypes.string else dtype.as_numpy_dtype


def _joined(parts, dtype):
    arrays = [part.numpy() for part in parts]
    return _tandem.to_tensor(numpy.concatenate(arrays) if arrays else [], dtype)


def _padded(parts, dtype, default, sizes):
    """Arrays of different lengths under a new first axis."""
    if default is None:
        default = b"" if dtype == _dtypes.string else 0
    filled = numpy.full([len(parts), max((len(part) for part in parts), default=0), *sizes], default, _array_dtype(dtype))
    for target, part in zip(filled, parts):
        target[: len(part)] = part
    return _tandem.to_tensor(filled, dtype)


# --- tf.train.Example. ---


def _check(features):
    if not features:
        raise ValueError("Missing: `features` was not given or is empty.")
    for name, feature in features.items():
        if not hasattr(feature, "_entries"):
            raise ValueError(
                f"parse_example: feature {name!r} must be a tf.io.FixedLenFeature, VarLenFeature, FixedLenSequenceFeature, RaggedFeature or SparseFeature, got {feature!r}"
            )
        if isinstance(feature, FixedLenSequenceFeature) and not feature.allow_missing:
            raise ValueError(f"Unsupported: FixedLenSequenceFeature requires allow_missing to be True. Received feature={feature}")


def _parsed(parse, serialized, entries):
    """Bytes that are no example are a wrong argument, as in TensorFlow, not a damaged file."""
    try:
        return parse(serialized, entries)
    except DataLossError as error:
        raise InvalidArgumentError(str(error)) from None


def parse_single_example(serialized, features, example_names=None, name=None):
    """The features of one serialised tf.train.Example, by name."""
    _check(features)
    entries = [entry for name, feature in features.items() for entry in feature._entries(name)]
    columns = iter(_parsed(_tandem.parse_single_example, serialized, entries))
    return {name: feature._one([next(columns) for _ in feature._entries(name)]) for name, feature in features.items()}


def parse_example(serialized, features, example_names=None, name=None):
    """The features of many serialised examples, by name, with a first axis."""
    _check(features)
    serialized = _tandem.to_tensor(serialized)
    if serialized.ndim == 0:
        return parse_single_example(serialized, features)
    fixed = {name: feature for name, feature in features.items() if isinstance(feature, FixedLenFeature)}
    found = dict(zip(fixed, _parsed(_tandem.parse_example, serialized, [feature._entries(name)[0] for name, feature in fixed.items()]))) if fixed else {}
    others = {name: feature for name, feature in features.items() if name not in fixed}
    if others:
        entries = [entry for name, feature in others.items() for entry in feature._entries(name)]
        rows = [_parsed(_tandem.parse_single_example, example, entries) for example in _tandem.to_tensor(serialized)]
        at = 0
        for name, feature in others.items():
            count = len(feature._entries(name))
            found[name] = feature._many([row[at : at + count] for row in rows])
            at += count
    return {name: found[name] for name in features}


# --- tf.train.SequenceExample. ---


def parse_single_sequence_example(serialized, context_features=None, sequence_features=None, example_name=None, name=None):
    """(context, sequences) of one serialised tf.train.SequenceExample: features by name, sequences with a first axis for their steps."""
    context, sequences, _ = parse_sequence_example([serialized], context_features, sequence_features, _single=True)
    return context, sequences


def parse_sequence_example(serialized, context_features=None, sequence_features=None, example_names=None, name=None, _single=False):
    """(context, sequences, lengths) of many serialised SequenceExamples; `lengths` says how many steps each sequence has."""
    if not context_features and not sequence_features:
        raise ValueError("Missing: `context_features` and `sequence_features` were not given or are empty.")
    from .train import SequenceExample

    messages = [SequenceExample.FromString(_bytes(one)) for one in (serialized if _single else _tandem.to_tensor(serialized))]
    context = _contexts(messages, context_features or {}, _single)
    sequences, lengths = {}, {}
    for key, feature in (sequence_features or {}).items():
        steps = [_steps(message, key, feature) for message in messages]
        sequences[key] = _sequence(steps, feature, _single)
        lengths[key] = _tandem.to_tensor([len(step) for step in steps], _dtypes.int64)
    return context, sequences, lengths


def _bytes(value):
    value = value.numpy() if hasattr(value, "numpy") else value
    return value if isinstance(value, bytes) else bytes(value)


def _contexts(messages, features, single):
    if not features:
        return {}
    from .train import Example

    serialized = [Example(message.context).SerializeToString() for message in messages]
    return parse_single_example(serialized[0], features) if single else parse_example(serialized, features)


def _steps(message, key, feature):
    """The values of each step of one sequence, as arrays."""
    kind = {_dtypes.string: "bytes_list", _dtypes.float32: "float_list", _dtypes.int64: "int64_list"}.get(feature.dtype)
    if kind is None:
        raise ValueError(f"parse_sequence_example: feature {key!r} must be float32, int64 or string, got {feature.dtype.name}")
    if key not in message.feature_lists.feature_list:
        if isinstance(feature, FixedLenSequenceFeature) and not feature.allow_missing:
            raise InvalidArgumentError(f"Name: <unknown>, Feature list '{key}' is required but could not be found.  Did you mean to include it in feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?")
        return []
    steps = message.feature_lists.feature_list[key].feature
    wrong = [step.WhichOneof("kind") for step in steps if step.WhichOneof("kind") not in (None, kind)]
    if wrong:
        raise InvalidArgumentError(f"parse_sequence_example: feature {key!r} holds {wrong[0]}, needed {kind} for dtype {feature.dtype.name}")
    return [numpy.array(getattr(step, kind).value, _array_dtype(feature.dtype)) for step in steps]


def _sequence(steps, feature, single):
    """The steps of every example, as the feature says."""
    if isinstance(feature, FixedLenSequenceFeature):
        sizes = _tandem.as_ints(feature.shape)
        arrays = [numpy.array([step.reshape(sizes) for step in example], _array_dtype(feature.dtype)).reshape([len(example), *sizes]) for example in steps]
        return _tandem.to_tensor(arrays[0], feature.dtype) if single else _padded(arrays, feature.dtype, feature.default_value, sizes)
    from ._ragged import RaggedTensor

    counts, lengths = [len(example) for example in steps], [len(step) for example in steps for step in example]
    flat = numpy.concatenate([step for example in steps for step in example]) if lengths else []
    rows = RaggedTensor.from_row_lengths(_tandem.to_tensor(flat, feature.dtype), lengths)
    if isinstance(feature, RaggedFeature):
        whole = rows if single else RaggedTensor.from_row_lengths(rows, counts)
        return whole.with_row_splits_dtype(feature.row_splits_dtype)
    if not isinstance(feature, VarLenFeature):
        raise ValueError(f"parse_sequence_example: a sequence must be a FixedLenSequenceFeature, VarLenFeature or RaggedFeature, got {feature!r}")
    return _sparse_steps(rows, counts, lengths, single)


def _sparse_steps(rows, counts, lengths, single):
    from ._sparse import SparseTensor

    places, at = [], 0
    for example, count in enumerate(counts):
        for step in range(count):
            places += [[example, step, i] for i in range(lengths[at])]
            at += 1
    places = numpy.array(places, "int64").reshape(-1, 3)
    sizes = [len(counts), max(counts, default=0), max(lengths, default=0)]
    return SparseTensor(places[:, 1:], rows.values, sizes[1:]) if single else SparseTensor(places, rows.values, sizes)
