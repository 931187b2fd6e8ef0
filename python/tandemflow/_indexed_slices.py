"""tf.IndexedSlices: some rows of a tensor, and where they stand."""
from . import _dtypes, _ops, _tandem


class IndexedSlices:
    """values[i] is the row indices[i] of a tensor of shape dense_shape; tf.convert_to_tensor adds up rows named twice."""

    def __init__(self, values, indices, dense_shape=None):
        self._values = _tandem.to_tensor(values)
        self._indices = _tandem.to_tensor(indices, None if hasattr(indices, "dtype") else _dtypes.int32)
        self._shape = None if dense_shape is None else _tandem.to_tensor(dense_shape)
        self._dense = self._parts = None

    @classmethod
    def of_gradient(cls, dense, parts):
        """Of a gradient that is there as a whole; `parts` are the rows it was made of and their indices, of any rank."""
        slices = cls.__new__(cls)
        slices._values = slices._indices = slices._shape = None
        slices._dense, slices._parts = dense, parts
        return slices

    def _scaled(self, factor):
        """All rows times a number."""
        slices = IndexedSlices(self.values * factor, self.indices, self.dense_shape)
        slices._dense = None if self._dense is None else self._dense * factor
        return slices

    @property
    def values(self):
        if self._values is None:
            row = self._dense.shape.as_list()[1:]
            rows = [_ops.reshape(values, [-1, *row]) for values, _ in self._parts]
            self._values = rows[0] if len(rows) == 1 else _ops.concat(rows, 0)
        return self._values

    @property
    def indices(self):
        if self._indices is None:
            every = [_ops.reshape(indices, [-1]) for _, indices in self._parts]
            self._indices = every[0] if len(every) == 1 else _ops.concat([_ops.cast(i, _dtypes.int64) for i in every], 0)
        return self._indices

    @property
    def dense_shape(self):
        if self._shape is None and self._dense is not None:
            self._shape = _tandem.to_tensor(self._dense.shape.as_list(), _dtypes.int32)
        return self._shape

    @property
    def dtype(self):
        return (self._values if self._dense is None else self._dense).dtype

    @property
    def shape(self):
        from ._shape import TensorShape

        return TensorShape([None, *self.values.shape[1:]] if self.dense_shape is None else _tandem.as_ints(self.dense_shape))

    def to_dense(self):
        """The whole tensor, zero where no row stands."""
        if self._dense is not None:
            return self._dense
        if self.dense_shape is None:
            raise ValueError("IndexedSlices without dense_shape cannot become a tensor: how many rows has it?")
        zeros = _ops.zeros(_tandem.as_ints(self.dense_shape), self.dtype)
        return _ops.records["tensor_scatter_nd_add"](zeros, _ops.expand_dims(self.indices, -1), self.values)

    def __tf_tensor__(self, dtype=None, name=None):
        return self.to_dense()

    def __tandem_op__(self, name, args, kwargs):
        dense = [arg.to_dense() if isinstance(arg, IndexedSlices) else arg for arg in args]
        return _ops.records[name](*dense, **kwargs)

    def __neg__(self):
        return self._scaled(-1)

    @property
    def name(self):
        return "IndexedSlices"

    @property
    def device(self):
        return self.values.device

    def consumers(self):
        return []

    def __repr__(self):
        sizes = "" if self.dense_shape is None else f", dense_shape={self.dense_shape!s}"
        return f"IndexedSlices(indices={self.indices!s}, values={self.values!s}{sizes})"
