"""Objects as a file of functions keeps them: what leads to which function and variable, as JSON."""
import inspect
import json

from . import _tandem
from ._arguments import Arguments, specs_in
from ._checkpoint import Checkpoint
from ._concrete import ConcreteFunction, OpenConcreteFunction
from ._function import Function
from ._module import Module, children
from ._nested_json import from_json, to_json
from ._specs import TensorSpec
from .errors import OpError

# --- Saving ---


_RANKS = range(4)  # numbers of axes that are saved for a tensor which leaves its own open: a saved function may leave three sizes open


def _spec_pair(spec):
    return spec.dtype, spec.shape.as_list()


def _at_ranks(specs, entry):
    """entry(specs) of every number of axes that the function takes where the specs leave it open; a list."""
    if all(spec.shape.rank is not None for spec in specs):
        return [entry(specs)]
    found, refusals = [], []
    for rank in _RANKS:
        try:
            found.append(entry([spec if spec.shape.rank is not None else TensorSpec([None] * rank, spec.dtype, spec.name) for spec in specs]))
        except (ValueError, OpError) as error:  # a matrix product of scalars
            refusals.append(error)
    if not found:
        raise refusals[-1]
    return found


def with_shapes(structure, shapes):
    """The same with fixed shapes."""
    if isinstance(structure, TensorSpec):
        return TensorSpec(next(shapes), structure.dtype)
    if isinstance(structure, dict):
        made = {key: with_shapes(structure[key], shapes) for key in sorted(structure)}
        return {key: made[key] for key in structure}
    return type(structure)(with_shapes(item, shapes) for item in structure)


def _parameters(signature):
    """The parameters as JSON; a default that is no plain value is left out, so that the argument must be given."""
    out = []
    for parameter in signature.parameters.values():
        entry = {"name": parameter.name, "kind": parameter.kind.name}
        if isinstance(parameter.default, (type(None), bool, int, float, str)):
            entry["default"] = parameter.default
        out.append(entry)
    return out


class _Collector:
    """Walks an object and numbers what it meets."""

    def __init__(self):
        self.nodes, self.values = [], []
        self.functions = []  # (name, inputs, traces, notes), as the file wants them
        self.variables = []
        self._numbers = {}  # of nodes, by id

    def visit(self, value, name):
        """The number of the node for `value`; None for what is not kept."""
        if id(value) in self._numbers:
            return self._numbers[id(value)]
        node = self._node_of(value, name)
        if node is None:
            return None
        return self._numbers[id(value)]

    def _enter(self, value, node):
        self.values.append(value)  # also, so that ids stay theirs
        self._numbers[id(value)] = len(self.nodes)
        self.nodes.append(node)
        return node

    def _node_of(self, value, name):
        if isinstance(value, _tandem.Variable):
            self.variables.append(value)
            return self._enter(value, {"kind": "variable", "variable": len(self.variables) - 1})
        if isinstance(value, (Function, ConcreteFunction)):
            return self._enter(value, self._function_node(value, name))
        if isinstance(value, (list, tuple, dict)):
            kind = "dict" if isinstance(value, dict) else "list"
            return self._with_children(value, {"kind": kind}, children(value), name)
        if isinstance(value, Module) or hasattr(value, "_saved_parts") or isinstance(value, Checkpoint):
            return self._with_children(value, {"kind": "object"}, _parts(value), name)
        if hasattr(value, "trainable_variables") and hasattr(value, "variables"):  # a layer, an optimizer
            return self._with_children(value, {"kind": "object"}, [("_variables", list(value.variables))], name)
        return None

    def _with_children(self, value, node, parts, name):
        self._enter(value, node)
        node["children"] = {}
        for key, part in parts:
            number = self.visit(part, f"{name}.{key}" if name else key)
            if number is not None:
                node["children"][key] = number
            elif node["kind"] != "object":  # a list without gaps
                self.values.append(None)
                self.nodes.append({"kind": "nothing"})
                node["children"][key] = len(self.nodes) - 1
        return node

    # --- Functions ---

    def _function_node(self, function, name):
        if isinstance(function, ConcreteFunction):
            entries = _at_ranks(function.inputs, lambda specs: self._concrete_entry(function, name, specs))
            return {"kind": "function", "name": function.name, "parameters": _parameters(function._arguments._signature), "signature": None, "entries": entries}
        signature = function.input_signature
        if signature is not None:
            entries = _at_ranks(specs_in(signature), lambda specs: self._open_entry(function, name, signature, specs))
        else:
            traces = function._saveable_traces()
            entries = [self._entry(name, [_spec_pair(spec) for spec in trace.inputs], trace._key, [trace._concrete]) for trace in traces]
        return {"kind": "function", "name": function.name, "parameters": _parameters(function._arguments._signature),
                "signature": None if signature is None else to_json(signature), "entries": entries}  # fmt: skip

    def _concrete_entry(self, function, name, specs):
        inputs = [_spec_pair(spec) for spec in specs]
        traces = [function._concrete]
        if isinstance(function, OpenConcreteFunction):
            traces = [function.at_shapes(shapes) for shapes in _tandem.sample_shapes(inputs)]
        return self._entry(name, inputs, function._key, traces)

    def _open_entry(self, function, name, signature, specs):
        inputs = [_spec_pair(spec) for spec in specs]
        traces = [function.get_concrete_function(*with_shapes(signature, iter(shapes))) for shapes in _tandem.sample_shapes(inputs)]
        return self._entry(name, inputs, traces[0]._key, [trace._concrete for trace in traces])

    def _entry(self, name, inputs, key, traces):
        shapes = [[dtype.name, shape] for dtype, shape in inputs]
        notes = {"key": key, "inputs": shapes, "results": to_json(traces[0].structure())}
        known = {entry[0] for entry in self.functions}
        unique = name or "function"
        while unique in known:
            unique = f"{name} {len(known)}"
        self.functions.append((unique, inputs, traces, json.dumps(notes)))
        return len(self.functions) - 1


def _parts(value):
    """(name, part) of an object: its attributes and traced methods."""
    if hasattr(value, "_saved_parts"):
        return value._saved_parts()
    if isinstance(value, Checkpoint):
        return value._checkpoint_children()
    methods = [
        (name, getattr(value, name)) for name in dir(type(value)) if isinstance(inspect.getattr_static(type(value), name), Function)
    ]
    return children(value) + methods


def _only_signature(root):
    """As in TensorFlow: the only function of an object with an input_signature is its default signature, if it gives tensors."""
    if isinstance(root, (Function, ConcreteFunction)):
        return {}
    found = [part for _, part in _parts(root) if isinstance(part, Function) and part.input_signature is not None]
    if len(found) != 1 or any(spec.shape.rank is None for spec in specs_in(found[0].input_signature)):
        return {}
    results = found[0].get_concrete_function().structured_outputs
    flat = results.values() if isinstance(results, dict) else results if isinstance(results, (list, tuple)) else [results]
    return {"serving_default": found[0]} if flat and all(isinstance(one, TensorSpec) for one in flat) else {}


def collect(root, signatures):
    """What an object leads to, notes on it as the file wants them, the object's own number and its signatures."""
    collector = _Collector()
    root = root._to_save() if hasattr(root, "_to_save") else root
    number = collector.visit(root, root.name if isinstance(root, (Function, ConcreteFunction)) else "")
    if number is None:
        raise ValueError(f"tf.saved_model.save takes a tf.Module, a Keras model or a tf.function, got {type(root).__name__}")
    if signatures is None:
        signatures = root._default_signatures() if hasattr(root, "_default_signatures") else _only_signature(root)
    if not isinstance(signatures, dict):
        signatures = {"serving_default": signatures}
    for name, function in signatures.items():
        if not isinstance(function, (Function, ConcreteFunction)):
            raise ValueError(f"Expected a TensorFlow function for which to generate a signature, but got {function!r} as '{name}'")
    notes = {"root": number, "signatures": {name: collector.visit(function, name) for name, function in signatures.items()}, "nodes": collector.nodes}
    for name, node in notes["signatures"].items():
        if not collector.nodes[node]["entries"]:
            raise ValueError(f"signature '{name}' has not been traced; give its function an input_signature, or call it once")
    return collector, json.dumps(notes), number, signatures


# --- Loading ---


class Restored(Module):
    """What tf.saved_model.load gives: the attributes of the object that was saved."""

    def __init__(self):
        super().__init__()
        self.signatures = {}

    def __call__(self, *args, **kwargs):
        function = vars(self).get("__call__")
        if function is None:
            raise TypeError("the object that was saved had no traced __call__; call one of its functions or signatures")
        return function(*args, **kwargs)


class _Body:
    """Stands for the Python function that was traced: finds the graph for a call."""

    def __init__(self, saved, node):
        self._saved, self._node = saved, node
        self._entries = [(entry, json.loads(saved.function_notes(entry))) for entry in node["entries"]]
        self.__name__ = node["name"]
        self.__signature__ = _signature(node["parameters"])
        self._arguments = Arguments(self, node["name"], None)

    def first_inputs(self):
        """(dtype, shape) of the tensors of the first graph; None for a shape whose number of axes others do not share."""
        first = self._entries[0][1]
        others = [notes["inputs"] for _, notes in self._entries if notes["key"] == first["key"]]
        ranks = [{len(inputs[i][1]) for inputs in others} for i in range(len(first["inputs"]))]
        return [(dtype, shape if len(rank) == 1 else None) for (dtype, shape), rank in zip(first["inputs"], ranks)]

    def __call__(self, *args, **kwargs):
        tensors, key, _, _ = self._arguments.flatten(args, kwargs)
        known = []
        for entry, notes in self._entries:
            specs = [TensorSpec(shape, dtype) for dtype, shape in notes["inputs"]]
            if notes["key"] == key and len(specs) == len(tensors) and all(s.is_compatible_with(t) for s, t in zip(specs, tensors)):
                return from_json(notes["results"], self._saved.call(entry, tensors))
            known.append(f"({notes['key']}) with {specs}")
        raise ValueError(
            f"Could not find matching concrete function to call loaded from the SavedModel. Got: ({key}) with "
            f"{[TensorSpec.from_tensor(t) for t in tensors]}. Expected one of: {'; '.join(known) or 'none, it was not called before it was saved'}"
        )


def _signature(parameters):
    made = []
    for entry in parameters:
        default = entry.get("default", inspect.Parameter.empty)
        made.append(inspect.Parameter(entry["name"], inspect._ParameterKind[entry["kind"]], default=default))
    for i in range(len(made) - 1, 0, -1):  # one that lost its default cannot stand behind one that has its own
        positional = made[i].kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        if positional and made[i].default is inspect.Parameter.empty:
            made[:i] = [p.replace(default=inspect.Parameter.empty) for p in made[:i]]
            break
    return inspect.Signature(made)


class _SignatureFunction:
    """Takes its tensors by name and gives a dict, as TensorFlow's signatures do."""

    def __init__(self, function, node):
        self._function = function
        self._names = [entry["name"] for entry in node["parameters"]]
        specs = function.input_signature or ()
        # A tf.TensorSpec may have a name of its own, by which the tensor is then given.
        self._parameter_of = {spec.name: name for name, spec in zip(self._names, specs) if isinstance(spec, TensorSpec) and spec.name}

    def __call__(self, *args, **kwargs):
        return _by_name(self._function(*args, **{self._parameter_of.get(name, name): value for name, value in kwargs.items()}))

    def _concrete(self):
        body = self._function.python_function
        specs = [TensorSpec(shape, dtype) for dtype, shape in body.first_inputs()]
        return self._function.get_concrete_function(*([] if self._function.input_signature else specs))

    @property
    def structured_input_signature(self):
        given = {name: given for given, name in self._parameter_of.items()}
        names = [given.get(name, name) for name in self._names]
        specs = [TensorSpec(spec.shape, spec.dtype, name) for name, spec in zip(names, self._concrete().inputs)]
        return (), {spec.name: spec for spec in specs}

    @property
    def structured_outputs(self):
        return {name: TensorSpec(spec.shape, spec.dtype, name) for name, spec in _by_name(self._concrete().structured_outputs).items()}

    def __repr__(self):
        return f"<signature {self._function.name}({', '.join(self._names)})>"


def _by_name(results):
    """What a signature gives: a dict as it is, the results of others by number."""
    if isinstance(results, dict):
        return results
    results = results if isinstance(results, (list, tuple)) else [results]
    return {f"output_{i}": result for i, result in enumerate(results)}


def _restore_functions(saved):
    """Of a file that C++ wrote: functions of tensors by name, each giving a list."""
    root = Restored()
    root._variables = saved.variables()
    for number, name in enumerate(saved.names()):

        def body(*tensors, number=number):
            return saved.call(number, list(tensors))

        setattr(root, name, Function(body, name=name, autograph=False))
    return root


def restore(saved):
    """The object whose functions and variables `saved` holds."""
    if not saved.notes():
        return _restore_functions(saved)
    notes = json.loads(saved.notes())
    variables = saved.variables()
    made = []
    for node in notes["nodes"]:
        kind = node["kind"]
        if kind == "variable":
            made.append(variables[node["variable"]])
        elif kind == "function":
            signature = node["signature"]
            made.append(Function(_Body(saved, node), signature and from_json(signature, []), node["name"], autograph=False))
        else:
            made.append({"list": list, "dict": dict, "object": Restored}.get(kind, lambda: None)())
    for node, value in zip(notes["nodes"], made):
        for name, number in node.get("children", {}).items():
            if isinstance(value, list):
                value.append(made[number])
            elif isinstance(value, dict):
                value[name] = made[number]
            else:
                setattr(value, name, made[number])
    root = made[notes["root"]]
    if isinstance(root, Function):
        function, root = root, Restored()
        setattr(root, "__call__", function)
        setattr(root, function.name, function)
    if notes["signatures"]:
        root.signatures = {name: _SignatureFunction(made[number], notes["nodes"][number]) for name, number in notes["signatures"].items()}
    return root
