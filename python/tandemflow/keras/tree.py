"""keras.tree: nested lists, tuples and dicts, and what is in them."""
from .. import _names
from .. import nest as _nest

MAP_TO_NONE = object()  # what traverse's function returns for None


def is_nested(structure):
    """True for lists, tuples and dicts."""
    return _nest.is_nested(structure)


def flatten(structure):
    """What is in a structure, as a list."""
    return _nest.flatten(structure)


def map_structure(func, *structures, none_is_leaf=True):
    """A structure of what the function returns for what is in structures of one kind."""
    if none_is_leaf:
        return _nest.map_structure(func, *structures)
    return _nest.map_structure(lambda *leaves: None if leaves[0] is None else func(*leaves), *structures)


def pack_sequence_as(structure, flat_sequence):
    """A structure like this one of what is in a list."""
    return _nest.pack_sequence_as(structure, flat_sequence)


def assert_same_structure(a, b, check_types=None):
    """Raises where two structures differ in more than what is in them."""
    _nest.assert_same_structure(a, b, check_types=check_types is not False)


def _items(structure):
    return sorted(structure.items()) if isinstance(structure, dict) else enumerate(structure)


def flatten_with_path(structure):
    """[(keys and numbers that lead there, what is there), …]"""
    if not is_nested(structure):
        return [((), structure)]
    return [((key, *path), leaf) for key, part in _items(structure) for path, leaf in flatten_with_path(part)]


def assert_same_paths(a, b):
    """Raises where two structures are reached by other keys and numbers."""
    here, there = ({path for path, _ in flatten_with_path(structure)} for structure in (a, b))
    if here != there:
        raise ValueError(f"`a` and `b` don't have the same paths. {sorted(map(str, here ^ there))} are in one of them only")


def map_structure_up_to(shallow_structure, func, *structures):
    """As map_structure, down to what is in the first."""
    if not is_nested(shallow_structure):
        return func(*structures)
    parts = {key: map_structure_up_to(part, func, *(s[key] for s in structures)) for key, part in _items(shallow_structure)}
    if isinstance(shallow_structure, dict):
        return type(shallow_structure)((key, parts[key]) for key in shallow_structure)
    values = [parts[i] for i in range(len(shallow_structure))]
    return type(shallow_structure)(*values) if hasattr(shallow_structure, "_fields") else type(shallow_structure)(values)


def lists_to_tuples(structure):
    """The same with tuples for lists."""
    return traverse(lambda part: tuple(part) if isinstance(part, list) else None, structure, top_down=False)


def map_shape_structure(func, structure):
    """As map_structure, of shapes: tuples of integers and None."""
    if isinstance(structure, (list, tuple)) and all(isinstance(size, (int, type(None))) for size in structure):
        return func(tuple(structure))
    if not is_nested(structure):
        raise ValueError(f"Cannot map function to unknown object {structure}")
    return map_structure_up_to({key: 0 for key in structure} if isinstance(structure, dict) else [0] * len(structure),
                               lambda part: map_shape_structure(func, part), structure)  # fmt: skip


def traverse(func, structure, top_down=True):
    """Gives every part to a function: what it returns stands in its place, None leaves it as it is."""
    if top_down:
        changed = func(structure)
        if changed is not None:
            return None if changed is MAP_TO_NONE else changed
    if is_nested(structure):
        shallow = {key: 0 for key in structure} if isinstance(structure, dict) else [0] * len(structure)
        parts = map_structure_up_to(shallow, lambda part: traverse(func, part, top_down), structure)
        structure = _like(structure, parts)
    if top_down:
        return structure
    changed = func(structure)
    return structure if changed is None else None if changed is MAP_TO_NONE else changed


def _like(structure, parts):
    """A list or dict of parts as what the structure is."""
    if isinstance(structure, dict):
        return type(structure)(parts)
    return type(structure)(*parts) if hasattr(structure, "_fields") else type(structure)(parts)


__getattr__, __dir__ = _names.lazy(__name__)
