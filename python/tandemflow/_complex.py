"""Complex numbers as two tensors: what tf.signal gives, and the functions that take them apart."""
import builtins

import numpy as np

from . import _dtypes, _ops, _tandem
from ._ops import atan2, cos, exp, log, matmul, records, sin, sqrt, square, zeros_like


# Ops that do the same to both parts.
_OF_EACH_PART = {"identity", "negative", "reshape", "transpose", "reduce_sum", "reduce_mean", "pad", "gather", "gather_nd", "slice", "strided_slice",
                 "stop_gradient", "broadcast_to", "cumsum", "unsorted_segment_sum", "roll"}  # fmt: skip
_OF_EACH_PART_COMPOSED = {"expand_dims", "tile", "squeeze", "unstack", "split"}


class ComplexTensor:
    """Complex values: `.numpy()`, indexing, + - * /, tf.abs, tf.math.real, imag, angle and conj, sums, shapes and gradients of these."""

    __array_priority__ = 200  # NumPy's arrays leave expressions to this
    _runs_op_by_op = True  # a tf.function that is given or gives one is not traced

    def __init__(self, re, im):
        self._re, self._im = re, im

    @property
    def shape(self):
        return self._re.shape

    @property
    def ndim(self):
        return self._re.ndim

    @property
    def dtype(self):
        """tf.complex64 or tf.complex128."""
        return _dtypes.complex128 if self._re.dtype.name == "float64" else _dtypes.complex64

    @property
    def device(self):
        """Where its parts were made."""
        return self._re.device

    def numpy(self):
        return (self._re.numpy() + 1j * self._im.numpy()).astype(self.dtype.name)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.numpy(), dtype)

    def __repr__(self):
        value = repr(np.asarray(self.numpy())) if self.ndim else repr(builtins.complex(self.numpy()))
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={chr(10) * (chr(10) in value)}{value}>"

    def __str__(self):
        value = str(np.asarray(self.numpy()))
        return f"tf.Tensor({chr(10) * (chr(10) in value)}{value}, shape={self.shape}, dtype={self.dtype.name})"

    def __len__(self):
        return len(self._re)

    def __getitem__(self, key):
        return ComplexTensor(self._re[key], self._im[key])

    def __neg__(self):
        return ComplexTensor(-self._re, -self._im)

    def __abs__(self):
        return sqrt(square(self._re) + square(self._im))

    def __add__(self, other):
        re, im = _parts(other, self._re.dtype)
        return ComplexTensor(self._re + re, self._im + im)

    def __sub__(self, other):
        return self + -as_complex(other, self._re.dtype)

    def __rsub__(self, other):
        return -self + other

    def __mul__(self, other):
        re, im = _parts(other, self._re.dtype)
        return ComplexTensor(self._re * re - self._im * im, self._re * im + self._im * re)

    def __truediv__(self, other):
        re, im = _parts(other, self._re.dtype)
        size = square(re) + square(im)
        return self * ComplexTensor(re / size, -im / size)

    def __rtruediv__(self, other):
        return as_complex(other, self._re.dtype) / self

    __radd__, __rmul__ = __add__, __mul__

    def __pow__(self, other):
        return _exp(_log(self) * other)

    def __matmul__(self, other):
        return _matmul(self, other)

    def __rmatmul__(self, other):
        return _matmul(other, self)

    def __eq__(self, other):
        re, im = _parts(other, self._re.dtype)
        return _ops.logical_and(_ops.equal(self._re, re), _ops.equal(self._im, im))

    def __ne__(self, other):
        return _ops.logical_not(self == other)

    __hash__ = None

    def __tandem_op__(self, name, args, kwargs):
        """What an op does with complex operands; ops ask it when they meet one."""
        if args and args[0] is not self and isinstance(args[0], (list, tuple)) and name not in ("concat", "stack", "where", "scatter_nd"):
            return as_complex(args[0]).__tandem_op__(name, (as_complex(args[0]), *args[1:]), kwargs)
        if name in _OF_EACH_PART:
            return ComplexTensor(*(records[name](part, *args[1:], **kwargs) for part in (self._re, self._im)))
        if name in _OF_EACH_PART_COMPOSED:
            parts = [getattr(_ops, name)(part, *args[1:], **kwargs) for part in (self._re, self._im)]
            return [ComplexTensor(*both) for both in zip(*parts)] if isinstance(parts[0], list) else ComplexTensor(*parts)
        one = _OF_ONE.get(name)
        if one is not None:
            return one(self)
        special = {"zeros_like": _zeros_like, "ones_like": _ones_like, "cast": _cast, "matmul": _matmul, "concat": _joined(_ops.concat), "stack": _joined(_ops.stack),
                   "where": _where, "scatter_nd": _scatter_nd}.get(name)  # fmt: skip
        if special is not None:
            return special(*args, **kwargs)
        two = {"add": "__add__", "subtract": "__sub__", "multiply": "__mul__", "divide": "__truediv__", "pow": "__pow__", "equal": "__eq__",
               "not_equal": "__ne__"}.get(name)  # fmt: skip
        return NotImplemented if two is None else getattr(as_complex(args[0], self._re.dtype), two)(args[1])


def _exp(z):
    size = exp(z._re)
    return ComplexTensor(size * cos(z._im), size * sin(z._im))


def _log(z):
    return ComplexTensor(log(abs(z)), angle(z))


def _sin(z):
    return ComplexTensor(sin(z._re) * _ops.cosh(z._im), cos(z._re) * _ops.sinh(z._im))


def _cos(z):
    return ComplexTensor(cos(z._re) * _ops.cosh(z._im), -sin(z._re) * _ops.sinh(z._im))


def _sinh(z):
    return ComplexTensor(_ops.sinh(z._re) * cos(z._im), _ops.cosh(z._re) * sin(z._im))


def _cosh(z):
    return ComplexTensor(_ops.cosh(z._re) * cos(z._im), _ops.sinh(z._re) * sin(z._im))


_OF_ONE = {
    "abs": abs, "square": lambda z: z * z, "exp": _exp, "log": _log, "sqrt": lambda z: z**0.5, "sin": _sin, "cos": _cos, "sinh": _sinh, "cosh": _cosh,
    "tan": lambda z: _sin(z) / _cos(z), "tanh": lambda z: _sinh(z) / _cosh(z), "reciprocal": lambda z: 1.0 / z,
    "sigmoid": lambda z: 1.0 / (1.0 + _exp(-z)), "sign": lambda z: ComplexTensor(*(_ops.divide_no_nan(part, abs(z)) for part in (z._re, z._im))),
}  # fmt: skip


def _where(condition, x, y):
    x, y = as_complex(x), as_complex(y)
    return ComplexTensor(*(records["where"](condition, *parts) for parts in ((x._re, y._re), (x._im, y._im))))


def _scatter_nd(indices, updates, *rest, **options):
    return ComplexTensor(*(records["scatter_nd"](indices, part, *rest, **options) for part in (updates._re, updates._im)))


def _cast(z, dtype, name=None):
    wanted = _dtypes.as_dtype(dtype)
    if wanted.is_complex:
        return ComplexTensor(_ops.cast(z._re, wanted.real_dtype), _ops.cast(z._im, wanted.real_dtype))
    return _ops.cast(z._re, wanted)


def _filled_like(fill, z, dtype):
    """Real numbers of the shape of complex ones, as complex ones unless another dtype is asked for."""
    wanted = z.dtype if dtype is None else _dtypes.as_dtype(dtype)
    numbers = fill(z._re, wanted.real_dtype if wanted.is_complex else wanted)
    return ComplexTensor(numbers, zeros_like(numbers)) if wanted.is_complex else numbers


def _zeros_like(z, dtype=None, **rest):
    return _filled_like(_ops.zeros_like, z, dtype)


def _ones_like(z, dtype=None, **rest):
    return _filled_like(_ops.ones_like, z, dtype)


def _matmul(a, b, transpose_a=False, transpose_b=False, adjoint_a=False, adjoint_b=False, **rest):
    x, y = as_complex(a), as_complex(b)
    x, y = conj(x) if adjoint_a else x, conj(y) if adjoint_b else y

    def product(first, second):
        return matmul(first, second, transpose_a=transpose_a or adjoint_a, transpose_b=transpose_b or adjoint_b)

    return ComplexTensor(product(x._re, y._re) - product(x._im, y._im), product(x._re, y._im) + product(x._im, y._re))


def _joined(op):
    def join(values, axis=0, name=None):
        parts = [as_complex(value) for value in values]
        return ComplexTensor(op([part._re for part in parts], axis), op([part._im for part in parts], axis))

    return join


def is_complex(value):
    """Whether a value holds complex numbers, at any depth of its lists."""
    if isinstance(value, (list, tuple)):
        return any(map(is_complex, value))
    if isinstance(value, (_tandem.Tensor, _tandem.Variable)):  # which need not have an array yet
        return False
    return isinstance(value, ComplexTensor) or np.iscomplexobj(value)


def dtype_of(value):
    """The complex dtype of a value; None of what is not complex."""
    if not is_complex(value):
        return None
    items = [item for item in (value if isinstance(value, (list, tuple)) else [value]) if hasattr(item, "dtype")]
    return _dtypes.as_complex_dtype(items[0].dtype) or _dtypes.complex128 if items else _dtypes.complex128


def as_complex(x, dtype=None):
    """x as a ComplexTensor, of a complex dtype or that of its parts; real numbers have no imaginary part."""
    part = dtype if dtype is None else _dtypes.as_dtype(dtype).real_dtype
    if isinstance(x, ComplexTensor):
        return x if dtype is None or part == x._re.dtype else _cast(x, _dtypes.complex128 if part.name == "float64" else _dtypes.complex64)
    if isinstance(x, (list, tuple)) and any(isinstance(item, (ComplexTensor, _tandem.Tensor)) for item in x) and is_complex(x):
        return as_complex(_joined(_ops.stack)(x), dtype)
    if is_complex(x):
        x = np.asarray(x)
        part = part or ("float64" if x.dtype == np.complex128 else "float32")
        return ComplexTensor(_tandem.to_tensor(x.real.copy(), part), _tandem.to_tensor(x.imag.copy(), part))
    x = _tandem.to_tensor(x, None if hasattr(x, "dtype") or part is None else part)
    x = x if part is None or x.dtype == part else _ops.cast(x, part)
    return ComplexTensor(x, zeros_like(x))


def _parts(x, dtype):
    x = as_complex(x, dtype)
    return x._re, x._im


def complex(real, imag, name=None):  # noqa: A001  TensorFlow's name
    """Complex numbers of their parts."""
    real, imag = _tandem.to_tensor(real), _tandem.to_tensor(imag)
    if real.dtype != imag.dtype or real.dtype.name not in ("float32", "float64"):
        raise TypeError(f"tf.complex takes two tensors of float32 or of float64, got {real.dtype.name} and {imag.dtype.name}")
    return ComplexTensor(real, imag)


def real(input, name=None):
    """The real part; of real numbers the numbers themselves."""
    return input if _is_real(input) else _tandem.to_tensor(as_complex(input)._re)


def imag(input, name=None):
    """The imaginary part; of real numbers zero."""
    return zeros_like(input) if _is_real(input) else _tandem.to_tensor(as_complex(input)._im)


def _is_real(value):
    return isinstance(value, (_tandem.Tensor, _tandem.Variable)) and value.dtype.is_numeric


def conj(x, name=None):
    """With the other sign of the imaginary part; of real numbers the numbers themselves."""
    x = as_complex(x) if not _is_real(x) and np.iscomplexobj(x) else x
    return ComplexTensor(x._re, -x._im) if isinstance(x, ComplexTensor) else _tandem.to_tensor(x)


def angle(input, name=None):
    """The direction in the plane, from -pi to pi."""
    re, im = (input, zeros_like(input)) if _is_real(input) else _parts(input, None)
    return atan2(im, re)
