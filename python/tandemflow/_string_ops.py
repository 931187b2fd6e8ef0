"""What ops do with strings. Ops compute with numbers: what only moves elements moves their numbers, and strings are put in their place."""
from . import _dtypes, _ops, _tandem
from ._shape import TensorShape
from .errors import UnimplementedError

_MOVES_FIRST = {"broadcast_to", "concat", "gather", "gather_nd", "slice", "strided_slice", "transpose"}  # only the first operand may be strings
_MOVES = _MOVES_FIRST | {"pad", "tensor_scatter_nd_update", "where"}


def run(name, args, kwargs):
    """The result of an op that was given strings; NotImplemented where strings mean nothing to it."""
    if not any(_holds_strings(arg) for arg in args):
        return NotImplemented
    if name in _MOVES_FIRST and not _holds_strings(args[0]):
        return NotImplemented
    if name == "mirror_pad":  # whose mode is text, too
        return moved(lambda numbers: _ops.records[name](numbers, *args[1:], **kwargs), args[0]) if _holds_strings(args[0]) else NotImplemented
    if name in _MOVES:
        return _moved(_ops.records[name], name, args, kwargs)
    special = {"add": joined, "cast": _cast, "equal": _equal, "not_equal": _not_equal}.get(name)
    return NotImplemented if special is None else special(*args, **kwargs)


def _is_text(value):
    return isinstance(value, (str, bytes)) or getattr(value, "dtype", None) == _dtypes.string


def _holds_strings(value):
    return _is_text(value) or isinstance(value, (list, tuple)) and any(map(_holds_strings, value))


def _text(value):
    return _tandem.to_tensor(value, None if isinstance(value, _tandem.Tensor) else _dtypes.string)


def _computed(function, tensors, shape, dtype):
    from . import strings

    return strings._computed(function, tensors, TensorShape(shape), dtype)


class _Numbered:
    """Gives the elements of several tensors of strings one numbering."""

    def __init__(self):
        self.tensors, self._count = [], 0

    def first(self, value):
        """The number of the first element of one more tensor."""
        tensor = _text(value)
        self.tensors.append(tensor)
        self._count += tensor.shape.num_elements()
        return self._count - tensor.shape.num_elements()

    def numbers(self, value):
        first = self.first(value)
        return _ops.reshape(_ops.range(first, self._count, dtype=_dtypes.int32), self.tensors[-1].shape)

    def strings(self, numbers):
        import numpy

        def pick(places, *parts):
            flat = numpy.concatenate([part.reshape(-1) for part in parts])
            return flat[places.astype(int).reshape(-1)].reshape(places.shape) if places.size else places  # of a scalar, too, an array

        return _computed(pick, [numbers, *self.tensors], numbers.shape, _dtypes.string)


def moved(function, tensor):
    """function(tensor), which only moves elements."""
    numbered = _Numbered()
    return numbered.strings(function(numbered.numbers(tensor)))


def indexed(tensor, key):
    """tensor[key] in a traced function."""
    return moved(lambda numbers: numbers[key], tensor)


def _moved(op, name, args, kwargs):
    numbered = _Numbered()
    if name == "concat" and isinstance(args[0], (list, tuple)):
        args = ([_text(item) for item in args[0]], *args[1:])
    if name == "pad":  # what it fills in is one more string
        filling = args[2] if len(args) > 2 else kwargs.get("constant_values", 0)
        args, kwargs = args[:2], {**kwargs, "constant_values": numbered.first(filling or b"")}
    return numbered.strings(op(*[_numbers_for(arg, numbered) for arg in args], **kwargs))


def _numbers_for(arg, numbered):
    if isinstance(arg, (list, tuple)) and any(isinstance(item, _tandem.Tensor) for item in arg) and _holds_strings(arg):
        return [numbered.numbers(item) for item in arg]
    return numbered.numbers(arg) if _holds_strings(arg) else arg


def joined(x, y, name=None):
    """x + y."""
    from . import strings

    return strings.join([_text(x), _text(y)])


def _cast(x, dtype, name=None):
    wanted = _dtypes.as_dtype(dtype)
    if wanted == _dtypes.string:
        return x
    raise UnimplementedError(f"Cast string to {wanted.name} is not supported; tf.strings.to_number reads numbers")


def _equal(x, y, name=None):
    return compared(_text(x), _text(y), True)


def _not_equal(x, y, name=None):
    return compared(_text(x), _text(y), False)


def compared(x, y, when_equal):
    """== or != of strings; shapes that do not broadcast have an answer, as those of numbers have."""
    import numpy

    try:
        shape = numpy.broadcast_shapes(tuple(x.shape), tuple(y.shape))
    except ValueError:
        return _tandem.to_tensor(not when_equal)
    return _computed(lambda a, b: numpy.asarray((a == b) == when_equal, bool), [x, y], shape, _dtypes.bool)
