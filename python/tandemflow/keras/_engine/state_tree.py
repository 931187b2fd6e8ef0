"""All variables of a model as dicts nested by the parts of their paths."""
from ... import _ops, _tandem


def _kinds(model):
    optimizer = getattr(model, "optimizer", None)
    return {
        "trainable_variables": model.trainable_variables,
        "non_trainable_variables": model.non_trainable_variables,
        "optimizer_variables": [] if optimizer is None else optimizer.variables,
        "metrics_variables": model.metrics_variables,
    }


def get_state_tree(model, value_format="backend_tensor"):
    """{"trainable_variables": {"model": {"dense": {"kernel": …}}}, …}: tensors, or with "numpy_array" arrays."""
    if value_format not in ("backend_tensor", "numpy_array"):
        raise ValueError(f"Invalid `value_format` argument. Expected one of {{'numpy_array', 'backend_tensor'}}. Received: value_format={value_format}")
    read = (lambda v: v.numpy().copy()) if value_format == "numpy_array" else _tandem.to_tensor
    return {kind: _nested(variables, read) for kind, variables in _kinds(model).items()}


def _nested(variables, read):
    tree, seen = {}, set()
    for variable in variables:
        if variable.path in seen:
            raise ValueError(f"The following variable path is found twice in the model: '{variable.path}'. `get_state_tree()` can only be called when all variable paths are unique. Make sure to give unique names to your layers (and other objects).")
        seen.add(variable.path)
        *folders, name = variable.path.split("/")
        inner = tree
        for folder in folders:
            inner = inner.setdefault(folder, {})
        inner[name] = read(variable)
    return tree


def set_state_tree(model, state_tree):
    """Gives variables the values of such a tree; what it does not name stays."""
    known = _kinds(model)
    for kind, tree in state_tree.items():
        if kind not in known:
            raise ValueError(f"Unknown variable name: {kind}")
        by_path = {variable.path: variable for variable in known[kind]}
        for path, value in _flat(tree):
            if path not in by_path:
                raise ValueError(f"set_state_tree: the model has no variable '{path}' among its {kind}")
            by_path[path].assign(_ops.cast(_tandem.to_tensor(value), by_path[path].dtype))


def _flat(tree, before=""):
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}/")
        else:
            yield before + name, value
