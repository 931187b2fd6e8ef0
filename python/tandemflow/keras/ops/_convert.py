"""What functions of keras.ops do with their arguments: tensors of one dtype, axes from the front, functions by name."""
import builtins

from ... import _dtypes, _ops, _tandem
from .._engine.floats import floatx
from .._engine.operation import drawable

records = _ops.records
_ORDER = ("bool", "uint8", "int8", "int32", "int64", "bfloat16", "float16", "float32", "float64")


def tensor(x, dtype=None):
    """x as a tensor; Keras' dtypes may be strings."""
    if dtype is not None:
        return _ops.cast(_tandem.to_tensor(x), _dtypes.as_dtype(dtype))
    return _tandem.to_tensor(x)


def floats(x):
    """x as a floating tensor."""
    x = tensor(x)
    return x if x.dtype.is_floating else _ops.cast(x, floatx())


def numbers(x):
    """x as a tensor of numbers: bools as 0 and 1, which ops that order or add up take."""
    x = tensor(x)
    return _ops.cast(x, "uint8") if x.dtype.name == "bool" else x


def like(out, x):
    """`out`, computed from numbers(x), in the dtype of x."""
    dtype = tensor(x).dtype
    return out if out.dtype == dtype else _ops.cast(out, dtype)


def is_scalar(x):
    return isinstance(x, (builtins.bool, int, float))


def common_dtype(*dtypes):
    """The smallest dtype that all of them fit in: floats above integers above bools."""
    names = {d.name for d in dtypes}
    if {"bfloat16", "float16"} <= names:
        names.add("float32")
    if {"uint8", "int8"} <= names:
        names.add("int32")
    return max(names, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))


def together(*values):
    """The values as tensors of one dtype; Python numbers take that of the tensors, if it can hold them."""
    tensors = [None if is_scalar(v) else tensor(v) for v in values]
    found = [t.dtype for t in tensors if t is not None]
    if not found:
        tensors = [tensor(v) for v in values]
        dtype = common_dtype(*(t.dtype for t in tensors))
        return [_ops.cast(t, dtype) for t in tensors]
    dtype = common_dtype(*found)
    for value in values:
        if isinstance(value, float) and not _dtypes.as_dtype(dtype).is_floating:
            dtype = floatx()
        elif isinstance(value, int) and not isinstance(value, builtins.bool) and dtype == "bool":
            dtype = "int32"
    return [tensor(v, dtype) if t is None else t if t.dtype.name == dtype else _ops.cast(t, dtype) for v, t in zip(values, tensors)]


def together_as_floats(*values):
    """The values as tensors of one floating dtype."""
    values = together(*values)
    return values if values[0].dtype.is_floating else [_ops.cast(v, floatx()) for v in values]


def axes_of(axis, rank):
    """The axes from the front, as a list; None is all of them."""
    if axis is None:
        return list(range(rank))
    return [one_axis(a, rank) for a in (axis if isinstance(axis, (list, tuple)) else [axis])]


def one_axis(axis, rank):
    """The axis as a number, if the tensor has it."""
    axis = int(axis)
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of bounds for a tensor of rank {rank}")
    return axis % rank


def made(name, function, doc):
    """A function under its Keras name."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return drawable(function)
