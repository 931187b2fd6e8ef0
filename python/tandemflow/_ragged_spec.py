"""tf.RaggedTensorSpec: what is known of a ragged tensor without its values."""
from . import _composites, _dtypes
from ._shape import TensorShape
from ._specs import TensorSpec, TypeSpec


class RaggedTensorSpec(TypeSpec):
    """What is known of a ragged tensor: RaggedTensorSpec([None, None], tf.int32). With ragged_rank 0, of one row."""

    def __init__(self, shape=None, dtype=_dtypes.float32, ragged_rank=None, row_splits_dtype=_dtypes.int64, flat_values_spec=None):
        self.shape = TensorShape(shape)
        self.dtype = _dtypes.as_dtype(dtype)
        if ragged_rank is None:
            if self.shape.rank is None:
                raise ValueError("Must specify ragged_rank or a shape with known rank.")
            ragged_rank = self.shape.rank - 1
        if self.shape.rank is not None and ragged_rank >= self.shape.rank:
            raise ValueError(f"Argument `ragged_rank` ({ragged_rank}) must be less than rank ({self.shape.rank}).")
        self.ragged_rank = int(ragged_rank)
        self.row_splits_dtype = _dtypes.as_dtype(row_splits_dtype)

    @property
    def value_type(self):
        from ._ragged import RaggedTensor

        return RaggedTensor if self.ragged_rank else TensorSpec

    @classmethod
    def from_value(cls, value):
        return cls(value.shape, value.dtype, value.ragged_rank, value.row_splits.dtype)

    def _dataset_parts(self):
        dims = self.shape.dims
        if not self.ragged_rank:
            return _composites.ragged_parts(TensorSpec(self.shape, self.dtype), ())
        rows = None if dims is None or dims[0] is None else dims[0] + 1
        splits = [TensorSpec([rows if not level else None], self.row_splits_dtype) for level in range(self.ragged_rank)]
        return _composites.ragged_parts(TensorSpec(None if dims is None else [None, *dims[self.ragged_rank + 1 :]], self.dtype), splits)

    def __eq__(self, other):
        return isinstance(other, RaggedTensorSpec) and self._fields() == other._fields()

    def _fields(self):
        dims = self.shape.dims
        return None if dims is None else tuple(dims), self.dtype, self.ragged_rank, self.row_splits_dtype

    def __hash__(self):
        return hash(self._fields())

    def __repr__(self):
        return f"RaggedTensorSpec({self.shape!r}, {self.dtype!r}, {self.ragged_rank}, {self.row_splits_dtype!r})"
