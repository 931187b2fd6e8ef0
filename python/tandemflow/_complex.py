"""Complex numbers as two tensors: what tf.signal gives, and the functions that take them apart."""
import numpy as np

from . import _tandem
from ._ops import atan2, cos, exp, records, sin, sqrt, square, zeros_like


# Ops that do the same to both parts.
_OF_EACH_PART = {"identity", "negative", "reshape", "transpose", "reduce_sum", "reduce_mean", "pad", "gather", "slice", "strided_slice", "stop_gradient"}


class ComplexTensor:
    """Complex values: `.numpy()`, indexing, + - * /, tf.abs, tf.math.real, imag, angle and conj, sums, shapes and gradients of these."""

    __array_priority__ = 200  # NumPy's arrays leave expressions to this

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
        """NumPy's complex64 or complex128."""
        return np.dtype("complex128" if self._re.dtype.name == "float64" else "complex64")

    def numpy(self):
        return (self._re.numpy() + 1j * self._im.numpy()).astype(self.dtype)

    def __array__(self, dtype=None, copy=None):
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def __repr__(self):
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype}, numpy=\n{self.numpy()!r}>"

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

    def __tandem_op__(self, name, args, kwargs):
        """What an op does with complex operands; ops ask it when they meet one."""
        if name in _OF_EACH_PART:
            return ComplexTensor(*(records[name](part, *args[1:], **kwargs) for part in (self._re, self._im)))
        one = {"abs": abs, "square": lambda z: z * z, "exp": _exp}.get(name)
        if one is not None:
            return one(self)
        two = {"add": "__add__", "subtract": "__sub__", "multiply": "__mul__", "divide": "__truediv__"}.get(name)
        return NotImplemented if two is None else getattr(as_complex(args[0], self._re.dtype), two)(args[1])


def _exp(z):
    size = exp(z._re)
    return ComplexTensor(size * cos(z._im), size * sin(z._im))


def as_complex(x, dtype=None):
    """x as a ComplexTensor; real numbers have no imaginary part."""
    if isinstance(x, ComplexTensor):
        return x
    if np.iscomplexobj(x):
        x = np.asarray(x)
        kind = dtype or ("float64" if x.dtype == np.complex128 else "float32")
        return ComplexTensor(_tandem.to_tensor(x.real.copy(), kind), _tandem.to_tensor(x.imag.copy(), kind))
    x = _tandem.to_tensor(x, None if hasattr(x, "dtype") else dtype)
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
    return input._re if isinstance(input, ComplexTensor) else as_complex(input)._re


def imag(input, name=None):
    """The imaginary part; of real numbers zero."""
    return as_complex(input)._im


def conj(x, name=None):
    """With the other sign of the imaginary part; of real numbers the numbers themselves."""
    x = as_complex(x) if np.iscomplexobj(x) else x
    return ComplexTensor(x._re, -x._im) if isinstance(x, ComplexTensor) else _tandem.to_tensor(x)


def angle(input, name=None):
    """The direction in the plane, from -pi to pi."""
    z = as_complex(input)
    return atan2(z._im, z._re)
