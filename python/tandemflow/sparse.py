"""tf.sparse: tensors that are mostly zero."""
from . import _names
from ._sparse import SparseTensor, concat, from_dense, reduce_sum, reorder, sparse_dense_matmul, to_dense  # noqa: F401

__getattr__, __dir__ = _names.lazy(
    __name__,
    _names.places_of(
        _sparse_counts="bincount segment_mean segment_sqrt_n segment_sum",
        _sparse_ops="add expand_dims eye fill_empty_rows map_values mask maximum minimum reduce_max reset_shape reshape retain slice softmax split to_indicator transpose"
    ),
)
