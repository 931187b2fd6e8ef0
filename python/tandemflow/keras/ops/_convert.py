"""What functions of keras.ops do with their arguments: tensors of one dtype, axes from the front, functions by name."""
import builtins
import functools

from ... import _dtypes, _ops, _tandem
from .._engine.floats import floatx
from .._engine.operation import drawable

records = _ops.records
# What a dtype may become next, as in Keras (and JAX); "int" and "float" are those of Python's own numbers, which give way.
_NEXT = {
    "bool": ("int",), "int": ("uint8", "int8"), "uint8": ("uint16", "int16"), "uint16": ("uint32", "int32"), "uint32": ("uint64", "int64"),
    "uint64": ("float",), "int8": ("int16",), "int16": ("int32",), "int32": ("int64",), "int64": ("float",), "float": ("bfloat16", "float16"),
    "bfloat16": ("float32",), "float16": ("float32",), "float32": ("float64", "complex64"), "float64": ("complex128",),
    "complex64": ("complex128",), "complex128": (),
}  # fmt: skip


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


@functools.lru_cache(maxsize=None)
def _above(name):
    """This dtype and all that it may become."""
    return frozenset([name]).union(*map(_above, _NEXT[name]))


@functools.lru_cache(maxsize=None)
def _join(names):
    """The lowest dtype that all of them may become."""
    if len(names) == 1 or not names <= _NEXT.keys():  # strings and other kinds stay among themselves
        return min(names)
    return max(frozenset.intersection(*map(_above, names)), key=lambda name: len(_above(name)))


def result_name(*names):
    """The dtype of a result of operands of these dtypes; "int" and "float" stand for Python's own numbers."""
    return {"int": "int32", "float": floatx()}.get(name := _join(frozenset(names)), name)


def common_dtype(*dtypes):
    """The smallest dtype that all of them fit in: floats above integers above bools."""
    return result_name(*(d.name for d in dtypes))


def together(*values):
    """The values as tensors of one dtype; Python numbers take that of the tensors, if it can hold them."""
    tensors = [None if is_scalar(v) else tensor(v) for v in values]
    dtype = result_name(*(type(v).__name__ if t is None else t.dtype.name for v, t in zip(values, tensors)))
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
