"""Shapes nested as the arguments of a call are."""
from .arguments import shape_of
from .keras_tensor import KerasTensor, map_leaves


def map_leaves_shapes(tensors):
    """The shapes of KerasTensors or tensors, nested as they are."""
    return map_leaves(lambda t: None if t is None else shape_of(t), tensors)


def is_shape(value):
    return isinstance(value, (list, tuple)) and all(size is None or isinstance(size, int) for size in value)


def map_leaves_of_shapes(function, shapes):
    if is_shape(shapes):
        return function(tuple(shapes))
    if isinstance(shapes, dict):
        return {key: map_leaves_of_shapes(function, value) for key, value in shapes.items()}
    return type(shapes)(map_leaves_of_shapes(function, item) for item in shapes)


def tensors_for(shapes, dtype):
    return map_leaves_of_shapes(lambda shape: KerasTensor(shape, dtype), shapes)


def as_shape(value):
    if value is None or is_shape(value):
        return None if value is None else tuple(value)
    if isinstance(value, dict):
        return {key: as_shape(item) for key, item in value.items()}
    return [as_shape(item) for item in value]
