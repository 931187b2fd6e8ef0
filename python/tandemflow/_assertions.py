"""tf.debugging.assert_*: checks of values, also in traced functions, where they run with them."""
import numpy as np

from . import _ops, _tandem
from ._control_flow import assert_value
from .errors import InvalidArgumentError


def Assert(condition, data, summarize=None, name=None):  # noqa: N802  TensorFlow's name
    """Raises InvalidArgumentError with `data` when the condition is false."""
    if not _tandem.executing_eagerly() or _is_true(condition):
        assert_value(condition, "assertion failed:", data)
        return
    shown = "\n".join(", ".join(_first(_tandem.to_tensor(item), summarize)) for item in data)
    raise InvalidArgumentError(f"Expected '{condition!s}' to be true. Summarized data: {shown}")


def _is_true(condition):
    return bool(_tandem.to_tensor(condition).numpy())


def _first(tensor, summarize):
    """The first elements as texts, "..." where there are more."""
    if not tensor.ndim:
        return [str(tensor.numpy())]
    flat = tensor.numpy().reshape(-1)
    count = 3 if summarize is None else summarize if summarize >= 0 else flat.size
    return [str(value) for value in flat[:count]] + ["..."] * (count < flat.size)


def _shown(tensor, summarize):
    """They, as TensorFlow's eager assertions of one tensor show them."""
    return str(_first(tensor, summarize)) if tensor.ndim else str(tensor.numpy())


def _require(condition, text, data, eager_text):
    """Raises now what TensorFlow says eagerly; in a traced function, when it runs, the text and the data."""
    if not _tandem.executing_eagerly():
        assert_value(condition, text, data)
    elif not _is_true(condition):
        raise InvalidArgumentError(eager_text())


_HOLDS = {"==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


def _both(a, b, sign, message, summarize):
    """What is said of two tensors that do not compare as they should."""
    x, y = a.numpy(), b.numpy()
    count = 3 if summarize is None else summarize if summarize >= 0 else max(x.size, y.size)
    lines = [message] if message else []
    lines.append(f"Condition x {sign} y did not hold.")
    if x.shape == y.shape and x.ndim:
        places = np.argwhere(~_HOLDS[sign](x, y))[:count]
        found = tuple(places.T)
        lines += [f"Indices of first {len(places)} different values:", str(places), "Corresponding x values:", str(x[found]), "Corresponding y values:", str(y[found])]
    for name, values in (("x", x), ("y", y)):
        first = values.reshape(-1)[:count]
        lines += [f"First {len(first)} elements of {name}:", str(first)]
    return "\n".join(lines)


def _pair(x, y):
    return _ops._converted([x, y])


def _comparing(name, op, sign):
    def check(x, y, message=None, summarize=None, name=None):
        a, b = _pair(x, y)
        text = f"{message or ''} Condition x {sign} y did not hold.".strip()
        _require(_ops.reduce_all(op(a, b)), text, [a, b], lambda: _both(a, b, sign, message, summarize))

    check.__name__ = check.__qualname__ = f"assert_{name}"
    check.__doc__ = f"Raises InvalidArgumentError unless x {sign} y for every element."
    return check


assert_equal = _comparing("equal", _ops.equal, "==")
_assert_none_equal = _comparing("none_equal", _ops.not_equal, "!=")
assert_less = _comparing("less", _ops.less, "<")
assert_less_equal = _comparing("less_equal", _ops.less_equal, "<=")
assert_greater = _comparing("greater", _ops.greater, ">")
assert_greater_equal = _comparing("greater_equal", _ops.greater_equal, ">=")


def assert_none_equal(x, y, summarize=None, message=None, name=None):
    """Raises InvalidArgumentError unless x != y for every element."""
    _assert_none_equal(x, y, message, summarize)


def _signed(name, op, sign):
    def check(x, message=None, summarize=None, name=None):
        tensor = _tandem.to_tensor(x)
        text = f"{message or ''} Condition x {sign} 0 did not hold element-wise:".strip()
        head = f"{message or ''}\nCondition x {sign} 0 did not hold element-wise:"
        _require(_ops.reduce_all(op(tensor, 0)), text, [tensor],
                 lambda: f"{head}\nx (shape={tensor.shape} dtype={tensor.dtype.name}) = \n{_shown(tensor, summarize)}")  # fmt: skip

    check.__name__ = check.__qualname__ = f"assert_{name}"
    check.__doc__ = f"Raises InvalidArgumentError unless every element is {sign} 0."
    return check


assert_positive = _signed("positive", _ops.greater, ">")
assert_negative = _signed("negative", _ops.less, "<")
assert_non_negative = _signed("non_negative", _ops.greater_equal, ">=")
assert_non_positive = _signed("non_positive", _ops.less_equal, "<=")


def assert_near(x, y, rtol=None, atol=None, message=None, summarize=None, name=None):
    """Raises InvalidArgumentError unless |x - y| <= atol + rtol * |y| for every element."""
    a, b = _pair(x, y)
    eps = {"float64": 2.2e-15, "float16": 9.8e-3, "bfloat16": 7.8e-2}.get(a.dtype.name, 1.2e-6)
    bound = _ops.abs(b) * (eps if rtol is None else rtol) + (eps if atol is None else atol)
    assert_value(_ops.reduce_all(_ops.less_equal(_ops.abs(a - b), bound)), f"{message or ''} x and y not equal to tolerance".strip(), [a, b])


def assert_all_finite(x, message, name=None):
    """Raises InvalidArgumentError when an element is NaN or Inf."""
    tensor = _tandem.to_tensor(x)
    text = f"{message} : Tensor had NaN or Inf values"
    _require(_ops.reduce_all(_ops.is_finite(tensor)), text, [], lambda: f"{message} : Tensor had {_not_finite(tensor.numpy())} values")
    return tensor


def _not_finite(values):
    kinds = [name for name, found in (("Inf", np.isinf(values)), ("NaN", np.isnan(values))) if found.any()]
    return " and ".join(kinds)


def check_numerics(tensor, message, name=None):
    """Raises InvalidArgumentError when an element is NaN or Inf."""
    return assert_all_finite(tensor, message)


# --- What is known without values. ---


def assert_rank(x, rank, message=None, name=None):
    """Raises ValueError unless x has so many axes."""
    got = _tandem.to_tensor(x).ndim
    if got != int(rank):
        raise ValueError(f"{message or ''}Tensor  must have rank {int(rank)}.  Received rank {got}, shape {_tandem.to_tensor(x).shape}")


def assert_rank_at_least(x, rank, message=None, name=None):
    """Raises ValueError unless x has so many axes or more."""
    got = _tandem.to_tensor(x).ndim
    if got < int(rank):
        raise ValueError(f"{message or ''}Tensor  must have rank at least {int(rank)}.  Received rank {got}, shape {_tandem.to_tensor(x).shape}")


def assert_rank_in(x, ranks, message=None, name=None):
    """Raises ValueError unless the number of axes of x is one of these."""
    got = _tandem.to_tensor(x).ndim
    if got not in [int(rank) for rank in ranks]:
        raise ValueError(f"{message or ''}Tensor  must have rank in {tuple(int(rank) for rank in ranks)}.  Received rank {got}, shape {_tandem.to_tensor(x).shape}")


def assert_scalar(tensor, message=None, name=None):
    """Raises ValueError unless it has no axes; returns it."""
    tensor = _tandem.to_tensor(tensor)
    if tensor.ndim:
        raise ValueError(f"{message or ''}Expected scalar shape, saw shape: {tensor.shape}.")
    return tensor


def assert_type(tensor, tf_type, message=None, name=None):
    """Raises TypeError unless the tensor has the dtype."""
    wanted = _tandem.as_dtype(tf_type)
    if _tandem.to_tensor(tensor).dtype != wanted:
        raise TypeError(f"{message or ''}  tensor must be of type {wanted!r}; got {_tandem.to_tensor(tensor).dtype!r}".strip())


def assert_integer(x, message=None, name=None):
    """Raises TypeError unless the tensor holds integers."""
    if not _tandem.to_tensor(x).dtype.is_integer:
        raise TypeError(f"{message or ''}  Expected \"x\" to be integer type.  Found: tensor of dtype {_tandem.to_tensor(x).dtype}".strip())


def assert_proper_iterable(values):
    """Raises TypeError for a tensor or a text, which also can be gone through, and for what cannot."""
    if isinstance(values, (_tandem.Tensor, _tandem.Variable, str, bytes)) or _tandem.is_numpy(values) or not hasattr(values, "__iter__"):
        raise TypeError(f"Expected argument 'values' to be a 'proper' iterable. Found: {type(values)}")


def assert_same_float_dtype(tensors=None, dtype=None):
    """The floating dtype that the tensors share; ValueError when they do not."""
    dtypes = {_tandem.to_tensor(tensor).dtype for tensor in tensors or []} | ({_tandem.as_dtype(dtype)} if dtype else set())
    if len(dtypes) != 1 or not next(iter(dtypes)).is_floating:
        raise ValueError(f"Expected one floating point type, got {sorted(d.name for d in dtypes)}.")
    return dtypes.pop()


def assert_shapes(shapes, data=None, summarize=None, message=None, name=None):
    """Checks shapes given as {tensor: ('N', 3)} or [(tensor, ('N', 3))]: a letter stands for one size everywhere."""
    known = {}
    for tensor, wanted in shapes.items() if isinstance(shapes, dict) else shapes:
        tensor = tensor.deref() if hasattr(tensor, "deref") else tensor
        got = _tandem.to_tensor(tensor).shape.as_list()
        wanted = list(wanted) if isinstance(wanted, (list, tuple)) or hasattr(wanted, "as_list") else [wanted]
        if wanted[:1] in (["..."], [Ellipsis]):
            wanted = [None] * (len(got) - len(wanted) + 1) + wanted[1:]
        fits = len(got) == len(wanted)
        for size, symbol in zip(got, wanted):
            fits = fits and (symbol in (None, ".", size) if not isinstance(symbol, str) or symbol == "." else known.setdefault(symbol, size) == size)
        if not fits:
            raise ValueError(f"{message or ''} Specified by tensor dimensions {wanted}: tensor has shape {tuple(got)}; sizes so far {known}".strip())


def is_numeric_tensor(tensor):
    """True for tensors of numbers."""
    return isinstance(tensor, (_tandem.Tensor, _tandem.Variable)) and (tensor.dtype.is_floating or tensor.dtype.is_integer)
