"""Elements of datasets: their leaves, and arguments that are nested as they are."""
from . import _tandem
from ._specs import TensorSpec


def flatten(structure):
    """The leaves of nested tuples and dicts, from left to right."""
    if isinstance(structure, (tuple, list)):
        return [leaf for item in structure for leaf in flatten(item)]
    if isinstance(structure, dict):
        return [leaf for item in structure.values() for leaf in flatten(item)]
    return [structure]


def tensors_of(structure):
    """What tuples and dicts hold; a list is one tensor."""
    if not isinstance(structure, (tuple, dict)):
        return [structure]
    return [part for item in (structure.values() if isinstance(structure, dict) else structure) for part in tensors_of(item)]


_named_tuples = {}  # classes by the names that structures know them by


def names_of(cls):
    """What a structure says of a named tuple: class and field, for each field."""
    names = tuple(f"{cls.__name__}.{field}" for field in cls._fields)
    _named_tuples[names] = cls
    return names


def named(names, items):
    """The named tuple of these items; read from a file, its class may have to be made."""
    names = tuple(names)
    if names not in _named_tuples:
        import collections

        kind = names[0].partition(".")[0]
        _named_tuples[names] = collections.namedtuple(kind, [name.partition(".")[2] for name in names])
    return _named_tuples[names](*items)


def _tuple_like(structure, items):
    return type(structure)(*items) if hasattr(structure, "_fields") else tuple(items)


def map_structure(function, structure):
    """The structure with function(leaf) in place of each leaf."""
    if isinstance(structure, tuple):
        return _tuple_like(structure, (map_structure(function, item) for item in structure))
    if isinstance(structure, dict):
        return {key: map_structure(function, item) for key, item in structure.items()}
    return function(structure)


def map_structures(function, like, structure):
    """function(leaf of `like`, leaf of `structure`) in place of each leaf; they are nested alike."""
    if isinstance(like, tuple):
        return _tuple_like(like, (map_structures(function, a, b) for a, b in zip(like, structure)))
    if isinstance(like, dict):
        return {key: map_structures(function, item, structure[key]) for key, item in like.items()}
    return function(like, structure)


def _is_shape(value):
    return value is None or hasattr(value, "dims") or all(size is None or hasattr(size, "__index__") for size in value)


def flat_shapes(shapes):
    """Shapes nested as the elements are, as a list of lists of sizes; a shape is itself a list or tuple."""
    if shapes is None:
        return None
    if isinstance(shapes, dict):
        return [shape for item in shapes.values() for shape in flat_shapes(item)]
    if hasattr(shapes, "dims"):
        return [list(shapes.dims)]
    if hasattr(shapes, "__index__"):  # of vectors
        shapes = [shapes]
    if _is_shape(shapes):
        return [[None if size is None or int(size) < 0 else int(size) for size in shapes]]
    return [shape for item in shapes for shape in flat_shapes(item)]


def padding(values, spec):
    """One padding value a leaf, of the leaf's dtype."""
    if values is None:
        return None
    specs = flatten(spec)
    flat = flatten(values)
    if len(flat) == 1:
        flat = flat * len(specs)
    return [None if value is None else _tandem.to_tensor(value, leaf.dtype) for value, leaf in zip(flat, specs)]


def signature(types, shapes):
    """The old pair of arguments as specs."""
    if isinstance(types, tuple):
        parts = shapes if shapes is not None else (None,) * len(types)
        return tuple(signature(t, s) for t, s in zip(types, parts))
    if isinstance(types, dict):
        return {key: signature(t, None if shapes is None else shapes[key]) for key, t in types.items()}
    return TensorSpec(shapes, types)


def lists_as_arrays(tensors):
    """Lists of NumPy's numbers keep NumPy's dtype in datasets, unlike in tf.constant."""
    if isinstance(tensors, dict):
        return type(tensors)((key, lists_as_arrays(value)) for key, value in tensors.items()) if type(tensors) is dict else tensors
    if isinstance(tensors, tuple):
        return _tuple_like(tensors, map(lists_as_arrays, tensors))
    first = tensors
    while type(first) is list and first:
        first = first[0]
    if first is tensors or not _tandem.is_numpy(first):
        return tensors
    import numpy

    return numpy.asarray(tensors)
