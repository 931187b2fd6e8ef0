"""The ways to make a tf.RaggedTensor, and the forms that the division into rows may be asked for."""
from . import _dtypes, _ops, _tandem
from .errors import InvalidArgumentError


def _values(values):
    return values if isinstance(values, RaggedFactories) else _tandem.to_tensor(values)


class RaggedFactories:
    """from_… of RaggedTensor; `cls` takes the values and where each row begins."""

    @classmethod
    def from_row_splits(cls, values, row_splits, name=None, validate=True):
        splits = _tandem.to_tensor(row_splits, None if hasattr(row_splits, "dtype") else _dtypes.int64)
        values, numbers = _values(values), splits.numpy()
        length = len(values) if isinstance(values, RaggedFactories) else values.shape[0]
        if not len(numbers) or numbers[0] != 0 or (numbers[1:] < numbers[:-1]).any() or numbers[-1] != length:
            raise InvalidArgumentError(f"RaggedTensor: row_splits must rise from 0 to {length}, the number of values, got {numbers.tolist()}")
        return cls(values, splits)

    @classmethod
    def from_row_lengths(cls, values, row_lengths, name=None, validate=True):
        splits = [0]
        for length in _tandem.as_ints(row_lengths):
            splits.append(splits[-1] + length)
        return cls.from_row_splits(values, splits)

    @classmethod
    def from_row_starts(cls, values, row_starts, name=None, validate=True):
        values = _values(values)
        return cls.from_row_splits(values, [*_tandem.as_ints(row_starts), int(values.shape[0])])

    @classmethod
    def from_row_limits(cls, values, row_limits, name=None, validate=True):
        return cls.from_row_splits(values, [0, *_tandem.as_ints(row_limits)])

    @classmethod
    def from_value_rowids(cls, values, value_rowids, nrows=None, name=None, validate=True):
        ids = _tandem.as_ints(value_rowids)
        count = int(nrows) if nrows is not None else (ids[-1] + 1 if ids else 0)
        if ids != sorted(ids) or ids and not 0 <= ids[0] <= ids[-1] < count:
            raise InvalidArgumentError(f"RaggedTensor: value_rowids must rise from 0 to less than nrows={count}, got {ids}")
        lengths = [0] * count
        for row in ids:
            lengths[row] += 1
        return cls.from_row_lengths(values, lengths)

    @classmethod
    def from_tensor(cls, tensor, lengths=None, padding=None, ragged_rank=1, name=None, row_splits_dtype=_dtypes.int64):
        rows = _tandem.to_tensor(tensor)
        if rows.ndim < 2 or not 0 < ragged_rank < rows.ndim:
            raise ValueError(f"from_tensor: needs 0 < ragged_rank < the number of axes, got ragged_rank={ragged_rank} and shape {rows.shape}")
        if ragged_rank > 1:
            if lengths is not None or padding is not None:
                raise NotImplementedError(f"from_tensor: lengths and padding need ragged_rank=1, got {ragged_rank}")
            outer, *inner = rows.shape.as_list()
            below = cls.from_tensor(_ops.reshape(rows, [outer * inner[0], *inner[1:]]), ragged_rank=ragged_rank - 1)
            return cls.from_uniform_row_length(below, inner[0], outer)
        if lengths is not None:
            sizes = _tandem.as_ints(lengths)
        elif padding is not None:
            sizes = [_length_without(row, padding) for row in rows.numpy()]
        else:
            sizes = [rows.shape[1]] * rows.shape[0]
        parts = [rows[i, :size] for i, size in enumerate(sizes)]
        return cls.from_row_lengths(_ops.concat(parts, 0) if parts else _ops.reshape(rows, [0, *rows.shape[2:]]), sizes)

    @classmethod
    def from_uniform_row_length(cls, values, uniform_row_length, nrows=None, name=None, validate=True):
        values = _values(values)
        length, size = int(uniform_row_length), len(values)
        count = int(nrows) if nrows is not None else size // max(length, 1)
        return cls.from_row_lengths(values, [length] * count)

    @classmethod
    def from_nested_row_splits(cls, flat_values, nested_row_splits, name=None, validate=True):
        values = flat_values
        for splits in reversed(nested_row_splits):
            values = cls.from_row_splits(values, splits)
        return values

    @classmethod
    def from_nested_row_lengths(cls, flat_values, nested_row_lengths, name=None, validate=True):
        values = flat_values
        for lengths in reversed(nested_row_lengths):
            values = cls.from_row_lengths(values, lengths)
        return values

    @classmethod
    def from_nested_value_rowids(cls, flat_values, nested_value_rowids, nested_nrows=None, name=None, validate=True):
        values, counts = flat_values, nested_nrows or [None] * len(nested_value_rowids)
        for ids, count in zip(reversed(nested_value_rowids), reversed(counts)):
            values = cls.from_value_rowids(values, ids, count)
        return values

    @classmethod
    def from_sparse(cls, st_input, name=None, row_splits_dtype=_dtypes.int64):
        rows = st_input.indices.numpy()[:, 0].tolist()
        return cls.from_value_rowids(st_input.values, rows, st_input.shape[0])

    # --- The division into rows. ---

    def row_lengths(self, axis=1, name=None):
        if axis > 1:
            return self.with_values(self.values.row_lengths(axis - 1))
        return self.row_splits[1:] - self.row_splits[:-1]

    def row_starts(self, name=None):
        return self.row_splits[:-1]

    def row_limits(self, name=None):
        return self.row_splits[1:]

    def value_rowids(self, name=None):
        lengths = self.row_lengths().numpy().tolist()
        return _tandem.to_tensor([row for row, length in enumerate(lengths) for _ in range(length)], _dtypes.int64)

    def _levels(self):
        return (self, *(self.values._levels() if isinstance(self.values, RaggedFactories) else ()))

    @property
    def nested_row_splits(self):
        """The row splits of every level, outermost first."""
        return tuple(level.row_splits for level in self._levels())

    def nested_row_lengths(self, name=None):
        """The lengths of the rows of every level, outermost first."""
        return tuple(level.row_lengths() for level in self._levels())

    def nested_value_rowids(self, name=None):
        """The row of each value, for every level, outermost first."""
        return tuple(level.value_rowids() for level in self._levels())

    @property
    def uniform_row_length(self):
        """None: rows are always kept by where they begin."""
        return None

    def with_row_splits_dtype(self, dtype):
        inner = self.values.with_row_splits_dtype(dtype) if isinstance(self.values, RaggedFactories) else self.values
        return type(self)(inner, _ops.cast(self.row_splits, dtype))

    def get_shape(self):
        return self.shape


def _length_without(row, padding):
    values = row.tolist()
    while values and values[-1] == padding:
        values.pop()
    return len(values)
