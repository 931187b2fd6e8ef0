"""Finds the layers, variables and metrics an object holds in its attributes, lists and dicts included."""
from ... import _tandem


_CONTAINERS = (list, tuple, dict)
_PLAIN = frozenset((str, int, float, bool, type(None)))  # most attributes: a step asks often
_DEEPEST = 8


def _collect(values, kind, seen, out, depth):
    for value in values:
        if value.__class__ in _PLAIN:
            continue
        if isinstance(value, _CONTAINERS):
            if depth < _DEEPEST:
                _collect(value.values() if isinstance(value, dict) else value, kind, seen, out, depth + 1)
        elif isinstance(value, kind) and id(value) not in seen:
            seen.add(id(value))
            out.append(value)


def held(owner, kind, skip=()):
    """The objects of a kind (a class) in the attributes, in the order they were set, each once."""
    seen, out = {id(owner)}, []
    _collect([value for name, value in owner.__dict__.items() if name not in skip], kind, seen, out, 0)
    return out


def held_variables(owner, skip=()):
    return held(owner, _tandem.Variable, skip)


def unique(items):
    """Each object once, in order."""
    seen = set()
    return [item for item in items if not (id(item) in seen or seen.add(id(item)))]
