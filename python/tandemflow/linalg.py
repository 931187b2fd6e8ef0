"""tf.linalg: matrices."""
from ._einsum import einsum, tensordot  # noqa: F401
from ._ops import eye, matmul, transpose  # noqa: F401


def matrix_transpose(a, name="matrix_transpose", conjugate=False):
    """The last two axes exchanged."""
    rank = a.ndim if hasattr(a, "ndim") else len(a)
    return transpose(a, [*range(rank - 2), rank - 1, rank - 2])
