"""Variables of complex numbers: two variables, read as a complex tensor."""
import numpy as np

from . import _dtypes, _tandem
from ._complex import ComplexTensor, as_complex, is_complex
from ._shape import Reference


class ComplexVariable(ComplexTensor):
    """A tf.Variable of tf.complex64 or tf.complex128: assign, assign_add, assign_sub, and all that complex tensors do."""

    def __init__(self, re, im, name):
        super().__init__(re, im)
        self._name = name

    @property
    def name(self):
        return f"{self._name}:0"

    @property
    def trainable(self):
        return self._re.trainable

    @property
    def variables(self):
        """Itself: modules ask their parts."""
        return [self]

    trainable_variables = variables

    def read_value(self):
        return ComplexTensor(self._re.read_value(), self._im.read_value())

    value = read_value

    def assign(self, value, use_locking=False, name=None, read_value=True):
        """Replaces the value."""
        new = as_complex(value, self.dtype)
        self._re.assign(new._re), self._im.assign(new._im)
        return self

    def assign_add(self, delta, use_locking=False, name=None, read_value=True):
        """Adds to the value."""
        return self.assign(self + as_complex(delta, self.dtype))

    def assign_sub(self, delta, use_locking=False, name=None, read_value=True):
        """Subtracts from the value."""
        return self.assign(self - as_complex(delta, self.dtype))

    def ref(self):
        return Reference(self)

    def __repr__(self):
        value = repr(np.asarray(self.numpy())) if self.ndim else repr(complex(self.numpy()))
        line = "\n" * ("\n" in value)
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}, numpy={line}{value}>"

    __str__ = __repr__


def made(initial, dtype, trainable, name):
    """For tf.Variable: a variable of complex numbers, None of others."""
    wanted = None if dtype is None else _dtypes.as_complex_dtype(dtype)
    if wanted is None and (dtype is not None or not is_complex(initial)):
        return None
    value = as_complex(initial, wanted)
    parts = (_tandem.Variable(part, trainable=trainable, name=f"{name}/{end}") for part, end in ((value._re, "real"), (value._im, "imag")))
    return ComplexVariable(*parts, name)
