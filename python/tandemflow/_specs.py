"""What is known of a tensor or dataset without its values."""
from . import _dtypes
from ._shape import TensorShape


class TypeSpec:
    """What is known of a value without it: the base of tf.TensorSpec, tf.RaggedTensorSpec, tf.SparseTensorSpec and tf.data.DatasetSpec."""

    __slots__ = ()

    def is_compatible_with(self, value):
        """Whether a value, or a spec of one, may stand here."""
        shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
        kind = type(value).__name__.removesuffix("Spec") == type(self).__name__.removesuffix("Spec")
        return kind and self.dtype == dtype and self.shape.is_compatible_with(shape)


class TensorSpec(TypeSpec):
    """Dtype and shape of a tensor; sizes may be None."""

    __slots__ = ("_shape", "_dtype", "_name")

    def __init__(self, shape, dtype=_dtypes.float32, name=None):
        self._shape = TensorShape(shape)
        self._dtype = _dtypes.as_dtype(dtype)
        self._name = name

    @property
    def shape(self):
        return self._shape

    @property
    def dtype(self):
        return self._dtype

    @property
    def name(self):
        return self._name

    @classmethod
    def from_tensor(cls, tensor, name=None):
        return cls(tensor.shape, tensor.dtype, name)

    @classmethod
    def from_spec(cls, spec, name=None):
        return cls(spec.shape, spec.dtype, name or getattr(spec, "name", None))

    def is_compatible_with(self, value):
        return self._dtype == value.dtype and self._shape.is_compatible_with(value.shape)

    def __eq__(self, other):
        if not isinstance(other, TensorSpec):
            return NotImplemented
        return (self._shape.dims, self._dtype, self._name) == (other._shape.dims, other._dtype, other._name)

    def __hash__(self):
        return hash((None if self._shape.dims is None else tuple(self._shape.dims), self._dtype))

    def __repr__(self):
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"


class NoneTensorSpec(TypeSpec):
    """None, where an element of a dataset has it."""

    __slots__ = ()

    def is_compatible_with(self, value):
        return value is None or isinstance(value, NoneTensorSpec)

    def __eq__(self, other):
        return isinstance(other, NoneTensorSpec)

    def __hash__(self):
        return hash(NoneTensorSpec)

    def __repr__(self):
        return "NoneTensorSpec()"


class DatasetSpec(TypeSpec):
    """A dataset as an element of another: what window() gives."""

    __slots__ = ("element_spec",)

    def __init__(self, element_spec, dataset_shape=()):
        self.element_spec = element_spec

    @classmethod
    def from_value(cls, value):
        return cls(value.element_spec)

    def __eq__(self, other):
        return self.element_spec == other.element_spec if isinstance(other, DatasetSpec) else NotImplemented

    def __hash__(self):
        return hash(repr(self))

    def __repr__(self):
        return f"DatasetSpec({self.element_spec!r}, TensorShape([]))"
