"""tf.linalg.LinearOperator…: matrices by their structure; each class does cheaply what its structure allows."""
import functools

import numpy

from . import _arrays, _linalg, _matrices, _ops, _tandem
from ._dtypes import as_dtype
from ._linear_operator import LinearOperator, operand


def _square(shape, size):
    return [*shape, size, size]


def _broadcast_batch(operators):
    return list(numpy.broadcast_shapes(*(tuple(operator.batch_shape.as_list()) for operator in operators)))


def _all(operators, hint):
    """True when all say so, None when it is not known of one."""
    return True if all(getattr(operator, hint) for operator in operators) else None


def _product(values):
    return functools.reduce(lambda a, b: a * b, values)


class LinearOperatorFullMatrix(LinearOperator):
    """A matrix without structure."""

    def __init__(self, matrix, name=None, **hints):
        self._matrix = operand(matrix)
        super().__init__(self._matrix.dtype, self._matrix.shape, name=name, **hints)

    def to_dense(self, name="to_dense"):
        return _ops.identity(self._matrix)


class LinearOperatorLowerTriangular(LinearOperator):
    """The lower triangle of a matrix; what is above counts as zero."""

    def __init__(self, tril, name=None, **hints):
        self._tril = operand(tril)
        super().__init__(self._tril.dtype, self._tril.shape, name=name, **{"is_square": True, **hints})

    def to_dense(self, name="to_dense"):
        return _matrices.matrix_band_part(self._tril, -1, 0)

    def _solve(self, rhs, adjoint):
        return _linalg.triangular_solve(self.to_dense(), rhs, lower=True, adjoint=adjoint)

    def diag_part(self, name="diag_part"):
        return _matrices.diag_part(self._tril)

    def determinant(self, name="det"):
        return _ops.reduce_prod(self.diag_part(), -1)

    def log_abs_determinant(self, name="log_abs_det"):
        return _ops.reduce_sum(_ops.log(_ops.abs(self.diag_part())), -1)


class _Diagonal(LinearOperator):
    """What a diagonal makes easy; classes below give `diag_part`."""

    def to_dense(self, name="to_dense"):
        return _matrices.diag(self.diag_part())

    def _matmul(self, x, adjoint):
        return _ops.expand_dims(self.diag_part(), -1) * x

    def _solve(self, rhs, adjoint):
        return rhs / _ops.expand_dims(self.diag_part(), -1)

    def determinant(self, name="det"):
        return _ops.reduce_prod(self.diag_part(), -1)

    def log_abs_determinant(self, name="log_abs_det"):
        return _ops.reduce_sum(_ops.log(_ops.abs(self.diag_part())), -1)

    def eigvals(self, name="eigvals"):
        return self.diag_part()


class LinearOperatorDiag(_Diagonal):
    """A diagonal matrix."""

    def __init__(self, diag, name=None, **hints):
        self._diag = operand(diag)
        sizes = self._diag.shape.as_list()
        if not sizes:
            raise ValueError("LinearOperatorDiag: diag must have at least 1 axis, got a scalar")
        super().__init__(self._diag.dtype, _square(sizes[:-1], sizes[-1]), name=name, **{"is_self_adjoint": True, **hints})

    @property
    def diag(self):
        return self._diag

    def diag_part(self, name="diag_part"):
        return _ops.identity(self._diag)

    def inverse(self, name="inverse"):
        return LinearOperatorDiag(1.0 / self.diag_part(), is_non_singular=True, is_positive_definite=self.is_positive_definite)

    def cholesky(self, name="cholesky"):
        super().cholesky()  # says what is not known of it
        return LinearOperatorDiag(_ops.sqrt(self.diag_part()), is_non_singular=True, is_positive_definite=True)


class LinearOperatorScaledIdentity(_Diagonal):
    """A number, or a batch of them, times the identity."""

    def __init__(self, num_rows, multiplier, name=None, **hints):
        self._multiplier = operand(multiplier)
        self._rows = int(num_rows)
        super().__init__(self._multiplier.dtype, _square(self._multiplier.shape.as_list(), self._rows), name=name, **{"is_self_adjoint": True, **hints})

    @property
    def multiplier(self):
        return self._multiplier

    def diag_part(self, name="diag_part"):
        return _ops.broadcast_to(_ops.expand_dims(self._multiplier, -1), self.shape.as_list()[:-1])

    def inverse(self, name="inverse"):
        return LinearOperatorScaledIdentity(self._rows, 1.0 / self._multiplier, is_non_singular=True)


class LinearOperatorIdentity(_Diagonal):
    """Ones on the diagonal."""

    def __init__(self, num_rows, batch_shape=None, dtype=None, name=None, **hints):
        known = {"is_non_singular": True, "is_self_adjoint": True, "is_positive_definite": True}
        batch = [] if batch_shape is None else _tandem.as_ints(batch_shape)
        super().__init__(as_dtype(dtype or "float32"), _square(batch, int(num_rows)), name=name, **{**known, **hints})

    def diag_part(self, name="diag_part"):
        return _ops.ones(self.shape.as_list()[:-1], self.dtype)

    def inverse(self, name="inverse"):
        return self

    cholesky = inverse


class LinearOperatorZeros(LinearOperator):
    """Zeros everywhere."""

    def __init__(self, num_rows, num_columns=None, batch_shape=None, dtype=None, name=None, **hints):
        batch = [] if batch_shape is None else _tandem.as_ints(batch_shape)
        columns = int(num_rows if num_columns is None else num_columns)
        super().__init__(as_dtype(dtype or "float32"), [*batch, int(num_rows), columns], name=name, **{"is_non_singular": False, **hints})

    def to_dense(self, name="to_dense"):
        return _ops.zeros(self.shape.as_list(), self.dtype)


class LinearOperatorHouseholder(LinearOperator):
    """The reflection I - 2 v v^T / |v|^2 at a plane."""

    def __init__(self, reflection_axis, name=None, **hints):
        self._axis = operand(reflection_axis)
        sizes = self._axis.shape.as_list()
        super().__init__(self._axis.dtype, _square(sizes[:-1], sizes[-1]), name=name, **{"is_non_singular": True, "is_self_adjoint": True, **hints})

    @property
    def reflection_axis(self):
        return self._axis

    def _matmul(self, x, adjoint):
        axis = _ops.expand_dims(_arrays.l2_normalize(self._axis, -1), -1)
        return x - 2.0 * axis * _ops.matmul(axis, x, transpose_a=True)

    def _solve(self, rhs, adjoint):
        return self._matmul(rhs, adjoint)  # a reflection undoes itself

    def to_dense(self, name="to_dense"):
        return self._matmul(_ops.eye(self.shape[-1], dtype=self.dtype), False)

    def inverse(self, name="inverse"):
        return self


class LinearOperatorPermutation(LinearOperator):
    """Row i of the product is row perm[i] of what is multiplied."""

    def __init__(self, perm, dtype="float32", name=None, **hints):
        self._perm = operand(perm)
        sizes = self._perm.shape.as_list()
        super().__init__(as_dtype(dtype), _square(sizes[:-1], sizes[-1]), name=name, **{"is_non_singular": True, **hints})

    @property
    def perm(self):
        return self._perm

    def to_dense(self, name="to_dense"):
        return _ops.one_hot(self._perm, self.shape[-1], dtype=self.dtype)

    def _solve(self, rhs, adjoint):
        return self._matmul(rhs, not adjoint)


class LinearOperatorToeplitz(LinearOperator):
    """The same number along each diagonal: the first column and the first row say all."""

    def __init__(self, col, row, name=None, **hints):
        self._col, self._row = operand(col), operand(row)
        sizes = self._col.shape.as_list()
        super().__init__(self._col.dtype, _square(sizes[:-1], sizes[-1]), name=name, **{"is_square": True, **hints})

    @property
    def col(self):
        return self._col

    @property
    def row(self):
        return self._row

    def to_dense(self, name="to_dense"):
        size = self.shape[-1]
        places = numpy.arange(size)[:, None] - numpy.arange(size)[None, :]  # [-(size - 1), size - 1]
        numbers = _ops.concat([_arrays.reverse(self._row[..., 1:], [-1]), _ops.identity(self._col)], -1)
        return _ops.gather(numbers, places + size - 1, axis=-1)


class LinearOperatorTridiag(LinearOperator):
    """Three diagonals: above, on and below the middle."""

    def __init__(self, diagonals, diagonals_format="compact", name=None, **hints):
        if diagonals_format not in ("compact", "sequence", "matrix"):
            raise ValueError(f"LinearOperatorTridiag: diagonals_format must be 'compact', 'sequence' or 'matrix', got {diagonals_format!r}")
        self._format = diagonals_format
        self._diagonals = [operand(part) for part in diagonals] if diagonals_format == "sequence" else operand(diagonals)
        middle = self._diagonals[1] if diagonals_format == "sequence" else self._diagonals
        sizes = middle.shape.as_list()
        batch = {"compact": sizes[:-2], "sequence": sizes[:-1], "matrix": sizes[:-2]}[diagonals_format]
        super().__init__(middle.dtype, _square(batch, sizes[-1]), name=name, **{"is_square": True, **hints})

    @property
    def diagonals(self):
        return self._diagonals

    def to_dense(self, name="to_dense"):
        if self._format == "matrix":
            return _matrices.matrix_band_part(self._diagonals, 1, 1)
        above, middle, below = (
            (self._diagonals[..., i, :] for i in range(3)) if self._format == "compact" else self._diagonals
        )  # fmt: skip
        size = self.shape[-1]
        parts = _matrices.diag(middle)
        if size == 1:
            return parts
        # The last number above and the first below stand outside the matrix.
        return parts + _matrices.diag(above[..., : size - 1], k=1) + _matrices.diag(below[..., -(size - 1) :], k=-1)


class LinearOperatorAdjoint(LinearOperator):
    """The transpose of another operator."""

    def __init__(self, operator, name=None, **hints):
        self._operator = operator
        shape = operator.shape.as_list()
        hints = {**operator._hints, **hints}
        super().__init__(operator.dtype, [*shape[:-2], shape[-1], shape[-2]], name=name or operator.name + "_adjoint", **hints)

    @property
    def operator(self):
        return self._operator

    def to_dense(self, name="to_dense"):
        return _matrices.matrix_transpose(self._operator.to_dense())

    def _matmul(self, x, adjoint):
        return self._operator._matmul(x, not adjoint)

    def _solve(self, rhs, adjoint):
        return self._operator._solve(rhs, not adjoint)

    def adjoint(self, name="adjoint"):
        return self._operator

    def diag_part(self, name="diag_part"):
        return self._operator.diag_part()

    def determinant(self, name="det"):
        return self._operator.determinant()

    def log_abs_determinant(self, name="log_abs_det"):
        return self._operator.log_abs_determinant()


class LinearOperatorInversion(LinearOperator):
    """The inverse of another operator: its products are the other's solutions."""

    def __init__(self, operator, name=None, **hints):
        self._operator = operator
        super().__init__(operator.dtype, operator.shape, name=name or operator.name + "_inv", **{**operator._hints, "is_non_singular": True, **hints})

    @property
    def operator(self):
        return self._operator

    def to_dense(self, name="to_dense"):
        return _linalg.inv(self._operator.to_dense())

    def _matmul(self, x, adjoint):
        return self._operator._solve(x, adjoint)

    def _solve(self, rhs, adjoint):
        return self._operator._matmul(rhs, adjoint)

    def inverse(self, name="inverse"):
        return self._operator

    def determinant(self, name="det"):
        return 1.0 / self._operator.determinant()

    def log_abs_determinant(self, name="log_abs_det"):
        return -self._operator.log_abs_determinant()


class LinearOperatorComposition(LinearOperator):
    """The product of operators, not multiplied out."""

    def __init__(self, operators, name=None, **hints):
        self._operators = list(operators)
        if not self._operators:
            raise ValueError("LinearOperatorComposition: expected a non-empty list of operators, got none")
        for left, right in zip(self._operators, self._operators[1:]):
            self._fit(left.domain_dimension, right.range_dimension)
        shape = [*_broadcast_batch(self._operators), self._operators[0].range_dimension, self._operators[-1].domain_dimension]
        known = {"is_non_singular": _all(self._operators, "is_non_singular")}
        super().__init__(self._operators[0].dtype, shape, name=name or "_o_".join(o.name for o in self._operators), **{**known, **hints})

    @property
    def operators(self):
        return self._operators

    def _matmul(self, x, adjoint):
        for operator in self._operators if adjoint else reversed(self._operators):
            x = operator._matmul(x, adjoint)
        return x

    def _solve(self, rhs, adjoint):
        for operator in reversed(self._operators) if adjoint else self._operators:
            rhs = operator._solve(rhs, adjoint)
        return rhs

    def to_dense(self, name="to_dense"):
        return self._matmul(_ops.eye(self.shape[-1], dtype=self.dtype), False)

    def determinant(self, name="det"):
        return _product(operator.determinant() for operator in self._operators)

    def log_abs_determinant(self, name="log_abs_det"):
        return _ops.add_n([operator.log_abs_determinant() for operator in self._operators])
