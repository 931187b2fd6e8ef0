"""Variables of a model and their places in files, as Keras lays them out.

Everything that holds variables (layers, optimizers) is found by walking attributes in the order of their names, private ones
last; its variables are at `<path of attributes>/vars/<number>`. In lists, the class gives the name: dense, dense_1, …
"""
import functools

from .._engine.naming import snake_case


def walk(root):
    """(path, saveable) for all that may hold variables, each on the first path that leads to it."""
    yield from _Walk().visit(root, "")


class _Walk:
    def __init__(self):
        from .._engine.layer import Layer
        from ..optimizers import Optimizer

        self.kinds = (Layer, Optimizer)
        self.visited = set()

    def visit(self, saveable, path):
        if id(saveable) in self.visited:
            return
        self.visited.add(id(saveable))
        yield path, saveable
        for name, value in _attributes(saveable):
            yield from self.visit_value(value, f"{path}/{name}" if path else name, set())

    def visit_value(self, value, path, containers):
        if isinstance(value, self.kinds):
            yield from self.visit(value, path)
        elif isinstance(value, (list, tuple, dict)) and id(value) not in containers:
            containers.add(id(value))
            yield from self.visit_container(value, path, containers)

    def visit_container(self, container, path, containers):
        used = {}
        for item in container.values() if isinstance(container, dict) else container:
            if isinstance(item, self.kinds):
                yield from self.visit(item, f"{path}/{_numbered(snake_case(type(item).__name__), used)}")
            elif isinstance(item, (list, tuple, dict)):
                yield from self.visit_value(item, f"{path}/{_numbered('container', used)}", containers)


def _numbered(name, used):
    used[name] = used.get(name, -1) + 1
    return f"{name}_{used[name]}" if used[name] else name


def _attributes(saveable):
    skipped = _attributes_of_the_base(_kind(saveable))
    if _is_graph(saveable):  # before the attributes of a subclass
        yield "layers", saveable.layers
    for name in sorted(dir(saveable), key=lambda name: (name.startswith("_"), name)):
        if name.startswith("__") or name in skipped:
            continue
        try:
            yield name, getattr(saveable, name)
        except Exception:  # a property that has nothing to say yet
            continue


def _is_graph(saveable):
    return getattr(saveable, "_graph", None) is not None or hasattr(saveable, "_stack")


def _kind(saveable):
    from .._engine.layer import Layer
    from .._engine.model import Model

    if isinstance(saveable, Model):
        return "model"
    return "layer" if isinstance(saveable, Layer) else "optimizer"


@functools.lru_cache(maxsize=None)
def _attributes_of_the_base(kind):
    """What every object of a kind has, which is no part of the file."""
    from .._engine.layer import Layer
    from .._engine.model import Model
    from ..optimizers import Optimizer

    if kind == "optimizer":
        return frozenset(dir(Optimizer(1.0, name="reference")))
    if kind == "layer":
        return frozenset(dir(Layer(name="reference")))
    return frozenset({*dir(Model(name="reference")), "_stack"} - {"layers", "optimizer"})


# --- Groups ---


def collect(model):
    """{path: (name, variables)} of a model, as the files hold them."""
    out = {}
    for path, saveable in walk(model):
        store = {}
        saveable.save_own_variables(store)
        out[path] = (getattr(saveable, "name", None), store)
    return out


def to_group(collected):
    """The tree of an HDF5 file."""
    root = _group()
    for path, (name, store) in collected.items():
        group = root
        for part in path.split("/") if path else []:
            group = group["items"].setdefault(part, _group())
        variables = group["items"].setdefault("vars", _group())
        if isinstance(name, str):
            variables["attrs"]["name"] = name
        variables["items"].update(store)
    return root


def _group():
    return {"attrs": {}, "items": {}}


def is_group(value):
    return isinstance(value, dict) and "items" in value


def variables_at(root, path):
    """The variables of a path, by name; none where the file has no such path."""
    group = root
    for part in [*(path.split("/") if path else []), "vars"]:
        items = group["items"] if is_group(group) else {}
        if part not in items and part == "layers":
            part = "_layer_checkpoint_dependencies"  # as Keras called it at first
        if part not in items:
            return {}
        group = items[part]
    items = group["items"] if is_group(group) else {}
    return {name: value for name, value in items.items() if not is_group(value)}


def restore(model, store_of, skip_mismatch=False, assets_of=None, skip=lambda path: False):
    """Loads everything; when something does not fit, the model is as before and the error says what."""
    before = [(v, v.value()) for v in all_variables(model)]
    errors = {}
    try:
        for path, saveable in walk(model):
            if not skip(path):
                _restore_one(saveable, path, store_of, assets_of, errors)
    except BaseException:
        _put_back(before)
        raise
    if not errors:
        return
    text = _failure(errors)
    if not skip_mismatch:
        _put_back(before)
        raise ValueError(text)
    import warnings

    warnings.warn(text, stacklevel=4)


def _restore_one(saveable, path, store_of, assets_of, errors):
    try:
        saveable.load_own_variables(store_of(path))
        if assets_of is not None and hasattr(saveable, "load_assets"):
            assets_of(path, saveable.load_assets)
    except KeyError as error:
        errors[id(saveable)] = (saveable, f"the file has no variable {error} at '{path}'")
    except Exception as error:
        errors[id(saveable)] = (saveable, error)


def all_variables(model):
    out = list(model.weights)
    optimizer = getattr(model, "optimizer", None)
    if optimizer is not None:
        out += list(optimizer.variables)
    return out


def _put_back(before):
    for variable, value in before:
        variable.assign(value)


def _failure(errors):
    saveable, error = next(iter(errors.values()))
    return (
        f"A total of {len(errors)} objects could not be loaded. Example error message for object {saveable}:\n\n{error}\n\n"
        f"List of objects that could not be loaded:\n{[item for item, _ in errors.values()]}"
    )
