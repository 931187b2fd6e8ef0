"""tf.nest: structures of lists, tuples, namedtuples and dicts, leaf by leaf. Dicts are walked in the order of their keys."""
from . import _names


def _sorted_keys(mapping):
    try:
        return sorted(mapping)
    except TypeError:
        return list(mapping)


def _is_mapping(value):
    return isinstance(value, dict) or (hasattr(value, "keys") and hasattr(value, "__getitem__") and hasattr(value, "items"))


def is_nested(seq):
    """True for lists, tuples and dicts."""
    return isinstance(seq, (list, tuple)) or _is_mapping(seq)


def _children(structure):
    """The parts of one level, in order."""
    if _is_mapping(structure):
        return [structure[key] for key in _sorted_keys(structure)]
    return list(structure)


def _like(structure, parts):
    """The parts in the kind of container that `structure` is."""
    if _is_mapping(structure):
        by_key = dict(zip(_sorted_keys(structure), parts))
        items = [(key, by_key[key]) for key in structure]
        return _mapping_like(structure, items)
    if hasattr(structure, "_fields"):
        return type(structure)(*parts)
    return type(structure)(parts)


def _mapping_like(structure, items):
    if hasattr(structure, "default_factory"):  # collections.defaultdict
        return type(structure)(structure.default_factory, items)
    try:
        return type(structure)(items)
    except TypeError:
        return dict(items)


def flatten(structure, expand_composites=False):
    """The leaves from left to right; a leaf alone gives a list of one."""
    if not is_nested(structure):
        return _components(structure) if expand_composites else [structure]
    return [leaf for part in _children(structure) for leaf in flatten(part, expand_composites)]


def _components(leaf):
    """The tensors that a ragged or sparse tensor, or rows of one, is made of."""
    if hasattr(leaf, "nested_row_splits"):
        return [leaf.flat_values, *leaf.nested_row_splits]
    if hasattr(leaf, "dense_shape") and hasattr(leaf, "indices"):
        is_sparse = not hasattr(leaf, "to_dense")
        parts = [leaf.indices, leaf.values, leaf.dense_shape] if is_sparse else [leaf.values, leaf.indices, leaf.dense_shape]
        return [part for part in parts if part is not None]
    return [leaf]


def _kind(structure):
    if _is_mapping(structure):
        return dict
    return type(structure)


def assert_same_structure(nest1, nest2, check_types=True, expand_composites=False):
    """Raises ValueError when the structures differ in their shape, TypeError when in the kinds of containers."""
    if is_nested(nest1) != is_nested(nest2):
        raise ValueError(
            f"The two structures don't have the same nested structure.\n\nFirst structure: {nest1}\n\nSecond structure: {nest2}"
        )
    if not is_nested(nest1):
        return
    if check_types and _kind(nest1) is not _kind(nest2):
        raise TypeError(f"The two structures don't have the same sequence type: {type(nest1)} and {type(nest2)}.")
    if _is_mapping(nest1) and set(nest1) != set(nest2):
        raise ValueError(f"The two dictionaries don't have the same set of keys: {list(nest1)} and {list(nest2)}.")
    parts1, parts2 = _children(nest1), _children(nest2)
    if len(parts1) != len(parts2):
        raise ValueError(
            f"The two structures don't have the same number of elements.\n\nFirst structure: {nest1}\n\nSecond structure: {nest2}"
        )
    for part1, part2 in zip(parts1, parts2):
        assert_same_structure(part1, part2, check_types)


def _pack(structure, leaves):
    if not is_nested(structure):
        return next(leaves)
    return _like(structure, [_pack(part, leaves) for part in _children(structure)])


def pack_sequence_as(structure, flat_sequence, expand_composites=False):
    """The leaves put into the structure."""
    flat = list(flat_sequence) if is_nested(flat_sequence) else [flat_sequence]
    wanted = len(flatten(structure))
    if wanted != len(flat):
        raise ValueError(
            f"Could not pack sequence. Structure had {wanted} atoms, but flat_sequence had {len(flat)} items.\n"
            f"Structure: {structure}, flat_sequence: {flat}."
        )
    return _pack(structure, iter(flat))


def map_structure(func, *structure, **kwargs):
    """func of the leaves that stand in the same place of the structures, in the structure of the first."""
    if not callable(func):
        raise TypeError(f"`func` must be callable, got {func!r}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    check_types = kwargs.pop("check_types", True)
    kwargs.pop("expand_composites", None)
    if kwargs:
        raise ValueError(f"Only valid keyword arguments are `check_types` and `expand_composites`, got {list(kwargs)}")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types)
    leaves = [func(*parts) for parts in zip(*(flatten(each) for each in structure))]
    return _pack(structure[0], iter(leaves))


__getattr__, __dir__ = _names.lazy(__name__)
