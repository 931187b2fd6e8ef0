"""What variable.value is: TensorFlow calls it, value() gives the tensor; Keras reads it as an attribute that is the tensor."""
import operator

from . import _tandem

_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor")
_COMPARED = ("lt", "le", "gt", "ge", "eq", "ne")
_UNARY = ("neg", "pos", "abs", "invert")
_CONVERTED = {"float": float, "int": int, "bool": bool, "len": len, "iter": iter, "index": operator.index}


class VariableValue:
    """The tensor that a variable holds now; calling it gives that tensor itself."""

    __slots__ = ("_tensor",)
    __hash__ = None

    def __init__(self, tensor):
        self._tensor = tensor

    def __call__(self):
        return self._tensor

    def __tf_tensor__(self, dtype=None, name=None):
        return self._tensor

    def __array__(self, dtype=None, copy=None):
        array = self._tensor.numpy()
        return array if dtype is None else array.astype(dtype)

    def __getattr__(self, name):
        return getattr(self._tensor, name)

    def __getitem__(self, key):
        return self._tensor[key]

    def __repr__(self):
        return repr(self._tensor)

    def __str__(self):
        return str(self._tensor)

    def __format__(self, spec):
        return format(self._tensor, spec)


def _plain(value):
    return value._tensor if isinstance(value, VariableValue) else value


def _forwarded(function, swapped=False):
    if swapped:
        return lambda self, other: function(other, self._tensor)
    return lambda self, *others: function(self._tensor, *map(_plain, others))


for _name in _BINARY:
    _function = getattr(operator, f"{_name}_" if _name in ("and", "or") else _name)
    setattr(VariableValue, f"__{_name}__", _forwarded(_function))
    setattr(VariableValue, f"__r{_name}__", _forwarded(_function, swapped=True))
for _name in (*_COMPARED, *_UNARY):
    setattr(VariableValue, f"__{_name}__", _forwarded(getattr(operator, _name)))
for _name, _function in _CONVERTED.items():
    setattr(VariableValue, f"__{_name}__", _forwarded(_function))

_tandem.add_methods(_tandem.Variable, {"value": property(lambda variable: VariableValue(variable.read_value()), doc="The value as it is now.")})
