"""Finds the layers, variables and metrics an object holds in its attributes, lists and dicts included."""
from ... import _tandem


def _leaves(value, depth=0):
    if isinstance(value, (list, tuple)):
        if depth < 8:
            for item in value:
                yield from _leaves(item, depth + 1)
    elif isinstance(value, dict):
        if depth < 8:
            for item in value.values():
                yield from _leaves(item, depth + 1)
    else:
        yield value


def held(owner, kind, skip=()):
    """The objects of a kind (a class) in the attributes, in the order they were set, each once."""
    seen, out = set(), []
    for name, value in owner.__dict__.items():
        if name in skip:
            continue
        for leaf in _leaves(value):
            if isinstance(leaf, kind) and leaf is not owner and id(leaf) not in seen:
                seen.add(id(leaf))
                out.append(leaf)
    return out


def held_variables(owner, skip=()):
    return held(owner, _tandem.Variable, skip)


def unique(items):
    """Each object once, in order."""
    seen = set()
    return [item for item in items if not (id(item) in seen or seen.add(id(item)))]
