"""Dtypes as objects: tf.float32 and its siblings."""
import types

from . import _tandem


class KerasName(str):
    """The dtype of a Keras variable: its name, which Keras and NumPy take, with what a DType knows."""

    def __new__(cls, name, dtype):
        self = super().__new__(cls, name)
        self._dtype = dtype
        return self

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._dtype, name)

    def __reduce__(self):
        return str, (str(self),)


class DType:
    """The dtype of a tensor's elements."""

    __slots__ = ("name", "keras_name")

    def __init__(self, name):
        self.name = name
        self.keras_name = KerasName(name, self)

    @property
    def as_numpy_dtype(self):
        import numpy

        if self.name == "string":
            return object
        if self.name == "bfloat16":
            try:
                import ml_dtypes
            except ImportError:
                raise TypeError("NumPy has bfloat16 only where the package ml_dtypes is installed") from None
            return ml_dtypes.bfloat16
        return numpy.bool_ if self.name == "bool" else getattr(numpy, self.name)

    @property
    def is_floating(self):
        return "float" in self.name

    @property
    def is_integer(self):
        return "int" in self.name

    @property
    def is_unsigned(self):
        return self.name.startswith("uint")

    @property
    def is_bool(self):
        return self.name == "bool"

    @property
    def is_complex(self):
        return self.name.startswith("complex")

    @property
    def is_numeric(self):
        return self.is_floating or self.is_integer or self.is_complex

    @property
    def is_quantized(self):
        return False

    @property
    def is_numpy_compatible(self):
        return True

    def is_compatible_with(self, other):
        return self == other

    @property
    def limits(self):
        """The smallest and the largest value that pictures of this dtype hold."""
        if self.is_floating:
            return (0, 1)
        return (0, int(self.max))

    @property
    def real_dtype(self):
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    @property
    def base_dtype(self):
        return self

    @property
    def size(self):
        """Bytes of an element."""
        sizes = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2, "float32": 4, "int32": 4, "uint32": 4}
        return {"string": 0, "complex128": 16}.get(self.name, sizes.get(self.name, 8))

    @property
    def min(self):
        return self._limits().min

    @property
    def max(self):
        return self._limits().max

    def _limits(self):
        import numpy

        if not (self.is_floating or self.is_integer):
            raise TypeError(f"Cannot find minimum or maximum value of {self}.")
        if self.name == "bfloat16":  # of which NumPy knows nothing
            largest = (2 - 2.0**-7) * 2.0**127
            return types.SimpleNamespace(min=-largest, max=largest)
        return (numpy.finfo if self.is_floating else numpy.iinfo)(self.as_numpy_dtype)

    def __repr__(self):
        return "tf." + self.name

    def __str__(self):
        return f"<dtype: '{self.name}'>"

    def __eq__(self, other):
        if self is other:
            return True
        if other is None:
            return False
        try:
            return as_dtype(other) is self
        except TypeError:
            return NotImplemented

    def __hash__(self):
        return hash(self.name)

    def __reduce__(self):
        return as_dtype, (self.name,)


ALL = tuple(DType(name) for name in _tandem.dtype_names)
float16, bfloat16, float32, float64, int8, uint8, int32, int64, int16, uint16, uint32, uint64, bool, string = ALL
half, double = float16, float64


class ComplexDType(DType):
    """The dtype of pairs of tensors (_complex.py): kernels do not know it, so an op that is given it asks here."""

    __slots__ = ()

    def __tandem_op__(self, name, args, kwargs):
        if name != "cast":
            return NotImplemented
        from ._complex import as_complex

        return as_complex(args[0] if args else kwargs["x"], self)


complex64, complex128 = ComplexDType("complex64"), ComplexDType("complex128")


def as_complex_dtype(type_value):
    """tf.complex64 or tf.complex128, where that is meant; else None."""
    if isinstance(type_value, ComplexDType):
        return type_value
    name = type_value if isinstance(type_value, str) else getattr(type_value, "name", None) or getattr(type_value, "__name__", None)
    return {"complex64": complex64, "complex128": complex128, "complex": complex128}.get(name)


def as_dtype(type_value):
    """tf.float32 from 'float32', numpy.float32, numpy.dtype('float32') or float."""
    try:
        return _tandem.as_dtype(type_value)
    except TypeError:
        found = as_complex_dtype(type_value)
        if found is None:
            raise
        return found
