"""tf.RaggedTensor: rows of different lengths, as values and where each row begins. Made and used outside traced functions."""
from . import _dtypes, _ops, _tandem
from ._shape import TensorShape


class RaggedTensor:
    """Row i is values[row_splits[i] : row_splits[i + 1]]; the values may be ragged themselves."""

    def __init__(self, values, row_splits):
        self._values = values
        self._splits = row_splits

    # --- Making one. ---

    @classmethod
    def from_row_splits(cls, values, row_splits, name=None, validate=True):
        splits = _tandem.to_tensor(row_splits, None if hasattr(row_splits, "dtype") else _dtypes.int64)
        values = values if isinstance(values, RaggedTensor) else _tandem.to_tensor(values)
        numbers = splits.numpy()
        length = len(values) if isinstance(values, RaggedTensor) else values.shape[0]
        if not len(numbers) or numbers[0] != 0 or (numbers[1:] < numbers[:-1]).any() or numbers[-1] != length:
            raise ValueError(f"RaggedTensor: row_splits must rise from 0 to {length}, the number of values, got {numbers.tolist()}")
        return cls(values, splits)

    @classmethod
    def from_row_lengths(cls, values, row_lengths, name=None, validate=True):
        splits = [0]
        for length in _tandem.as_ints(row_lengths):
            splits.append(splits[-1] + length)
        return cls.from_row_splits(values, splits)

    @classmethod
    def from_value_rowids(cls, values, value_rowids, nrows=None, name=None, validate=True):
        ids = _tandem.as_ints(value_rowids)
        count = int(nrows) if nrows is not None else (ids[-1] + 1 if ids else 0)
        return cls.from_row_lengths(values, [ids.count(row) for row in range(count)])

    @classmethod
    def from_tensor(cls, tensor, lengths=None, padding=None, ragged_rank=1, name=None, row_splits_dtype=_dtypes.int64):
        rows = _tandem.to_tensor(tensor)
        if lengths is not None:
            sizes = _tandem.as_ints(lengths)
        elif padding is not None:
            sizes = [_length_without(row, padding) for row in rows.numpy()]
        else:
            sizes = [rows.shape[1]] * rows.shape[0]
        parts = [rows[i, :size] for i, size in enumerate(sizes)]
        return cls.from_row_lengths(_ops.concat(parts, 0) if parts else _ops.reshape(rows, [0, *rows.shape[2:]]), sizes)

    # --- What it is. ---

    @property
    def values(self):
        return self._values

    @property
    def flat_values(self):
        return self._values.flat_values if isinstance(self._values, RaggedTensor) else self._values

    @property
    def row_splits(self):
        return self._splits

    @property
    def dtype(self):
        return self._values.dtype

    @property
    def ragged_rank(self):
        return 1 + (self._values.ragged_rank if isinstance(self._values, RaggedTensor) else 0)

    @property
    def shape(self):
        inner = self._values.shape[1:]
        return TensorShape([len(self), None, *(inner.dims or [])])

    def nrows(self, out_type=None, name=None):
        return _tandem.to_tensor(len(self), out_type or _dtypes.int64)

    def row_lengths(self, axis=1, name=None):
        return self._splits[1:] - self._splits[:-1]

    def row_starts(self, name=None):
        return self._splits[:-1]

    def value_rowids(self, name=None):
        lengths = self.row_lengths().numpy().tolist()
        return _tandem.to_tensor([row for row, length in enumerate(lengths) for _ in range(length)], _dtypes.int64)

    def bounding_shape(self, axis=None, name=None, out_type=None):
        return _tandem.to_tensor(self.to_tensor().shape.as_list(), out_type or _dtypes.int64)

    def __len__(self):
        return self._splits.shape[0] - 1

    def __getitem__(self, key):
        if isinstance(key, tuple):
            row = self[key[0]]
            if len(key) == 1:
                return row
            return row[key[1:] if len(key) > 2 else key[1]] if not isinstance(row, RaggedTensor) or not isinstance(key[0], slice) else row._map_rows(key[1:])
        if isinstance(key, slice):
            rows = [self[i] for i in range(len(self))[key]]
            return _from_rows(rows, self)
        numbers = self._splits.numpy()
        row = int(key) + (len(self) if int(key) < 0 else 0)
        if not 0 <= row < len(self):
            raise IndexError(f"row {int(key)} of a ragged tensor of {len(self)} rows")
        return self._values[int(numbers[row]) : int(numbers[row + 1])]

    def _map_rows(self, key):
        return _from_rows([self[i][key if len(key) > 1 else key[0]] for i in range(len(self))], self)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    # --- Other forms. ---

    def to_list(self):
        return [row.to_list() if isinstance(row, RaggedTensor) else row.numpy().tolist() for row in self]

    def numpy(self):
        import numpy

        rows = [row.numpy() for row in self]
        out = numpy.empty(len(rows), object)
        out[:] = rows
        return out

    def to_tensor(self, default_value=None, name=None, shape=None):
        """Rows padded to the longest."""
        import numpy

        rows = [row.to_tensor(default_value).numpy() if isinstance(row, RaggedTensor) else row.numpy() for row in self]
        inner = [max((row.shape[axis] for row in rows), default=0) for axis in range(rows[0].ndim if rows else 1)]
        sizes = [len(rows), *inner]
        if shape is not None:
            sizes = [size if wanted is None else int(wanted) for size, wanted in zip(sizes, TensorShape(shape).dims)]
        if default_value is None:
            default_value = b"" if self.dtype == _dtypes.string else 0
        filled = numpy.full(sizes, default_value, object if self.dtype == _dtypes.string else self.dtype.as_numpy_dtype)
        for target, row in zip(filled, rows):
            place = tuple(slice(0, min(a, b)) for a, b in zip(row.shape, target.shape))
            target[place] = row[place]
        return _tandem.to_tensor(filled.tolist() if self.dtype == _dtypes.string else filled, self.dtype)

    def with_values(self, new_values):
        return RaggedTensor(new_values, self._splits)

    def with_flat_values(self, new_values):
        inner = self._values.with_flat_values(new_values) if isinstance(self._values, RaggedTensor) else new_values
        return RaggedTensor(inner, self._splits)

    def _elementwise(self, operation, other, reverse=False):
        right = other.flat_values if isinstance(other, RaggedTensor) else other
        flat = self.flat_values
        return self.with_flat_values(operation(right, flat) if reverse else operation(flat, right))

    def __add__(self, other):
        return self._elementwise(lambda a, b: a + b, other)

    __radd__ = __add__

    def __mul__(self, other):
        return self._elementwise(lambda a, b: a * b, other)

    __rmul__ = __mul__

    def __sub__(self, other):
        return self._elementwise(lambda a, b: a - b, other)

    def __rsub__(self, other):
        return self._elementwise(lambda a, b: a - b, other, True)

    def __truediv__(self, other):
        return self._elementwise(lambda a, b: a / b, other)

    def __repr__(self):
        return f"<tf.RaggedTensor {self.to_list()}>"


def _length_without(row, padding):
    values = row.tolist()
    while values and values[-1] == padding:
        values.pop()
    return len(values)


def _from_rows(rows, like):
    lengths = [len(row) for row in rows]
    if any(isinstance(row, RaggedTensor) for row in rows):
        inner = [part for row in rows for part in row]
        return RaggedTensor.from_row_lengths(_from_rows(inner, like._values), lengths)
    empty = like.flat_values[:0]
    return RaggedTensor.from_row_lengths(_ops.concat(rows, 0) if rows else empty, lengths)


def ragged_constant(pylist, dtype=None, ragged_rank=None, inner_shape=None, name=None, row_splits_dtype=_dtypes.int64):
    """A ragged tensor of nested lists; a tensor when nothing is ragged by its depth."""
    depth = _depth(pylist)
    if depth == 0:
        return _tandem.to_tensor(pylist, dtype)
    levels = depth - 1 if ragged_rank is None else int(ragged_rank)
    return _nested(pylist, levels, dtype)


def _nested(items, levels, dtype):
    if levels == 0:
        return _tandem.to_tensor(list(items), dtype if dtype is not None or items else _dtypes.float32)
    if any(not isinstance(item, (list, tuple)) for item in items):
        raise ValueError("all scalar values must have the same nesting depth")
    return RaggedTensor.from_row_lengths(_nested([part for item in items for part in item], levels - 1, dtype), [len(item) for item in items])


def _depth(value):
    if not isinstance(value, (list, tuple)):
        return 0
    return 1 + max((_depth(item) for item in value), default=0)


def ragged_stack(values, axis=0, name=None):
    """Tensors of different lengths as the rows of a ragged tensor."""
    tensors = [_tandem.to_tensor(value) for value in values]
    return RaggedTensor.from_row_lengths(_ops.concat(tensors, 0), [tensor.shape[0] for tensor in tensors])


def ragged_range(starts, limits=None, deltas=1, dtype=None, name=None, row_splits_dtype=_dtypes.int64):
    """A row of numbers for each pair of ends."""
    starts, limits = ([0] * len(_tandem.as_ints(starts)), starts) if limits is None else (starts, limits)
    rows = [list(range(a, b, int(deltas))) for a, b in zip(_tandem.as_ints(starts), _tandem.as_ints(limits))]
    return ragged_constant(rows, dtype or _dtypes.int32, ragged_rank=1)
