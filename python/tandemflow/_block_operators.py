"""Linear operators made of blocks, of products of all their parts, and of a low-rank change."""
import numpy

from . import _linalg, _matrices, _ops, _tandem
from ._linear_operator import LinearOperator, operand
from ._linear_operators import LinearOperatorDiag, LinearOperatorIdentity, _all, _broadcast_batch, _product


def _sizes(operators, axis):
    return [operator.shape[axis] for operator in operators]


class LinearOperatorBlockDiag(LinearOperator):
    """Operators along the diagonal, zeros elsewhere."""

    def __init__(self, operators, name=None, **hints):
        self._operators = list(operators)
        if not self._operators:
            raise ValueError("LinearOperatorBlockDiag: expected a non-empty list of operators, got none")
        shape = [*_broadcast_batch(self._operators), sum(_sizes(self._operators, -2)), sum(_sizes(self._operators, -1))]
        known = {hint: _all(self._operators, hint) for hint in ("is_non_singular", "is_self_adjoint", "is_positive_definite")}
        super().__init__(self._operators[0].dtype, shape, name=name or "_ds_".join(o.name for o in self._operators), **{**known, **hints})

    @property
    def operators(self):
        return self._operators

    def _blocks(self, function, x, axis, adjoint):
        parts = _ops.split(x, _sizes(self._operators, axis), axis=-2)
        return _ops.concat([function(operator)(part, adjoint) for operator, part in zip(self._operators, parts)], -2)

    def _matmul(self, x, adjoint):
        return self._blocks(lambda operator: operator._matmul, x, -2 if adjoint else -1, adjoint)

    def _solve(self, rhs, adjoint):
        return self._blocks(lambda operator: operator._solve, rhs, -2, adjoint)

    def to_dense(self, name="to_dense"):
        return self._matmul(_ops.eye(self.shape[-1], batch_shape=self.batch_shape.as_list(), dtype=self.dtype), False)

    def determinant(self, name="det"):
        return _product(operator.determinant() for operator in self._operators)

    def log_abs_determinant(self, name="log_abs_det"):
        return _ops.add_n([operator.log_abs_determinant() for operator in self._operators])


class LinearOperatorBlockLowerTriangular(LinearOperator):
    """Rows of blocks up to the diagonal: [[A], [B, C], …]."""

    def __init__(self, operators, name=None, **hints):
        self._operators = [list(row) for row in operators]
        for count, row in enumerate(self._operators, 1):
            if len(row) != count:
                raise ValueError(f"LinearOperatorBlockLowerTriangular: row {count - 1} must have {count} blocks, got {len(row)}")
        last = self._operators[-1]
        blocks = [block for row in self._operators for block in row]
        shape = [*_broadcast_batch(blocks), sum(row[-1].range_dimension for row in self._operators), sum(_sizes(last, -1))]
        known = {"is_non_singular": _all([row[-1] for row in self._operators], "is_non_singular")}
        super().__init__(blocks[0].dtype, shape, name=name, **{**known, **hints})

    @property
    def operators(self):
        return self._operators

    def to_dense(self, name="to_dense"):
        batch = self.batch_shape.as_list()
        columns = _sizes(self._operators[-1], -1)
        rows = []
        for row in self._operators:
            dense = [_ops.broadcast_to(block.to_dense(), [*batch, *block.shape.as_list()[-2:]]) for block in row]
            rest = sum(columns[len(row) :])
            empty = [_ops.zeros([*batch, row[-1].range_dimension, rest], self.dtype)] if rest else []
            rows.append(_ops.concat([*dense, *empty], -1))
        return _ops.concat(rows, -2)

    def determinant(self, name="det"):
        return _product(row[-1].determinant() for row in self._operators)

    def log_abs_determinant(self, name="log_abs_det"):
        return _ops.add_n([row[-1].log_abs_determinant() for row in self._operators])


class LinearOperatorKronecker(LinearOperator):
    """Every element of one operator times the whole of the next."""

    def __init__(self, operators, name=None, **hints):
        self._operators = list(operators)
        if not self._operators:
            raise ValueError("LinearOperatorKronecker: expected a non-empty list of operators, got none")
        sizes = [int(numpy.prod(_sizes(self._operators, axis))) for axis in (-2, -1)]
        known = {hint: _all(self._operators, hint) for hint in ("is_non_singular", "is_self_adjoint", "is_positive_definite")}
        name = name or "_x_".join(operator.name for operator in self._operators)
        super().__init__(self._operators[0].dtype, [*_broadcast_batch(self._operators), *sizes], name=name, **{**known, **hints})

    @property
    def operators(self):
        return self._operators

    def to_dense(self, name="to_dense"):
        whole = self._operators[0].to_dense()
        for operator in self._operators[1:]:
            part = operator.to_dense()
            product = whole[..., :, None, :, None] * part[..., None, :, None, :]
            sizes = product.shape.as_list()
            whole = _ops.reshape(product, [*sizes[:-4], sizes[-4] * sizes[-3], sizes[-2] * sizes[-1]])
        return whole

    def determinant(self, name="det"):
        size = self.range_dimension
        return _product(operator.determinant() ** float(size // operator.range_dimension) for operator in self._operators)

    def log_abs_determinant(self, name="log_abs_det"):
        size = self.range_dimension
        return _ops.add_n([operator.log_abs_determinant() * float(size // operator.range_dimension) for operator in self._operators])


class LinearOperatorLowRankUpdate(LinearOperator):
    """L + U D V^T, solved through the small matrix of its rank (Woodbury)."""

    def __init__(self, base_operator, u, diag_update=None, v=None, is_diag_update_positive=None, name=None, **hints):
        self._base = base_operator
        self._u = operand(u)
        self._v = self._u if v is None else operand(v)
        rank = self._u.shape[-1]
        self._diag = LinearOperatorIdentity(rank, dtype=base_operator.dtype) if diag_update is None else LinearOperatorDiag(diag_update)
        super().__init__(base_operator.dtype, base_operator.shape, name=name, **hints)

    @property
    def base_operator(self):
        return self._base

    @property
    def u(self):
        return self._u

    @property
    def v(self):
        return self._v

    @property
    def diag_operator(self):
        return self._diag

    @property
    def diag_update(self):
        return self._diag.diag_part()

    def _matmul(self, x, adjoint):
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        return self._base._matmul(x, adjoint) + _ops.matmul(left, self._diag._matmul(_ops.matmul(right, x, transpose_a=True), adjoint))

    def _capacitance(self):
        """D^-1 + V^T L^-1 U, of the size of the rank."""
        inner = _ops.matmul(self._v, self._base._solve(_tandem.to_tensor(self._u), False), transpose_a=True)
        return inner + _matrices.diag(1.0 / self._diag.diag_part())

    def _solve(self, rhs, adjoint):
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        base = self._base._solve(rhs, adjoint)
        inner = _linalg.solve(self._capacitance(), _ops.matmul(right, base, transpose_a=True), adjoint=adjoint)
        return base - self._base._solve(_ops.matmul(left, inner), adjoint)

    def to_dense(self, name="to_dense"):
        return self._base.to_dense() + _ops.matmul(self._u, self._diag._matmul(_matrices.matrix_transpose(self._v), False))

    def determinant(self, name="det"):
        return _linalg.det(self._capacitance()) * self._diag.determinant() * self._base.determinant()

    def log_abs_determinant(self, name="log_abs_det"):
        inner = _linalg.slogdet(self._capacitance()).log_abs_determinant
        return inner + self._diag.log_abs_determinant() + self._base.log_abs_determinant()
