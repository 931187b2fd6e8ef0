"""Nested structures of tensors as JSON and back: places of tensors, tf.TensorSpec, lists, tuples and dicts."""
from ._specs import TensorSpec


def to_json(value):
    """Integers are places of tensors. Named tuples become tuples."""
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, TensorSpec):
        return {"spec": [value.dtype.name, (value.shape.as_list() if value.shape.rank is not None else None), value.name]}
    if isinstance(value, dict):
        return {"dict": [[key, to_json(item)] for key, item in value.items()]}
    if isinstance(value, (list, tuple)):
        return {"list" if isinstance(value, list) else "tuple": [to_json(item) for item in value]}
    raise TypeError(f"{value!r} cannot be part of the arguments or results of a saved function")


def from_json(value, tensors):
    """The structure with `tensors` in their places."""
    if value is None:
        return None
    if isinstance(value, int):
        return tensors[value]
    (kind, content), *_ = value.items()
    if kind == "spec":
        return TensorSpec(content[1], content[0], *content[2:])
    if kind == "dict":
        return {key: from_json(item, tensors) for key, item in content}
    items = [from_json(item, tensors) for item in content]
    return items if kind == "list" else tuple(items)
