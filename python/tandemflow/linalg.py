"""tf.linalg: matrices."""
from . import _names
from ._arrays import global_norm, l2_normalize, norm  # noqa: F401
from ._matrices import diag, diag_part, matrix_transpose, set_diag, trace  # noqa: F401
from ._matrices import matrix_band_part as band_part  # noqa: F401
from ._einsum import einsum, tensordot  # noqa: F401
from ._ops import eye, matmul, transpose  # noqa: F401
from ._linalg import exported as _composed

globals().update(_composed)

__getattr__, __dir__ = _names.lazy(
    __name__,
    _names.places_of(
        _linear_operator="LinearOperator",
        _linear_operators=" ".join(
            "LinearOperator" + kind
            for kind in "Adjoint Composition Diag FullMatrix Householder Identity Inversion LowerTriangular Permutation "
            "ScaledIdentity Toeplitz Tridiag Zeros".split()
        ),
        _factors="eig eigvals lu lu_matrix_inverse lu_reconstruct lu_solve tridiagonal_matmul tridiagonal_solve",
        _block_operators="LinearOperatorBlockDiag LinearOperatorBlockLowerTriangular LinearOperatorKronecker LinearOperatorLowRankUpdate",
    ),
)
