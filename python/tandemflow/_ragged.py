"""tf.RaggedTensor: rows of different lengths, as values and where each row begins. Made and used outside traced functions."""
from . import _composites, _dtypes, _ops, _tandem
from ._ragged_making import RaggedFactories
from ._shape import TensorShape


class RaggedTensor(RaggedFactories):
    """Row i is values[row_splits[i] : row_splits[i + 1]]; the values may be ragged themselves."""

    _runs_op_by_op = True  # a tf.function with it is not traced

    def __init__(self, values, row_splits):
        self._values = values
        self._splits = row_splits

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

    def merge_dims(self, outer_axis, inner_axis):
        """Two neighbouring axes as one."""
        outer, inner = (axis + (self.shape.rank if axis < 0 else 0) for axis in (outer_axis, inner_axis))
        if inner != outer + 1:
            raise NotImplementedError(f"merge_dims: axes next to each other are merged, got {outer_axis} and {inner_axis}")
        if outer == 0:
            return self._values
        if outer > 1 or not isinstance(self._values, RaggedTensor):
            values = self._values
            merged = values.merge_dims(outer - 1, inner - 1) if isinstance(values, RaggedTensor) else _ops.reshape(values, [-1, *values.shape[2:]])
            return self.with_values(merged)
        return RaggedTensor.from_row_lengths(self._values.values, [int(_lengths(row).sum()) for row in self])

    def nrows(self, out_type=None, name=None):
        return _tandem.to_tensor(len(self), out_type or _dtypes.int64)

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
            return from_rows(rows, self)
        numbers = self._splits.numpy()
        row = int(key) + (len(self) if int(key) < 0 else 0)
        if not 0 <= row < len(self):
            raise IndexError(f"row {int(key)} of a ragged tensor of {len(self)} rows")
        return self._values[int(numbers[row]) : int(numbers[row + 1])]

    def _map_rows(self, key):
        return from_rows([self[i][key if len(key) > 1 else key[0]] for i in range(len(self))], self)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    # --- Other forms. ---

    def to_list(self):
        return [row.to_list() if isinstance(row, RaggedTensor) else row.numpy().tolist() for row in self]

    def numpy(self):
        import numpy

        rows = [row.numpy() for row in self]
        if len({row.shape for row in rows}) == 1:
            return numpy.stack(rows)
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

    def to_sparse(self, name=None):
        """The values with their places."""
        from ._sparse import SparseTensor

        lengths = self.row_lengths().numpy().tolist()
        places = [[row, column] for row, length in enumerate(lengths) for column in range(length)]
        return SparseTensor(_ops.reshape(_tandem.to_tensor(places, _dtypes.int64), [-1, 2]), self.values, [len(self), max(lengths, default=0)])

    def with_values(self, new_values):
        return RaggedTensor(new_values, self._splits)

    def with_flat_values(self, new_values):
        inner = self._values.with_flat_values(new_values) if isinstance(self._values, RaggedTensor) else new_values
        return RaggedTensor(inner, self._splits)

    def _dataset_parts(self):
        return _composites.ragged_parts(self.flat_values, self.nested_row_splits)

    def __bool__(self):
        raise TypeError("RaggedTensor may not be used as a boolean.")

    def __tandem_op__(self, name, args, kwargs):
        from . import _ragged_ops

        return _ragged_ops.run(name, args, kwargs)

    def __repr__(self):
        """Lines break where NumPy breaks them, as in TensorFlow."""
        import numpy

        def text(value):
            if not isinstance(value, numpy.ndarray):
                return str(value)
            return numpy.array2string(value, separator=", ") if value.size else repr(value.tolist())

        with numpy.printoptions(formatter={"all": text}):
            return f"<tf.RaggedTensor {text(self.numpy())}>"


def _operator(name, reverse):
    def method(self, other):
        return _ops.records[name](other, self) if reverse else _ops.records[name](self, other)

    return method


for _method, _name in [
    ("add", "add"), ("sub", "subtract"), ("mul", "multiply"), ("truediv", "divide"), ("floordiv", "floordiv"), ("mod", "floormod"), ("pow", "pow"),
]:  # fmt: skip
    setattr(RaggedTensor, f"__{_method}__", _operator(_name, False))
    setattr(RaggedTensor, f"__r{_method}__", _operator(_name, True))
for _method, _name in [
    ("eq", "equal"), ("ne", "not_equal"), ("lt", "less"), ("le", "less_equal"), ("gt", "greater"), ("ge", "greater_equal"),
    ("and", "logical_and"), ("or", "logical_or"),
]:  # fmt: skip
    setattr(RaggedTensor, f"__{_method}__", _operator(_name, False))
RaggedTensor.__hash__ = object.__hash__
RaggedTensor.__neg__ = lambda self: _ops.records["negative"](self)
RaggedTensor.__abs__ = lambda self: _ops.records["abs"](self)
RaggedTensor.__invert__ = lambda self: _ops.records["logical_not"](self)


def from_rows(rows, like):
    lengths = [len(row) for row in rows]
    if any(isinstance(row, RaggedTensor) for row in rows):
        inner = [part for row in rows for part in row]
        return RaggedTensor.from_row_lengths(from_rows(inner, like._values), lengths)
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


def _lengths(row):
    return row.row_lengths().numpy()


def map_flat_values(op, *args, **kwargs):
    """op of the flat values, with the rows that they had."""
    ragged = [arg for arg in (*args, *kwargs.values()) if isinstance(arg, RaggedTensor)]
    values = lambda arg: arg.flat_values if isinstance(arg, RaggedTensor) else arg  # noqa: E731
    result = op(*map(values, args), **{name: values(arg) for name, arg in kwargs.items()})
    return ragged[0].with_flat_values(result) if ragged else result


def boolean_mask(data, mask, name=None):
    """The values that the mask keeps, in the rows that they had."""
    data, mask = (value if isinstance(value, RaggedTensor) else _tandem.to_tensor(value) for value in (data, mask))
    if mask.shape.rank == 1 and not isinstance(data, RaggedTensor):
        return _ops.gather(data, [i for i, keep in enumerate(mask.numpy().tolist()) if keep])
    if mask.shape.rank == 1:
        return from_rows([row for row, keep in zip(data, mask.numpy().tolist()) if keep], data)
    places = lambda marks: _tandem.to_tensor([i for i, keep in enumerate(marks.numpy().tolist()) if keep], _dtypes.int64)  # noqa: E731
    kept = [_ops.gather(row, places(marks)) for row, marks in zip(data, mask)]
    return RaggedTensor.from_row_lengths(_ops.concat(kept, 0), [len(row) for row in kept])


def segment_ids_to_row_splits(segment_ids, num_segments=None, out_type=None, name=None):
    """Where the rows begin that segment ids name."""
    ids = _tandem.as_ints(segment_ids)
    count = int(num_segments) if num_segments is not None else (ids[-1] + 1 if ids else 0)
    return _tandem.to_tensor([sum(i < row for i in ids) for row in range(count + 1)], out_type or _dtypes.int64)


def row_splits_to_segment_ids(splits, name=None, out_type=None):
    """The number of the row for each value."""
    ends = _tandem.as_ints(splits)
    return _tandem.to_tensor([row for row in range(len(ends) - 1) for _ in range(ends[row + 1] - ends[row])], out_type or _dtypes.int64)


def ragged_stack(values, axis=0, name=None):
    """Tensors of different lengths as the rows of a ragged tensor."""
    if any(isinstance(value, RaggedTensor) for value in values):
        from . import _ragged_ops

        return _ragged_ops.run("stack", (list(values), axis), {})
    tensors = [_tandem.to_tensor(value) for value in values]
    return RaggedTensor.from_row_lengths(_ops.concat(tensors, 0), [tensor.shape[0] for tensor in tensors])


def ragged_range(starts, limits=None, deltas=1, dtype=None, name=None, row_splits_dtype=_dtypes.int64):
    """A row of numbers for each pair of ends; single numbers stand for all rows."""
    import numpy

    starts, limits = (0, starts) if limits is None else (starts, limits)
    given = [_tandem.to_tensor(value) if dtype is None else _tandem.to_tensor(value, dtype) for value in (starts, limits, deltas)]
    order = [_dtypes.int32, _dtypes.int64, _dtypes.float32, _dtypes.float64]
    dtype = max((value.dtype for value in given), key=order.index)
    arrays = numpy.broadcast_arrays(*(numpy.atleast_1d(value.numpy()).astype(dtype.as_numpy_dtype) for value in given))
    if not numpy.all(arrays[2]):
        from .errors import InvalidArgumentError

        raise InvalidArgumentError("Requires delta != 0")
    lengths = numpy.maximum(0, numpy.ceil((arrays[1] - arrays[0]) / arrays[2])).astype("int64")
    rows = [start + delta * numpy.arange(length, dtype=start.dtype) for start, delta, length in zip(arrays[0], arrays[2], lengths)]
    values = numpy.concatenate(rows) if rows else numpy.zeros(0, dtype.as_numpy_dtype)
    return RaggedTensor.from_row_lengths(_tandem.to_tensor(values, dtype), lengths).with_row_splits_dtype(row_splits_dtype)
