"""tf.IndexedSlices: some rows of a tensor, and where they stand."""
from . import _dtypes, _ops, _tandem


class IndexedSlices:
    """values[i] is the row indices[i] of a tensor of shape dense_shape; tf.convert_to_tensor adds up rows named twice."""

    def __init__(self, values, indices, dense_shape=None):
        self.values = _tandem.to_tensor(values)
        self.indices = _tandem.to_tensor(indices, None if hasattr(indices, "dtype") else _dtypes.int32)
        self.dense_shape = None if dense_shape is None else _tandem.to_tensor(dense_shape)

    @property
    def dtype(self):
        return self.values.dtype

    @property
    def shape(self):
        from ._shape import TensorShape

        return TensorShape([None, *self.values.shape[1:]] if self.dense_shape is None else _tandem.as_ints(self.dense_shape))

    def to_dense(self):
        """The whole tensor, zero where no row stands."""
        if self.dense_shape is None:
            raise ValueError("IndexedSlices without dense_shape cannot become a tensor: how many rows has it?")
        zeros = _ops.zeros(_tandem.as_ints(self.dense_shape), self.dtype)
        return _ops.records["tensor_scatter_nd_add"](zeros, _ops.expand_dims(self.indices, -1), self.values)

    def __tandem_op__(self, name, args, kwargs):
        dense = [arg.to_dense() if isinstance(arg, IndexedSlices) else arg for arg in args]
        return _ops.records[name](*dense, **kwargs)

    def __neg__(self):
        return IndexedSlices(-self.values, self.indices, self.dense_shape)

    def __repr__(self):
        sizes = "" if self.dense_shape is None else f", dense_shape={self.dense_shape!s}"
        return f"IndexedSlices(indices={self.indices!s}, values={self.values!s}{sizes})"
