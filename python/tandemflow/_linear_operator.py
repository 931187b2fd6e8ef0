"""The base class of matrices that are known by their structure: what each can do through its dense form."""
from . import _linalg, _matrices, _ops, _tandem
from ._shape import TensorShape


def operand(value):
    """A tensor of the value; a variable stays one, so that it is read when it is used."""
    return value if isinstance(value, _tandem.Variable) else _tandem.to_tensor(value)


class LinearOperator:
    """A matrix, or a batch of them, [..., M, N]. Classes below replace what their structure does in less time."""

    def __init__(self, dtype, shape, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None, name=None):
        self._dtype, self._shape = dtype, TensorShape(shape)
        rows, columns = self._shape.as_list()[-2:]
        if is_square is not None and bool(is_square) != (rows == columns):
            raise ValueError(f"{type(self).__name__}: is_square={is_square}, but the matrices have {rows} rows and {columns} columns")
        if is_positive_definite and is_non_singular is None:
            is_non_singular = True
        self._hints = {"is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint, "is_positive_definite": is_positive_definite}
        self._name = name or type(self).__name__

    # --- What is known without computing. ---

    @property
    def name(self):
        return self._name

    @property
    def dtype(self):
        return self._dtype

    @property
    def shape(self):
        return self._shape

    @property
    def batch_shape(self):
        return self._shape[:-2]

    @property
    def tensor_rank(self):
        return self._shape.rank

    @property
    def range_dimension(self):
        return self._shape[-2]

    @property
    def domain_dimension(self):
        return self._shape[-1]

    @property
    def is_square(self):
        return self._shape[-2] == self._shape[-1]

    @property
    def is_non_singular(self):
        return self._hints["is_non_singular"]

    @property
    def is_self_adjoint(self):
        return self._hints["is_self_adjoint"]

    @property
    def is_positive_definite(self):
        return self._hints["is_positive_definite"]

    def shape_tensor(self, name="shape_tensor"):
        return _tandem.to_tensor(self._shape.as_list(), "int32")

    def batch_shape_tensor(self, name="batch_shape_tensor"):
        return _tandem.to_tensor(self.batch_shape.as_list(), "int32")

    def tensor_rank_tensor(self, name="tensor_rank_tensor"):
        return _tandem.to_tensor(self.tensor_rank)

    def range_dimension_tensor(self, name="range_dimension_tensor"):
        return _tandem.to_tensor(self.range_dimension)

    def domain_dimension_tensor(self, name="domain_dimension_tensor"):
        return _tandem.to_tensor(self.domain_dimension)

    # --- Products and solutions. ---

    def to_dense(self, name="to_dense"):
        """The whole matrix."""
        raise NotImplementedError(f"{type(self).__name__} has no to_dense")

    def _matmul(self, x, adjoint):
        return _ops.matmul(self.to_dense(), x, transpose_a=adjoint)

    def _solve(self, rhs, adjoint):
        return _linalg.solve(self.to_dense(), rhs, adjoint=adjoint)

    def matmul(self, x, adjoint=False, adjoint_arg=False, name="matmul"):
        """The product with a matrix, or with another operator."""
        if isinstance(x, LinearOperator):
            from ._linear_operators import LinearOperatorComposition

            left, right = self.adjoint() if adjoint else self, x.adjoint() if adjoint_arg else x
            self._fit(left.domain_dimension, right.range_dimension)
            return LinearOperatorComposition([left, right])
        return self._matmul(self._argument(x, adjoint, adjoint_arg), adjoint)

    def matvec(self, x, adjoint=False, name="matvec"):
        """The product with a vector."""
        return self._of_vector(self.matmul, x, adjoint)

    def solve(self, rhs, adjoint=False, adjoint_arg=False, name="solve"):
        """X of A X = rhs."""
        if self.is_non_singular is False or not self.is_square:
            raise NotImplementedError("Exact solve not implemented for an operator that is expected to be singular or not square.")
        if isinstance(rhs, LinearOperator):
            return (self.adjoint() if adjoint else self).inverse().matmul(rhs, adjoint_arg=adjoint_arg)
        return self._solve(self._argument(rhs, not adjoint, adjoint_arg), adjoint)

    def solvevec(self, rhs, adjoint=False, name="solve"):
        """x of A x = rhs."""
        return self._of_vector(self.solve, rhs, adjoint)

    def _argument(self, x, adjoint, adjoint_arg):
        x = _tandem.to_tensor_beside(x, self.dtype)
        x = _matrices.matrix_transpose(x) if adjoint_arg else x
        self._fit(self._shape[-2 if adjoint else -1], x.shape[-2])
        return x

    def _of_vector(self, function, x, adjoint):
        return _ops.squeeze(function(_ops.expand_dims(_tandem.to_tensor_beside(x, self.dtype), -1), adjoint=adjoint), -1)

    @staticmethod
    def _fit(wanted, given):
        if wanted != given:
            raise ValueError(f"Dimensions {wanted} and {given} are not compatible")

    def __matmul__(self, other):
        return self.matmul(other)

    # --- Other operators. ---

    def adjoint(self, name="adjoint"):
        from ._linear_operators import LinearOperatorAdjoint

        return self if self.is_self_adjoint else LinearOperatorAdjoint(self)

    H = property(adjoint)

    def inverse(self, name="inverse"):
        from ._linear_operators import LinearOperatorInversion

        if not self.is_square or self.is_non_singular is False:
            raise ValueError("Cannot take the Inverse: This operator represents a singular or non-square matrix.")
        return LinearOperatorInversion(self)

    def cholesky(self, name="cholesky"):
        """The lower factor, as an operator."""
        from ._linear_operators import LinearOperatorLowerTriangular

        if not (self.is_positive_definite and self.is_self_adjoint):
            raise ValueError("Cannot take the Cholesky decomposition: give is_self_adjoint=True and is_positive_definite=True.")
        return LinearOperatorLowerTriangular(_linalg.cholesky(self.to_dense()), is_non_singular=True)

    # --- Numbers and tensors. ---

    def diag_part(self, name="diag_part"):
        return _matrices.diag_part(self.to_dense())

    def trace(self, name="trace"):
        return _ops.reduce_sum(self.diag_part(), -1)

    def determinant(self, name="det"):
        return _linalg.det(self.to_dense())

    def log_abs_determinant(self, name="log_abs_det"):
        return _linalg.slogdet(self.to_dense()).log_abs_determinant

    def eigvals(self, name="eigvals"):
        if not self.is_self_adjoint:
            raise NotImplementedError("Only self-adjoint matrices are supported.")
        return _linalg.eigvalsh(self.to_dense())

    def cond(self, name="cond"):
        """The largest singular value over the smallest."""
        values = _linalg.svd(self.to_dense(), compute_uv=False)
        return _ops.reduce_max(values, -1) / _ops.reduce_min(values, -1)

    def add_to_tensor(self, mat, name="add_to_tensor"):
        return self.to_dense() + _tandem.to_tensor_beside(mat, self.dtype)

    # --- Checks. ---

    def assert_non_singular(self, name="assert_non_singular"):
        from .debugging import assert_greater

        smallest = _ops.reduce_min(_linalg.svd(self.to_dense(), compute_uv=False), -1)
        assert_greater(smallest, _ops.zeros_like(smallest), message="Singular matrix up to precision epsilon.")

    def assert_self_adjoint(self, name="assert_self_adjoint"):
        from .debugging import assert_near

        assert_near(self.to_dense(), _matrices.matrix_transpose(self.to_dense()), message="Matrix was not equal to its adjoint.")

    def assert_positive_definite(self, name="assert_positive_definite"):
        from .debugging import assert_positive

        self.assert_self_adjoint()
        assert_positive(_linalg.eigvalsh(self.to_dense()), message="Matrix was not positive definite.")
