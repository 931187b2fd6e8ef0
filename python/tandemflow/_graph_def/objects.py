"""The objects of a SavedModel that TensorFlow wrote: variables with their values, functions that run, signatures."""
import os

from .. import _control_flow, _dtypes, _object_graph, _tandem
from .._function import Function
from .._saved_objects import Restored
from .._tensor_bundle import INDEX, Bundle
from ..errors import DataLossError, UnimplementedError
from .functions import SavedBody, SignatureFunction
from .interpreter import Library
from .messages import SavedModel, as_dict

FILE = "saved_model.pb"
_LISTS = ("trackable_list_wrapper", "trackable_tuple_wrapper")


def load(directory, tags=None):
    """What tf.saved_model.load gives for a directory of TensorFlow's."""
    with open(os.path.join(directory, FILE), "rb") as file:
        data = file.read()
    try:
        model = SavedModel.parse(data)
    except ValueError as error:
        raise DataLossError(f"{os.path.join(directory, FILE)} is damaged or of another kind: {error}") from None
    if not model.meta_graphs:
        raise DataLossError(f"{os.path.join(directory, FILE)} has no graphs: it is damaged or of another kind")
    return _Loader(_chosen(model.meta_graphs, tags, directory), directory).root()


def _chosen(graphs, tags, directory):
    wanted = {tags} if isinstance(tags, str) else set(tags or ())
    for graph in graphs:
        if not wanted or wanted == set(graph.meta_info_def.tags if graph.meta_info_def else ()):
            return graph
    known = [sorted(graph.meta_info_def.tags) for graph in graphs if graph.meta_info_def]
    raise ValueError(f"{directory} has no graph with the tags {sorted(wanted)}; there are {known}")


class _Loader:
    def __init__(self, graph, directory):
        if graph.object_graph_def is None or not graph.object_graph_def.nodes:
            raise UnimplementedError(f"{directory} was written by TensorFlow 1: it has no objects, only a graph, which is not read")
        self._directory = directory
        self._nodes = graph.object_graph_def.nodes
        self._concrete = as_dict(graph.object_graph_def.concrete_functions)
        self._library = Library(graph.graph_def)
        self._constants = {node.name: node for node in graph.graph_def.node}
        self._assets = [asset.filename for asset in graph.asset_file_def]
        self._values = self._values_of_variables()
        self._made = [self._make(i, node) for i, node in enumerate(self._nodes)]

    def root(self):
        for made, node in zip(self._made, self._nodes):
            self._add_parts(made, node)
        return self._made[0]

    # --- Values of variables ---

    def _values_of_variables(self):
        """{number of an object: tensor}. Checkpoints have a graph of objects of their own: both are walked by the same names."""
        path = os.path.join(self._directory, "variables", "variables")
        if not os.path.exists(path + INDEX):
            return {}
        with open(path + INDEX, "rb") as file:
            bundle = Bundle(path, file.read())
        stored = _object_graph.nodes_of(bundle.tensor(_object_graph.KEY).numpy())
        values, todo, done = {}, [(0, 0)], set()
        while todo:
            ours, theirs = todo.pop()
            if ours in done:
                continue
            done.add(ours)
            if key := stored[theirs].attributes.get(_object_graph.VARIABLE):
                values[ours] = bundle.tensor(key)
            todo.extend((c.node_id, stored[theirs].children[c.local_name]) for c in self._nodes[ours].children if c.local_name in stored[theirs].children)
        return values

    # --- Objects ---

    def _make(self, number, node):
        return getattr(self, "_make_" + node.kind, self._make_object)(number, node)

    def _make_object(self, number, node):
        identifier = node.user_object.identifier if node.user_object else ""
        if identifier in _LISTS:
            return []
        return {} if identifier in ("trackable_dict_wrapper", "signature_map") else Loaded()

    def _make_variable(self, number, node):
        saved = node.variable
        if number not in self._values:
            raise DataLossError(f"{self._directory}: the variable '{saved.name}' has no value in variables/")
        return _tandem.Variable(self._values[number], bool(saved.trainable), name=saved.name or "Variable")

    def _make_constant(self, number, node):
        from .interpreter import Attributes

        return Attributes(self._constants[node.constant.operation], self._library).tensor()

    def _make_asset(self, number, node):
        path = os.path.join(self._directory, "assets", os.path.basename(self._assets[node.asset.asset_file_def_index]))
        return _tandem.to_tensor(path, _dtypes.string)

    def _make_resource(self, number, node):
        return _Resource({child.local_name: self._nodes[child.node_id].function for child in node.children}, self._run_first)

    def _run_first(self, function):
        """What the first graph of a saved function gives, at once."""
        name = function.concrete_functions[0]
        with _control_flow.init_scope():
            return self._library.function(name)([self._captured(i) for i in self._concrete[name].bound_inputs])

    def _make_captured_tensor(self, number, node):
        return _Missing("a tensor of another function")

    def _make_function(self, number, node):
        body = SavedBody([self._concrete_function(name) for name in node.function.concrete_functions], node.function.function_spec, self._name_of(number))
        return Function(body, name=body.__name__, autograph=False, reduce_retracing=True)

    def _make_bare_concrete_function(self, number, node):
        bare = node.bare_concrete_function
        return SignatureFunction(self._concrete_function(bare.concrete_function_name), bare.argument_keywords, bare.allowed_positional_arguments)

    def _concrete_function(self, name):
        """(message, function of all its inputs, what finds its captures), looked up when it is called."""
        return self._concrete[name], lambda: self._library.function(name), lambda numbers: [self._captured(i) for i in numbers]

    def _captured(self, number):
        made = self._made[number]
        if isinstance(made, _Resource):
            return made.handle()
        if isinstance(made, _Missing):
            raise UnimplementedError(f"a function of {self._directory} uses {made.what}, which is not read")
        return made

    def _name_of(self, number):
        names = [child.local_name for node in self._nodes for child in node.children if child.node_id == number]
        return names[0] if names else "function"

    def _add_parts(self, made, node):
        parts = [(child.local_name, self._made[child.node_id]) for child in node.children]
        if isinstance(made, list):
            made.extend(part for _, part in sorted(((name, part) for name, part in parts if name.isdigit()), key=lambda pair: int(pair[0])))
        elif isinstance(made, dict):
            made.update(parts)
        elif isinstance(made, Restored):
            vars(made).update(parts)


def _own_list(name):
    """What the object that was saved had under this name, as Keras' archives have; else what a module finds."""
    return property(lambda self: vars(self)[name] if name in vars(self) else getattr(super(Loaded, self), name))


class Loaded(Restored):
    """An object that TensorFlow saved: its attributes."""

    variables, trainable_variables, non_trainable_variables = map(_own_list, ("variables", "trainable_variables", "non_trainable_variables"))


class _Resource:
    """A table: made and filled by functions of its own, when it is first used."""

    def __init__(self, functions, run):
        self._functions, self._run, self._handle = functions, run, None

    def handle(self):
        if self._handle is None:
            if self._functions.get("_create_resource") is None:
                raise UnimplementedError("a function uses a resource that nothing makes")
            (self._handle,) = self._run(self._functions["_create_resource"])
            if self._functions.get("_initialize") is not None:
                self._run(self._functions["_initialize"])
        return self._handle


class _Missing:
    def __init__(self, what):
        self.what = what
