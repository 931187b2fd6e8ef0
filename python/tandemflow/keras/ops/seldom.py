"""Functions of keras.ops that few programs use."""
import numpy

from ... import _bits, _linalg, _ops, _tandem
from ..._on_host import computed
from .._engine.operation import drawable
from ._convert import floats, tensor


@drawable
def i0(x):
    """The modified Bessel function of order 0."""
    from ..._special_functions import bessel_i0

    return bessel_i0(floats(x))


@drawable
def view(x, dtype=None):
    """The same bytes as values of another dtype."""
    x = tensor(x)
    return x if dtype is None else _bits.bitcast(x, dtype)


@drawable
def nextafter(x1, x2):
    """The next float after x1 in the direction of x2."""
    x1, x2 = floats(x1), floats(x2)
    x2 = _ops.cast(x2, x1.dtype)
    shape = numpy.broadcast_shapes(tuple(x1.shape), tuple(x2.shape))
    return computed(numpy.nextafter, [x1, x2], (shape, x1.dtype))


def vectorize(pyfunc, *, excluded=None, signature=None):
    """A function of single elements as one of whole tensors; arguments whose numbers are in `excluded` are passed as they are."""
    if signature is not None:
        raise NotImplementedError("vectorize: signature is not there; write the function with keras.ops.vectorized_map")
    excluded = set(excluded or ())

    def call(*args):
        mapped = [tensor(arg) for i, arg in enumerate(args) if i not in excluded]
        shape = numpy.broadcast_shapes(*(tuple(x.shape) for x in mapped))
        flat = [_ops.reshape(_ops.broadcast_to(x, list(shape)), [-1]) for x in mapped]
        results = []
        for row in range(flat[0].shape[0]):
            elements = iter(flat)
            results.append(tensor(pyfunc(*(arg if i in excluded else next(elements)[row] for i, arg in enumerate(args)))))
        return _ops.reshape(_ops.stack(results), [*shape, *results[0].shape])

    return call


@drawable
def cholesky_inverse(x, upper=False):
    """The inverse of the matrix whose Cholesky factor is x."""
    x = floats(x)
    factor = _linalg.matrix_transpose(x) if upper else x
    eye = _ops.broadcast_to(_ops.eye(x.shape[-1], dtype=x.dtype), x.shape)
    inverse = _linalg.triangular_solve(factor, eye, lower=True)
    return _ops.matmul(inverse, inverse, transpose_a=True)


@drawable
def lu_factor(x):
    """(L and U in one matrix, the place that each row went to) of square matrices."""
    x = floats(x)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"LU decomposition failed: it needs square matrices, got shape {tuple(x.shape)}")
    return tuple(computed(_lu, [x], (x.shape, x.dtype), (x.shape[:-1], "int32")))


def _lu(matrices):
    """Gauss' elimination with the largest pivot of each column, for each matrix."""
    out = matrices.astype("float64").copy()
    order = numpy.zeros(matrices.shape[:-1], "int32")
    for where in numpy.ndindex(matrices.shape[:-2]):
        a, rows = out[where], numpy.arange(matrices.shape[-1])
        for k in range(len(rows)):
            pivot = k + int(numpy.argmax(numpy.abs(a[k:, k])))
            a[[k, pivot]], rows[[k, pivot]] = a[[pivot, k]], rows[[pivot, k]]
            if a[k, k] != 0:
                a[k + 1 :, k] /= a[k, k]
                a[k + 1 :, k + 1 :] -= numpy.outer(a[k + 1 :, k], a[k, k + 1 :])
        order[where] = numpy.argsort(rows)  # where each row went
    return out, order


def eig(x):
    """Eigenvalues and eigenvectors of square matrices, complex numbers both."""
    from ..._complex import complex as made

    x = floats(x)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"eig: needs square matrices, got shape {tuple(x.shape)}")

    def run(matrices):
        values, vectors = numpy.linalg.eig(matrices.astype("float64"))
        return values.real, numpy.imag(values), vectors.real, numpy.imag(vectors)

    parts = computed(run, [x], *[(x.shape[:-1], x.dtype)] * 2, *[(x.shape, x.dtype)] * 2)
    return made(parts[0], parts[1]), made(parts[2], parts[3])


def jvp(fun, primals, tangents, has_aux=False):
    """(fun(*primals), how much that changes when the primals change by the tangents); with has_aux fun returns (results, more)."""
    from ...autodiff import ForwardAccumulator

    primals = [_tandem.to_tensor(primal) for primal in primals]
    with ForwardAccumulator(primals, [_tandem.to_tensor(tangent) for tangent in tangents]) as accumulator:
        results = fun(*primals)
    results, more = results if has_aux else (results, None)
    changes = accumulator.jvp(results, unconnected_gradients="zero")
    return (results, changes, more) if has_aux else (results, changes)


def view_as_real(x):
    """[…, 2]: the real and the imaginary parts of complex numbers."""
    from ..._complex import imag, real

    return _ops.stack([real(x), imag(x)], -1)


def view_as_complex(x):
    """The complex numbers whose real and imaginary parts are the last axis."""
    from ..._complex import complex as made

    x = _tandem.to_tensor(x)
    if x.ndim < 1 or x.shape[-1] != 2:
        raise ValueError(f"Last dimension of input must be size 2 (real and imaginary). Received shape: {tuple(x.shape)}")
    return made(x[..., 0], x[..., 1])


def polar(abs_, angle):
    """The complex numbers of these sizes and angles."""
    from ..._complex import complex as made

    size, angle = _tandem.to_tensor(abs_), _tandem.to_tensor(angle)
    return made(size * _ops.cos(angle), size * _ops.sin(angle))
