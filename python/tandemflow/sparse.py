"""tf.sparse: tensors that are mostly zero."""
from . import _names
from ._sparse import SparseTensor, concat, from_dense, reduce_sum, reorder, sparse_dense_matmul, to_dense  # noqa: F401

__getattr__, __dir__ = _names.lazy(__name__)
