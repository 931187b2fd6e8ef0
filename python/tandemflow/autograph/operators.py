"""What converted functions call. Each operator looks whether tensors without values are involved; if not, it is Python's own."""
import builtins
import collections

from .. import _dtypes, _loops, _ops, _tandem
from .._branch_values import Contents, Returned, Undefined
from .._control_flow import assert_value
from .._loops import is_symbolic
from .._open_size import OpenSize
from .convert import convert, mark_converted
from .for_loops import for_stmt  # noqa: F401
from .lazy_range import LazyRange

converted = mark_converted


# --- Variables. ---


def ld(value):
    """A variable's value when it is read."""
    if isinstance(value, Undefined):
        raise UnboundLocalError(f"local variable '{value.name}' is referenced before assignment, or assigned only in a branch or loop that may not run")
    return value


def part(read, name):
    """An attribute or item, if it is there."""
    try:
        return read()
    except (AttributeError, LookupError, TypeError):
        return Undefined(name)


def set_attribute(owner, name, value):
    """Gives an attribute its value, or takes it away when it had none."""
    if isinstance(value, Undefined):
        return _without(lambda: delattr(owner(), name))
    target = owner()
    if getattr(target, name, None) is not value:
        setattr(target, name, value)
    return None


def set_item(owner, key, value):
    """Gives an item its value, or takes it away when it had none."""
    if isinstance(value, Undefined):
        return _without(lambda: owner().pop(key))
    owner()[key] = value
    return None


_MOST_ITEMS = 10_000  # a table of words is nobody's list of tensors


def _contents_of(container):
    if not isinstance(container, (dict, list, set, collections.deque)) or len(container) > _MOST_ITEMS:
        return None
    if isinstance(container, dict):
        return Contents(dict(container))
    return Contents(list(container))


def contents(read, name):
    """What is in a container now, a copy; other objects have methods of their own."""
    try:
        return _contents_of(read()) or Undefined(name)
    except (AttributeError, LookupError, NameError, TypeError):
        return Undefined(name)


def set_contents(read, value):
    """Puts that into the container, which stays the same object."""
    if isinstance(value, Undefined) or value.items is None:
        return
    container = read()
    if value.has_tensors() or _contents_of(container).has_tensors():
        container.clear()
        (container.extend if isinstance(container, (list, collections.deque)) else container.update)(value.items)


def _without(remove):
    try:
        remove()
    except (AttributeError, LookupError, TypeError):
        pass  # it is not there


def not_returned():
    return Returned("return value")


def returned(value, did_return=True):
    """What a function gives at its end."""
    if is_symbolic(did_return):
        if value is not None and not isinstance(value, Undefined):
            raise ValueError(
                "the function returns a value in some of its branches only, and which one runs depends on a tensor; add a return at its end"
            )
        return None
    return None if isinstance(value, Undefined) else value


# --- Statements. ---


def if_stmt(test, body, orelse, get_state, set_state, names):
    if is_symbolic(test):
        _loops.traced_branches(_tandem.to_tensor(test), body, orelse, *_loops.scoped(get_state, set_state, names), names)
    elif test:
        body()
    else:
        orelse()


def while_stmt(test, body, get_state, set_state, names):
    """Turns run one by one as long as the test is known, the rest as a loop of the graph."""
    while True:
        go_on = test()
        # A tensor counts even when its value is known: what counts in Python's numbers unrolls, what in tensors does not.
        if is_symbolic(go_on) or (isinstance(go_on, _tandem.Tensor) and not _tandem.executing_eagerly()):
            return _loops.traced_loop(test, body, *_loops.scoped(get_state, set_state, names), names)
        if not go_on:
            return None
        body()


def assert_stmt(test, message):
    if is_symbolic(test):
        assert_value(test, lambda: str(message()))
    else:
        assert test, message()


# --- Expressions. ---


def and_(*operands):
    """`a and b and …`, each computed when it is needed."""
    for i, operand in enumerate(operands[:-1]):
        value = operand()
        if is_symbolic(value):
            rest = operands[i + 1 :]
            return _chosen(value, lambda: _boolean(and_(*rest)), lambda: _boolean(False))
        if not value:
            return value
    return operands[-1]()


def or_(*operands):
    """`a or b or …`, each computed when it is needed."""
    for i, operand in enumerate(operands[:-1]):
        value = operand()
        if is_symbolic(value):
            rest = operands[i + 1 :]
            return _chosen(value, lambda: _boolean(True), lambda: _boolean(or_(*rest)))
        if value:
            return value
    return operands[-1]()


def _boolean(value):
    return _tandem.to_tensor(value, None if hasattr(value, "dtype") else _dtypes.bool)


def not_(value):
    return _ops.logical_not(_tandem.to_tensor(value)) if is_symbolic(value) else not value


def if_exp(test, body, orelse):
    """`body if test else orelse`."""
    return _chosen(test, body, orelse) if is_symbolic(test) else (body() if test else orelse())


def _chosen(test, body, orelse):
    result = [Undefined("the value of the conditional expression")]

    def keep(values):
        result[:] = values

    _loops.traced_branches(
        _tandem.to_tensor(test), lambda: keep([body()]), lambda: keep([orelse()]), lambda: tuple(result), keep, ("conditional expression",)
    )  # fmt: skip
    return result[0]


# --- Calls. ---


def _range(*args):
    return LazyRange.from_arguments(*args) if any(map(is_symbolic, args)) else builtins.range(*args)


def _len(values):
    if is_symbolic(values) and len(values.shape) > 0 and isinstance(values.shape[0], OpenSize):
        return _tandem.sizes_tensor(values, _dtypes.int32)[0]
    return len(values)


def _int(value=0, *base):
    return _ops.cast(value, _dtypes.int32) if is_symbolic(value) else int(value, *base)


def _float(value=0.0):
    return _ops.cast(value, _dtypes.float32) if is_symbolic(value) else float(value)


def _bool(value=False):
    return _ops.cast(value, _dtypes.bool) if is_symbolic(value) else bool(value)


def _extreme(python, pair, reduce):
    def choose(*values, **options):
        if not options and len(values) > 1 and any(map(is_symbolic, values)):
            best = values[0]
            for value in values[1:]:
                best = pair(best, value)
            return best
        if not options and len(values) == 1 and is_symbolic(values[0]):
            return reduce(values[0], 0)
        return python(*values, **options)

    return choose


def _sum(values, *start):
    return _ops.reduce_sum(values, 0) if is_symbolic(values) and not start else sum(values, *start)


def _sorted(values, /, *, key=None, reverse=False):
    if not is_symbolic(values):
        return sorted(values, key=key, reverse=reverse)
    from .. import _arrays, _map_fn

    direction = "DESCENDING" if reverse else "ASCENDING"
    if key is None:
        return _arrays.sort(values, 0, direction)
    order = _arrays.argsort(_map_fn.vectorized_map(convert(key), values), 0, direction, stable=True)
    return _ops.gather(values, order)


def _enumerate(values, start=0):
    from .._dataset import Dataset

    return values.enumerate(start) if isinstance(values, Dataset) else builtins.enumerate(values, start)


def _zip(*values, **options):
    from .._dataset import Dataset

    return Dataset.zip(tuple(values)) if values and all(isinstance(v, Dataset) for v in values) else builtins.zip(*values, **options)


_BUILTINS = {
    builtins.range: _range,
    builtins.len: _len,
    builtins.int: _int,
    builtins.float: _float,
    builtins.bool: _bool,
    builtins.max: _extreme(max, _ops.maximum, _ops.reduce_max),
    builtins.min: _extreme(min, _ops.minimum, _ops.reduce_min),
    builtins.sum: _sum,
    builtins.sorted: _sorted,
    builtins.enumerate: _enumerate,
    builtins.zip: _zip,
}


def call(function):
    """What is called in the place of `function`: the same, converted if it is the user's."""
    try:
        replacement = _BUILTINS.get(function)
    except TypeError:  # not hashable
        replacement = None
    return replacement if replacement is not None else convert(function)


def iterated(function):
    """As call, where a loop runs over the result: a range of tensors then needs no tensor of its own."""
    if getattr(function, "__wrapped__", function) is _ops.range and not _tandem.executing_eagerly():  # wrapped once a graph was built
        return LazyRange.from_arguments
    return call(function)
