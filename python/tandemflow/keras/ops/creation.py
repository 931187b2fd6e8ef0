"""keras.ops: new tensors, conversions and what is known about tensors."""
import builtins

import numpy as np

from ... import _dtypes, _ops, _tandem
from .._engine.floats import floatx
from .._engine.keras_tensor import KerasTensor
from ._convert import drawable, tensor, together


def convert_to_tensor(x, dtype=None, sparse=None, ragged=None):
    """x as a tensor."""
    if isinstance(x, KerasTensor):
        return x if dtype is None else cast(x, dtype)
    if dtype is None and isinstance(x, float):
        dtype = floatx()
    return tensor(x, dtype)


def convert_to_numpy(x):
    """x as a NumPy array of its own."""
    return (x if type(x).__name__ == "ComplexTensor" else _tandem.to_tensor(x)).numpy().copy()


def is_tensor(x):
    """Whether x is a tensor, also one of a functional model."""
    return isinstance(x, (_tandem.Tensor, KerasTensor))


def array(x, dtype=None):
    """x as a tensor."""
    return convert_to_tensor(x, dtype)


@drawable
def cast(x, dtype):
    """The numbers in another dtype."""
    return tensor(x, dtype)


@drawable
def saturate_cast(x, dtype):
    """The numbers in another dtype; those beyond its range become its ends."""
    x, to = tensor(x), _dtypes.as_dtype(dtype)
    if to.is_integer:
        x = _ops.minimum(_ops.maximum(x, tensor(to.min, x.dtype)), tensor(to.max, x.dtype))
    return _ops.cast(x, to)


@drawable
def copy(x):
    """The same numbers as another tensor."""
    return _ops.identity(tensor(x))


@drawable
def stop_gradient(variable):
    """The same numbers, but nothing flows back."""
    return _ops.stop_gradient(tensor(variable))


def shape(x):
    """The sizes as a tuple."""
    return tuple(x.shape) if isinstance(x, KerasTensor) else tuple(tensor(x).shape.as_list())


def ndim(x):
    """The number of axes."""
    return len(shape(x))


@drawable
def size(x):
    """The number of elements, as a tensor."""
    return _tandem.to_tensor(tensor(x).shape.num_elements(), _dtypes.as_dtype("int32"))


def dtype(x):
    """The name of the dtype."""
    kind = x.dtype if hasattr(x, "dtype") else tensor(x).dtype
    return kind if isinstance(kind, str) else getattr(kind, "name", str(kind))


def zeros(shape, dtype=None):
    """A tensor of zeros."""
    return _ops.zeros(shape, dtype or floatx())


def ones(shape, dtype=None):
    """A tensor of ones."""
    return _ops.ones(shape, dtype or floatx())


def empty(shape, dtype=None):
    """A tensor to be filled; ours holds zeros."""
    return zeros(shape, dtype)


def full(shape, fill_value, dtype=None):
    """A tensor of one value."""
    value = tensor(fill_value, dtype or floatx())
    return _ops.broadcast_to(value, [shape] if isinstance(shape, int) else list(shape))


@drawable
def zeros_like(x, dtype=None):
    """Zeros like x."""
    return _ops.zeros_like(tensor(x), dtype and _dtypes.as_dtype(dtype))


@drawable
def ones_like(x, dtype=None):
    """Ones like x."""
    return _ops.ones_like(tensor(x), dtype and _dtypes.as_dtype(dtype))


@drawable
def empty_like(x, dtype=None):
    """A tensor like x whose numbers mean nothing yet: zeros here."""
    return _ops.zeros_like(tensor(x), dtype and _dtypes.as_dtype(dtype))


@drawable
def full_like(x, fill_value, dtype=None):
    """A tensor like x of one value."""
    x = tensor(x)
    return _ops.broadcast_to(tensor(fill_value, dtype or x.dtype), x.shape)


def eye(N, M=None, k=0, dtype=None):
    """Ones on the k-th diagonal, zeros elsewhere."""
    rows, columns = _ops.range(N), _ops.range(N if M is None else M)
    return _ops.cast(_ops.equal(_ops.expand_dims(rows, 1) + k, _ops.expand_dims(columns, 0)), dtype or floatx())


def identity(n, dtype=None):
    """The unit matrix."""
    return eye(n, dtype=dtype)


def tri(N, M=None, k=0, dtype=None):
    """Ones on and below the k-th diagonal."""
    rows, columns = _ops.range(N), _ops.range(N if M is None else M)
    return _ops.cast(_ops.expand_dims(rows, 1) + k >= _ops.expand_dims(columns, 0), dtype or floatx())


def arange(start, stop=None, step=None, dtype=None):
    """start, start + step, … below stop."""
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    if dtype is None:
        whole = all(not isinstance(v, float) and not getattr(getattr(v, "dtype", None), "is_floating", False) for v in (start, stop, step))
        dtype = "int32" if whole else floatx()
    return _ops.range(float(start), float(stop), float(step), dtype=_dtypes.as_dtype(dtype))


@drawable
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    """`num` numbers from start to stop."""
    start, stop = together(start, stop)
    if not start.dtype.is_floating:
        start, stop = (_ops.cast(v, floatx()) for v in (start, stop))
    parts = max(num - 1 if endpoint else num, 1)
    steps = _ops.cast(_ops.range(num), start.dtype) / float(parts)
    step = (stop - start) / float(parts)
    steps = _ops.reshape(steps, [num] + [1] * step.ndim)
    out = start + (stop - start) * steps
    if axis not in (0, -out.ndim):
        order = list(range(1, out.ndim))
        order.insert(axis % out.ndim, 0)
        out = _ops.transpose(out, order)
    out = out if dtype is None else _ops.cast(out, dtype)
    return (out, step) if retstep else out


@drawable
def logspace(start, stop, num=50, endpoint=True, base=10, dtype=None, axis=0):
    """`num` numbers evenly spaced on a logarithmic scale."""
    powers = linspace(start, stop, num, endpoint, axis=axis)
    out = _ops.exp(powers * float(np.log(base)))
    return out if dtype is None else _ops.cast(out, dtype)


def meshgrid(*x, indexing="xy"):
    """Vectors spread over a common grid."""
    from ..._arrays import meshgrid as spread

    return spread(*x, indexing=indexing)


def _window(x, weights):
    """A cosine series over x points."""
    n = builtins.int(x)
    if n < 2:
        return _ops.ones([n], floatx())
    angle = _ops.cast(_ops.range(n), floatx()) * (2 * np.pi / (n - 1))
    out = _ops.zeros([n], floatx()) + weights[0]
    for i, weight in enumerate(weights[1:], 1):
        out = out + weight * _ops.cos(angle * float(i))
    return out


def hanning(x):
    """The Hann window."""
    return _window(x, (0.5, -0.5))


def hamming(x):
    """The Hamming window."""
    return _window(x, (0.54, -0.46))


def blackman(x):
    """The Blackman window."""
    return _window(x, (0.42, -0.5, 0.08))


def bartlett(x):
    """The triangular window."""
    n = builtins.int(x)
    if n < 2:
        return _ops.ones([n], floatx())
    return 1.0 - _ops.abs(_ops.cast(_ops.range(n), floatx()) * (2.0 / (n - 1)) - 1.0)
