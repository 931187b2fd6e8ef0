"""tf.types.experimental."""
from typing import Any, Union

from .. import _tandem
from .._concrete import ConcreteFunction  # noqa: F401
from .._function import Function as GenericFunction  # noqa: F401
from .._function import Function as PolymorphicFunction  # noqa: F401

Tensor = _tandem.Tensor
TensorLike = Union[_tandem.Tensor, _tandem.Variable, int, float, bool, str, bytes, complex, tuple, list, Any]
Callable = GenericFunction
