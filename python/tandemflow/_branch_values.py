"""What the branches of a traced `cond` give and what a traced loop carries: Python values in, tensors out, and back.

Tensors and numbers become tensors of the graph; containers are looked into; all else must be the same in both branches,
or before and after a turn of the loop.
"""
import contextlib
import threading

from . import _tandem, nest
from .errors import OpByOpError

_NUMBERS = (bool, int, float)
_loops = threading.local()


@contextlib.contextmanager
def inside_loop():
    """Around the tracing of a loop's body."""
    _loops.depth = loop_depth() + 1
    try:
        yield
    finally:
        _loops.depth -= 1


def loop_depth():
    """In how many bodies of loops what is traced now stands."""
    return getattr(_loops, "depth", 0)


class Undefined:
    """The value of a variable that nothing was assigned to yet."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"<undefined variable '{self.name}'>"


class Returned(Undefined):
    """The value of a function that has not returned yet: it is never read before another one is assigned."""

    __slots__ = ()


class Contents:
    """What is in a list, dict, set or deque. Without tensors it says nothing of a run: what a trace leaves there stays, as in TensorFlow."""

    __slots__ = ("items",)

    def __init__(self, items):
        self.items = items  # a list or dict; None: leave the container as it is

    def has_tensors(self):
        return self.items is not None and any(isinstance(leaf, _tandem.Tensor) for leaf in nest.flatten(self.items))

    def _tandem_parts(self):
        if not self.has_tensors():
            return None, []
        return (type(self.items), tuple(self.items) if isinstance(self.items, dict) else len(self.items)), list(self._values())

    def _tandem_from_parts(self, parts):
        if not self.has_tensors():
            return Contents(None)
        return Contents(dict(zip(self.items, parts)) if isinstance(self.items, dict) else list(parts))

    def _values(self):
        return self.items.values() if isinstance(self.items, dict) else self.items


def is_tensor(value):
    return isinstance(value, (_tandem.Tensor, _tandem.Variable))


def is_leaf(value):
    """True for what can be a tensor of the graph."""
    return is_tensor(value) or isinstance(value, _NUMBERS) or (_tandem.is_numpy(value) and getattr(value, "dtype", None) != object)


def at_once(make):
    """make(), outside any trace."""
    scope = _tandem.InitScope()
    scope.enter()
    try:
        return make()
    finally:
        scope.exit()


def zeros_like(value):
    """Zeros that stand for a value which is never read."""
    if is_tensor(value):
        return at_once(lambda: _tandem.fill(value.shape, 0, value.dtype))
    if nest.is_nested(value):
        return nest.map_structure(zeros_like, value)
    return type(value)(0) if isinstance(value, _NUMBERS) else value


def _same(a, b):
    if a is b:
        return True
    return type(a) is type(b) and isinstance(a, (*_NUMBERS, str, bytes, type(None))) and a == b


def _parts(value):
    """A container's kind and its parts; composites (tf.TensorArray) are containers as well."""
    if hasattr(value, "_tandem_parts"):
        kind, parts = value._tandem_parts()
        return (type(value), kind), parts
    if nest.is_nested(value):
        keys = tuple(sorted(value, key=str)) if isinstance(value, dict) else len(value)
        return (type(value), keys), nest._children(value)
    return None, None


def _rebuilt(like, parts):
    return like._tandem_from_parts(parts) if hasattr(like, "_tandem_parts") else nest._like(like, parts)


class Slot:
    """A place in the list of tensors."""

    __slots__ = ("index",)

    def __init__(self, index):
        self.index = index


class _Composite:
    __slots__ = ("like", "parts")

    def __init__(self, like, parts):
        self.like = like
        self.parts = parts


def rebuild(template, tensors):
    """The value with its tensors in place."""
    if isinstance(template, Slot):
        return tensors[template.index]
    if isinstance(template, _Composite):
        return _rebuilt(template.like, [rebuild(part, tensors) for part in template.parts])
    return template


def _as_tensor(value, beside):
    """A number takes the dtype of the tensor that stands in its place elsewhere, if it keeps its value."""
    if isinstance(value, _NUMBERS) and is_tensor(beside):
        try:
            return _tandem.to_tensor(value, beside.dtype)
        except (TypeError, ValueError):
            pass
    return _tandem.to_tensor(value)


class Merge:
    """Joins what two branches give: a list of tensors each, and a template for the results."""

    def __init__(self, branches=("main", "else")):
        self.names = branches
        self.lists = ([], [])

    def add(self, name, first, second):
        """The template of one value."""
        if _same(first, second):
            return first
        for value, other, branch in ((first, second, self.names[0]), (second, first, self.names[1])):
            if isinstance(value, Returned):
                filled = zeros_like(other)
                return self.add(name, filled, other) if value is first else self.add(name, other, filled)
            if isinstance(value, Undefined):
                if isinstance(other, Undefined):
                    return value
                raise ValueError(f"'{name}' must also be initialized in the {branch} branch, since which branch runs depends on a tensor")
        if is_leaf(first) and is_leaf(second):
            return self._leaf(name, first, second)
        (kind, parts), (other_kind, other_parts) = _parts(first), _parts(second)
        if kind is not None and kind == other_kind:
            return _Composite(first, [self.add(f"{name}[{i}]", a, b) for i, (a, b) in enumerate(zip(parts, other_parts))])
        self._refuse(name, first, second)

    def _leaf(self, name, first, second):
        a, b = _as_tensor(first, second), _as_tensor(second, first)
        for what, of_a, of_b in (("dtype", a.dtype.name, b.dtype.name), ("shape", a.shape, b.shape)):
            if of_a != of_b:  # which shape there will be depends on values; a dtype must not
                raise (TypeError if what == "dtype" else OpByOpError)(
                    f"'{name}' has {what} {of_a} in the {self.names[0]} branch, but {what} {of_b} in the {self.names[1]} branch"
                )
        self.lists[0].append(a)
        self.lists[1].append(b)
        return Slot(len(self.lists[0]) - 1)

    def _refuse(self, name, first, second):
        if isinstance(first, (str, bytes)) and isinstance(second, (str, bytes)):
            raise OpByOpError(f"'{name}' is one text in the {self.names[0]} branch and another in the {self.names[1]} branch")
        if hasattr(first, "_tandem_parts") and type(first) is type(second):
            raise OpByOpError(f"'{name}', a {type(first).__name__}, has grown in one branch and not in the other")
        for value, branch in ((first, self.names[0]), (second, self.names[1])):
            if value is None:
                raise ValueError(f"'{name}' is None at the end of the {branch} branch, but not of the other")
        raise TypeError(
            f"'{name}' must be a tensor, since which branch runs depends on one; it is {_kind_text(first)} in the "
            f"{self.names[0]} branch and {_kind_text(second)} in the {self.names[1]} branch"
        )


def _kind_text(value):
    return f"a {type(value).__name__}" if not isinstance(value, (str, bytes)) else repr(value)


class Restart(Exception):
    """A number before the loop must begin with another dtype, the one it has after a turn."""

    def __init__(self, index, dtype):
        super().__init__(index, dtype)
        self.index = index
        self.dtype = dtype


class ShapeChange(ValueError):
    """A value that a loop carries has another shape after a turn."""


class LoopState:
    """What a loop carries: the tensors of its variables, and all else, which must stay as it is."""

    def __init__(self, names, values, dtypes=None):
        self.names = names
        self.leaves = []
        self._numbers = set()
        self._dtypes = dtypes or {}
        self.templates = [self._template(value) for value in values]

    def _template(self, value):
        if is_leaf(value):
            index = len(self.leaves)
            if isinstance(value, _NUMBERS):
                self._numbers.add(index)
            self.leaves.append(_tandem.to_tensor(value, self._dtypes.get(index)))
            return Slot(index)
        _, parts = _parts(value)
        return value if parts is None else _Composite(value, [self._template(part) for part in parts])

    def values(self, tensors):
        return tuple(rebuild(template, tensors) for template in self.templates)

    def leaves_of(self, values):
        """The tensors of the variables after a turn."""
        leaves = []
        for name, template, value in zip(self.names, self.templates, values):
            self._conform(name, template, value, leaves)
        return leaves

    def _conform(self, name, template, value, leaves):
        if isinstance(template, Slot):
            leaves.append(self._leaf(name, template.index, value))
            return
        if isinstance(template, _Composite):
            kind, parts = _parts(value)
            if kind != _parts(template.like)[0]:
                if isinstance(value, Contents):
                    raise OpByOpError(f"'{name}' changes its length in a loop that depends on a tensor; a tf.TensorArray can in a graph")
                raise ValueError(f"'{name}' has another structure after one iteration: {template.like!r} before the loop, {value!r} after")
            for i, (inner, part) in enumerate(zip(template.parts, parts)):
                self._conform(f"{name}[{i}]", inner, part, leaves)
            return
        if isinstance(template, Undefined):
            return  # of one turn only
        if not _same(template, value):
            raise TypeError(
                f"'{name}' must be a tensor to change in a loop that depends on one; it is {_kind_text(template)} before the loop "
                f"and {_kind_text(value)} after one iteration"
            )

    def _leaf(self, name, index, value):
        before = self.leaves[index]
        if not is_leaf(value):
            raise ValueError(f"'{name}' is {value!r} after one iteration, but was a tensor before the loop")
        after = _as_tensor(value, before)
        if after.dtype != before.dtype:
            if index in self._numbers and index not in self._dtypes and not (after.dtype.is_integer and before.dtype.is_floating):
                raise Restart(index, after.dtype)
            raise TypeError(f"'{name}' has dtype {before.dtype.name} before the loop, but dtype {after.dtype.name} after one iteration")
        if after.shape != before.shape:
            raise ShapeChange(
                f"'{name}' has shape {before.shape} before the loop, but shape {after.shape} after one iteration; a traced "
                "loop has fixed shapes: begin with the full shape, or collect parts in a tf.TensorArray"
            )
        return after
