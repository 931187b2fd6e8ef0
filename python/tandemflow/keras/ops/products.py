"""keras.ops: products, norms and matrices."""

from ... import _arrays, _einsum, _linalg, _matrices, _ops
from ._convert import drawable, floats, one_axis, together


@drawable
def matmul(x1, x2):
    """The matrix product of the last two axes; vectors as NumPy has them."""
    x1, x2 = together(x1, x2)
    left, right = x1.ndim == 1, x2.ndim == 1
    a = _ops.expand_dims(x1, 0) if left else x1
    b = _ops.expand_dims(x2, 1) if right else x2
    out = _ops.matmul(a, b)
    if left:
        out = _ops.squeeze(out, [out.ndim - 2])
    return _ops.squeeze(out, [out.ndim - 1]) if right else out


@drawable
def dot(x1, x2):
    """The sum over the last axis of x1 and the last but one of x2."""
    x1, x2 = together(x1, x2)
    if 0 in (x1.ndim, x2.ndim):
        return x1 * x2
    return _einsum.tensordot(x1, x2, [[x1.ndim - 1], [max(x2.ndim - 2, 0)]])


@drawable
def tensordot(x1, x2, axes=2):
    """The sum over axes of both."""
    return _einsum.tensordot(*together(x1, x2), axes)


@drawable
def einsum(subscripts, *operands, **kwargs):
    """A sum of products as the letters say."""
    return _einsum.einsum(subscripts, *together(*operands))


@drawable
def inner(x1, x2):
    """The sum over the last axes."""
    x1, x2 = together(x1, x2)
    return x1 * x2 if 0 in (x1.ndim, x2.ndim) else _einsum.tensordot(x1, x2, [[x1.ndim - 1], [x2.ndim - 1]])


@drawable
def outer(x1, x2):
    """All products."""
    x1, x2 = (_ops.reshape(x, [-1]) for x in together(x1, x2))
    return _ops.expand_dims(x1, 1) * _ops.expand_dims(x2, 0)


@drawable
def vdot(x1, x2):
    """The sum of the products of all elements."""
    x1, x2 = (_ops.reshape(x, [-1]) for x in together(x1, x2))
    return _ops.reduce_sum(x1 * x2)


@drawable
def kron(x1, x2):
    """Kronecker's product."""
    x1, x2 = together(x1, x2)
    rank = max(x1.ndim, x2.ndim)
    a, b = ([1] * (rank - x.ndim) + x.shape.as_list() for x in (x1, x2))
    left = _ops.reshape(x1, [n for size in a for n in (size, 1)])
    right = _ops.reshape(x2, [n for size in b for n in (1, size)])
    return _ops.reshape(left * right, [m * n for m, n in zip(a, b)])


@drawable
def cross(x1, x2, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """The cross product of vectors of three."""
    x1, x2 = together(x1, x2)
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = _to_end(x1, axisa), _to_end(x2, axisb)
    out = _linalg.cross(a, b)
    return out if axisc in (-1, out.ndim - 1) else _from_end(out, axisc)


def _to_end(x, axis):
    axis = one_axis(axis, x.ndim)
    return x if axis == x.ndim - 1 else _ops.transpose(x, [i for i in range(x.ndim) if i != axis] + [axis])


def _from_end(x, axis):
    order = list(range(x.ndim - 1))
    order.insert(one_axis(axis, x.ndim), x.ndim - 1)
    return _ops.transpose(x, order)


@drawable
def norm(x, ord=None, axis=None, keepdims=False):
    """The norm of vectors or matrices."""
    x = floats(x)
    axis = list(axis) if isinstance(axis, tuple) else axis
    return _arrays.norm(x, "euclidean" if ord in (None, "fro") else ord, axis, keepdims)


@drawable
def normalize(x, axis=-1, order=2, epsilon=None):
    """x divided by its norm along an axis."""
    x = floats(x)
    epsilon = 1e-7 if epsilon is None else epsilon
    if order == 2:
        return x * _ops.rsqrt(_ops.maximum(_ops.reduce_sum(_ops.square(x), axis, True), epsilon * epsilon))
    return x / _ops.maximum(_arrays.norm(x, order, axis, True), epsilon)


def _of_matrices(name, function, doc):
    from ._convert import made

    globals()[name] = made(name, lambda x: function(floats(x)), doc)


_of_matrices("det", _linalg.det, "The determinant.")
_of_matrices("inv", _linalg.inv, "The inverse.")
_of_matrices("eigh", _linalg.eigh, "Eigenvalues and eigenvectors of symmetric matrices.")
_of_matrices("slogdet", _linalg.slogdet, "Sign and logarithm of the determinant.")
_of_matrices("logdet", _linalg.logdet, "The logarithm of the determinant.")


@drawable
def cholesky(x, upper=False):
    """The lower triangle L of x = L L^T, or with `upper` the transposed one."""
    lower = _linalg.cholesky(floats(x))
    return _linalg.matrix_transpose(lower) if upper else lower


@drawable
def pinv(x, rcond=None):
    """The pseudo-inverse; singular values below rcond times the largest count as zero."""
    return _linalg.pinv(floats(x), rcond)


@drawable
def matrix_rank(x, tol=None):
    """How many singular values lie above `tol`."""
    return _linalg.matrix_rank(floats(x), tol)


@drawable
def solve(a, b):
    """x with a x = b."""
    a, b = together(floats(a), floats(b))
    if b.ndim == a.ndim - 1:
        return _ops.squeeze(_linalg.solve(a, _ops.expand_dims(b, -1)), [b.ndim])
    return _linalg.solve(a, b)


@drawable
def solve_triangular(a, b, lower=False):
    """x with a x = b for a triangle a."""
    a, b = together(floats(a), floats(b))
    if b.ndim == a.ndim - 1:
        return _ops.squeeze(_linalg.triangular_solve(a, _ops.expand_dims(b, -1), lower=lower), [b.ndim])
    return _linalg.triangular_solve(a, b, lower=lower)


@drawable
def lstsq(a, b, rcond=None):
    """x for which |a x - b| is smallest."""
    a, b = together(floats(a), floats(b))
    if b.ndim == a.ndim - 1:
        return _ops.squeeze(_linalg.lstsq(a, _ops.expand_dims(b, -1)), [b.ndim])
    return _linalg.lstsq(a, b)


@drawable
def qr(x, mode="reduced"):
    """Q and R with x = Q R."""
    return _linalg.qr(floats(x), full_matrices=mode == "complete")


@drawable
def svd(x, full_matrices=True, compute_uv=True):
    """U, S and V^T with x = U S V^T."""
    out = _linalg.svd(floats(x), full_matrices=full_matrices, compute_uv=compute_uv)
    if not compute_uv:
        return out
    s, u, v = out
    order = [*range(v.ndim - 2), v.ndim - 1, v.ndim - 2]
    return u, s, _ops.transpose(v, order)


@drawable
def cdist(x1, x2):
    """The distances of all rows of x1 from all of x2."""
    x1, x2 = together(floats(x1), floats(x2))
    return _ops.sqrt(_ops.reduce_sum(_ops.square(_ops.expand_dims(x1, -2) - _ops.expand_dims(x2, -3)), -1))


@drawable
def corrcoef(x):
    """How rows go together, from -1 to 1."""
    x = floats(x)
    centred = x - _ops.reduce_mean(x, -1, True)
    covariance = _ops.matmul(centred, centred, transpose_b=True)
    deviation = _ops.sqrt(_matrices.diag_part(covariance))
    return covariance / (_ops.expand_dims(deviation, 1) * _ops.expand_dims(deviation, 0))


