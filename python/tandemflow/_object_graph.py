"""The objects of a checkpoint and the names that lead from one to the next, as TensorFlow stores them beside the values."""
from . import _tandem
from ._function import Function
from ._module import Module, children
from ._protobuf import Field, Message

KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
VARIABLE = "VARIABLE_VALUE"


# --- Objects ---


def is_variable(value):
    return isinstance(value, _tandem.Variable) or (hasattr(value, "assign") and hasattr(value, "shape"))


def holds_values(value):
    """Whether a value is stored with the object itself: a variable, or a table."""
    return is_variable(value) or hasattr(value, "_checkpoint_tensors")


def is_trackable(value):
    if isinstance(value, (list, tuple, dict, Module)) or holds_values(value):
        return True
    return not isinstance(value, type) and (hasattr(value, "_checkpoint_children") or hasattr(value, "variables"))


def is_part(value):
    """What is saved with the object it is an attribute of: metrics are not, functions only by name."""
    is_metric = hasattr(value, "update_state") and hasattr(value, "result")
    return isinstance(value, Function) or is_trackable(value) and not is_metric


def parts(value):
    """(name, part) of what is saved with an object."""
    if holds_values(value) or isinstance(value, Function):
        return []
    if hasattr(value, "_checkpoint_children"):
        return value._checkpoint_children()
    if isinstance(value, (list, tuple, dict, Module)):
        return [(name, part) for name, part in children(value) if is_part(part)]
    return numbered(value)


def numbered(value):
    """The variables of a metric, or of whatever else has some."""
    variables = value.variables() if callable(value.variables) else value.variables
    return [(str(i), variable) for i, variable in enumerate(variables)]


def tensors_of(value):
    """{ending of the key: tensor} of an object that holds values, and the attribute's name."""
    if hasattr(value, "_checkpoint_tensors"):
        return value._checkpoint_tensors()
    wrapped = not isinstance(value, _tandem.Variable) and hasattr(value, "value") and not callable(value.value)
    return VARIABLE, {"": value.value if wrapped else _tandem.to_tensor(value)}


def walk(root):
    """(path, object, its parts) of all that is reachable, nearest first, each once."""
    queue, seen = [((), root)], {id(root)}
    for path, value in queue:  # grows meanwhile, and keeps alive what parts() makes
        inner = parts(value)
        yield path, value, inner
        for name, part in inner:
            if id(part) not in seen:
                seen.add(id(part))
                queue.append(((*path, name), part))


# --- Their graph in a file ---


class _Child(Message):
    fields = {"node_id": Field(1, "int"), "local_name": Field(2, "str")}


class _Attribute(Message):
    fields = {"name": Field(1, "str"), "full_name": Field(2, "str"), "checkpoint_key": Field(3, "str")}


class _Flag(Message):
    fields = {"value": Field(1, "int")}


class _Object(Message):
    fields = {"children": Field(1, _Child, repeated=True), "attributes": Field(2, _Attribute, repeated=True), "has_checkpoint_values": Field(5, _Flag)}


class _Graph(Message):
    fields = {"nodes": Field(1, _Object, repeated=True)}


class Node:
    """An object of a file: `children` {name: number}, `attributes` {name: key of the value}."""

    def __init__(self, children, attributes):
        self.children, self.attributes = children, attributes


def nodes_of(data):
    """The nodes of a stored graph."""
    return [
        Node({child.local_name: child.node_id for child in node.children}, {a.name: a.checkpoint_key for a in node.attributes})
        for node in _Graph.parse(data).nodes
    ]


def _escaped(name):
    return name.replace(".", "..").replace("/", ".S")


def stored(root):
    """The bytes of the graph of an object, and {key: tensor} of all it leads to."""
    found = list(walk(root))
    numbers = {id(value): i for i, (_, value, _) in enumerate(found)}
    nodes, tensors = [], {}
    for path, value, inner in found:
        node = _Object(children=[_Child(node_id=numbers[id(part)], local_name=name) for name, part in inner])
        if holds_values(value):
            attribute, values = tensors_of(value)
            key = "/".join([*map(_escaped, path), ".ATTRIBUTES", attribute])
            tensors.update({key + ending: tensor for ending, tensor in values.items()})
            node.attributes.append(_Attribute(name=attribute, full_name=str(getattr(value, "name", "")).removesuffix(":0"), checkpoint_key=key))
        nodes.append(node)
    _mark_values(nodes)
    return _Graph(nodes=nodes).to_bytes(), tensors


def stored_nodes(described, values):
    """The same for nodes that are described already: {"children": {name: number}}; `values`: what each is, variables among them."""
    paths, queue = {0: ()}, [0]
    for i in queue:  # grows meanwhile
        for name, part in described[i]["children"].items():
            if part not in paths:
                paths[part] = (*paths[i], name)
                queue.append(part)
    nodes, tensors = [], {}
    for i, (one, value) in enumerate(zip(described, values)):
        node = _Object(children=[_Child(node_id=part, local_name=name) for name, part in one["children"].items()])
        if is_variable(value) and i in paths:
            key = "/".join([*map(_escaped, paths[i]), ".ATTRIBUTES", VARIABLE])
            tensors[key] = _tandem.to_tensor(value)
            node.attributes.append(_Attribute(name=VARIABLE, full_name=value.name.removesuffix(":0"), checkpoint_key=key))
        nodes.append(node)
    _mark_values(nodes)
    return _Graph(nodes=nodes).to_bytes(), tensors


def _mark_values(nodes):
    """TensorFlow notes which objects lead to values."""
    parents = [[] for _ in nodes]
    for i, node in enumerate(nodes):
        for child in node.children:
            parents[child.node_id].append(i)
    todo = [i for i, node in enumerate(nodes) if node.attributes]
    for i in todo:
        if nodes[i].has_checkpoint_values is None:
            nodes[i].has_checkpoint_values = _Flag(value=1)
            todo.extend(parents[i])
