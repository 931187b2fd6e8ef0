"""Writes objects as a SavedModel of TensorFlow: their graph, functions and signatures, and the values of variables beside it."""
import inspect
import os

from .. import _object_graph, _tandem, _tensor_bundle
from .._arguments import fill_slots, specs_in
from .._atomic_file import write_atomically
from .._concrete import ConcreteFunction, OpenConcreteFunction, _fill
from .._saved_objects import with_shapes
from .._specs import TensorSpec
from .._tensor_bundle import NUMBERS
from .._traced_nodes import OpenSizes, Probes
from ..errors import UnimplementedError
from . import messages as m
from .structures import message_of
from .writer import FunctionWriter, Types, attribute

_VERSION = 1482  # of graphs, as TensorFlow 2.16 counts: what it reads and later versions too
_KINDS = {"list": "trackable_list_wrapper", "dict": "trackable_dict_wrapper"}


def save(directory, nodes, values, root, signatures):
    """Writes saved_model.pb and variables/; UnimplementedError names what has no word in TensorFlow.

    `nodes`: dicts with `kind` ("variable", "function", "list", "dict", "object", "nothing") and `children` by name; `values`: what
    each stands for. The node `root` becomes the first. `signatures`: {name: function}.
    """
    order = [root, *(i for i in range(len(nodes)) if i != root)]
    number_of = {old: new for new, old in enumerate(order)}
    nodes = [{**nodes[i], "children": {name: number_of[part] for name, part in nodes[i].get("children", {}).items()}} for i in order]
    writer = _ObjectWriter(nodes, [values[i] for i in order])
    model = writer.model(signatures)  # first of all: a refusal leaves nothing behind
    for part in ("assets", "variables"):
        os.makedirs(os.path.join(directory, part), exist_ok=True)
    graph, tensors = _object_graph.stored_nodes(writer.nodes, writer.values)
    _tensor_bundle.write(os.path.join(directory, "variables", "variables"), {**tensors, _object_graph.KEY: _tandem.to_tensor(graph)})
    write_atomically(os.path.join(directory, "saved_model.pb"), [model.to_bytes()])


class _ObjectWriter:
    def __init__(self, nodes, values):
        self.nodes, self.values = nodes, values
        self._library, self._concrete, self._graph = [], {}, []
        self._variables = {_tandem.variable_id(v): i for i, v in enumerate(values) if isinstance(v, _tandem.Variable)}
        self._names = {}  # number of a variable -> its handle's node

    def model(self, signatures):
        if self.nodes[0]["kind"] == "function":  # TensorFlow saves objects: the function becomes one's __call__
            raise UnimplementedError("a function by itself; make it a method of a tf.Module")
        found = [self._object(i, node) for i, node in enumerate(self.nodes)]
        handles = [m.Node(name=name, op="VarHandleOp", attr=m.entries(m.Node, "attr", self._handle_attributes(i))) for i, name in self._handle_names().items()]
        definitions = self._add_signatures(found, signatures)
        graph = m.Graph(node=handles + self._graph, library=m.Library(function=self._library), versions=m.Versions(producer=_VERSION, min_consumer=12))
        objects = m.ObjectGraph(nodes=found, concrete_functions=m.entries(m.ObjectGraph, "concrete_functions", self._concrete))
        info = m.MetaInfo(tags=["serve"], tensorflow_version="2.16.0")
        definitions = m.entries(m.MetaGraph, "signature_def", definitions)
        return m.SavedModel(saved_model_schema_version=1, meta_graphs=[m.MetaGraph(meta_info_def=info, graph_def=graph, signature_def=definitions, object_graph_def=objects)])

    # --- Objects ---

    def _object(self, number, node):
        children = [m.Child(node_id=part, local_name=name) for name, part in node["children"].items()]
        if node["kind"] == "variable":
            return m.SavedObject(children=children, variable=self._variable(self.values[number]))
        if node["kind"] == "function":
            return m.SavedObject(children=children, function=self._function(number, self.values[number]))
        return m.SavedObject(children=children, user_object=_user_object(_KINDS.get(node["kind"], "_generic_user_object")))

    def _variable(self, variable):
        sizes = m.Shape.of(variable.shape)
        return m.SavedVariable(dtype=NUMBERS[variable.dtype.name], shape=sizes, trainable=int(variable.trainable), name=variable.name.removesuffix(":0"))

    def _handle_names(self):
        if not self._names:
            self._names = {i: f"variable_{i}" for i in self._variables.values()}
        return self._names

    def _handle_attributes(self, number):
        variable = self.values[number]
        return {"dtype": attribute(variable.dtype), "shape": attribute(m.Shape.of(variable.shape)), "shared_name": attribute(f"variable_{number}")}

    # --- Functions ---

    def _function(self, number, function):
        signature = function.input_signature if not isinstance(function, ConcreteFunction) else None
        names = []
        for i, traced in enumerate(_traces(function)):
            names.append(f"__inference_{function.name}_{number}_{i}")
            self._write(names[-1], *traced)
        spec = m.Spec(fullargspec=message_of(_full_arguments(function)), input_signature=message_of(signature))
        return m.SavedFunction(concrete_functions=names, function_spec=spec)

    def _write(self, name, concrete, specs, open_sizes, as_signature=False):
        """Adds a function of TensorFlow's to the library; `specs`: of its tensors, with open sizes. As a signature it takes tensors by name
        and gives a dict. Returns the names of its arguments and results."""
        arguments, order, labels = _arguments(concrete, specs)
        writer = FunctionWriter(name, concrete._concrete, open_sizes)
        message, bound = writer.message(specs, labels, self._variables.get)
        results = [TensorSpec(shape, dtype) for shape, dtype in writer.results()]
        outputs = _fill(concrete._concrete.structure(), results)
        if as_signature:
            order = sorted(range(len(labels)), key=labels.__getitem__)  # TensorFlow flattens a dict by its keys
            arguments = ((), {labels[i]: TensorSpec(specs[i].shape, specs[i].dtype, labels[i]) for i in order})
            outputs = _by_name(concrete, results, message)
        else:
            places = _places(_fill(concrete._concrete.structure(), [_Place(i) for i in range(len(results))]))
            message.signature.output_arg = [message.signature.output_arg[place.number] for place in places]
        _in_order(message, order)
        self._library.append(message)
        self._concrete[name] = m.ConcreteMessage(bound_inputs=bound, canonicalized_input_signature=message_of(arguments), output_signature=message_of(outputs))
        return [labels[i] for i in order], sorted(outputs) if as_signature else None

    # --- Signatures ---

    def _add_signatures(self, found, signatures):
        """Functions that take tensors by name and give a dict; TensorFlow 1 and servers find them as nodes of the outer graph."""
        made, children = {}, []
        for key, function in signatures.items():
            number = len(found)
            name = f"__inference_signature_wrapper_{key}"
            keywords, outputs = self._write(name, *_traces(function)[0], as_signature=True)
            found.append(m.SavedObject(bare_concrete_function=m.BareFunction(concrete_function_name=name, argument_keywords=keywords, allowed_positional_arguments=len(keywords))))
            self.nodes.append({"kind": "nothing", "children": {}})
            self.values.append(None)
            children.append((key, number))
            made[key] = self._definition(key, name, keywords, outputs)
        found[0].children.append(m.Child(node_id=len(found), local_name="signatures"))
        self.nodes[0]["children"] = {**self.nodes[0]["children"], "signatures": len(found)}
        self.nodes.append({"kind": "nothing", "children": dict(children)})
        self.values.append(None)
        found.append(m.SavedObject(user_object=_user_object("signature_map"), children=[m.Child(node_id=i, local_name=key) for key, i in children]))
        return made

    def _definition(self, key, name, keywords, outputs):
        message = self._library[-1]
        arguments, inputs = message.signature.input_arg, {}
        for i, keyword in enumerate(keywords):
            shape = m.as_dict(m.as_dict(message.arg_attr)[i].attr)["_output_shapes"].list.shape[0]
            node = f"{key}_{keyword}"
            attributes = {"dtype": m.AttrValue(type=arguments[i].type), "shape": m.AttrValue(shape=shape)}
            self._graph.append(m.Node(name=node, op="Placeholder", attr=m.entries(m.Node, "attr", attributes)))
            inputs[keyword] = m.TensorInfo(name=f"{node}:0", dtype=arguments[i].type, tensor_shape=shape)
        handles = [self._handle_names()[i] for i in self._concrete[name].bound_inputs]
        types = {"Tin": Types(a.type for a in arguments), "Tout": Types(a.type for a in message.signature.output_arg)}
        call = m.Node(name=f"{key}_call", op="StatefulPartitionedCall", input=[f"{key}_{keyword}" for keyword in keywords] + handles,
                      attr=m.entries(m.Node, "attr", {**{k: attribute(v) for k, v in types.items()}, "f": attribute(m.NamedFunction(name=name))}))  # fmt: skip
        self._graph.append(call)
        results = {out: m.TensorInfo(name=f"{call.name}:{i}", dtype=message.signature.output_arg[i].type, tensor_shape=m.Shape(unknown_rank=1)) for i, out in enumerate(outputs)}
        made = m.SignatureMessage(method_name="tensorflow/serving/predict")
        made.inputs, made.outputs = m.entries(made, "inputs", inputs), m.entries(made, "outputs", results)
        return made


def _user_object(identifier):
    return m.UserObject(identifier=identifier, version=m.Versions(producer=1, min_consumer=1))


def _traces(function):
    """[(concrete function, specs of its tensors, its open sizes)] of a function."""
    if isinstance(function, OpenConcreteFunction):
        return [_with_probes(lambda specs: _AtShapes(function, [spec.shape.as_list() for spec in specs]), function.inputs)]
    if isinstance(function, ConcreteFunction):
        return [(function, function.inputs, OpenSizes.none())]
    if function.input_signature is None:
        return [(concrete, concrete.inputs, OpenSizes.none()) for concrete in function._saveable_traces()]
    signature = function.input_signature

    def trace(specs):
        return function.get_concrete_function(*with_shapes(signature, iter([spec.shape for spec in specs])))

    return [_with_probes(trace, specs_in(signature))]


class _AtShapes:
    """The graph of a concrete function with open sizes for these shapes."""

    def __init__(self, function, shapes):
        self._concrete, self._structure, self._arguments = function.at_shapes(shapes), function._structure, function._arguments


def _with_probes(trace, specs):
    """Traced twice, with different sizes where they are open."""
    if any(spec.shape.rank is None for spec in specs):
        raise UnimplementedError("a tensor whose number of axes is open")
    probes, others = Probes("tf.saved_model.save"), Probes("tf.saved_model.save", second=True)
    made = trace([probes.spec(spec) for spec in specs])
    if not probes.axes:
        return made, list(specs), OpenSizes.none()
    other = trace([others.spec(spec) for spec in specs])
    nodes, other_nodes = (_tandem.graph_nodes(concrete._concrete)[0] for concrete in (made, other))
    return made, list(specs), OpenSizes(nodes, other_nodes, probes.axes, others.axes)


def _arguments(concrete, specs):
    """The arguments as ((by place), {by name}) with a spec for each tensor; in which order TensorFlow flattens the tensors; their names."""
    places = fill_slots(concrete._structure, [_Place(i) for i in range(len(specs))])
    labels, order = {}, []
    for name, value in concrete._arguments.named(*places):
        for k, place in enumerate(_places(value)):
            labels[place.number] = specs[place.number].name or (f"{name}_{k}" if k else name)
    for place in _places(places):
        order.append(place.number)
    used, names = set(), []
    for i in range(len(specs)):
        label = _plain(labels.get(i, f"argument_{i}"))
        while label in used:
            label += "_"
        used.add(label)
        names.append(label)
    named = _with_specs(places, [TensorSpec(spec.shape, spec.dtype, name) for spec, name in zip(specs, names)])
    return named, order, names


class _Place:
    """Stands for the tensor of this number."""

    def __init__(self, number):
        self.number = number


def _places(structure):
    """In TensorFlow's order: dicts by their keys."""
    if isinstance(structure, _Place):
        return [structure]
    if isinstance(structure, dict):
        structure = [structure[key] for key in sorted(structure)]
    return [place for part in structure for place in _places(part)] if isinstance(structure, (list, tuple)) else []


def _with_specs(structure, specs):
    if isinstance(structure, _Place):
        return specs[structure.number]
    if isinstance(structure, dict):
        return {key: _with_specs(value, specs) for key, value in structure.items()}
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*[_with_specs(part, specs) for part in structure])
    return type(structure)(_with_specs(part, specs) for part in structure) if isinstance(structure, (list, tuple)) else structure


def _by_name(concrete, results, message):
    """What a signature gives; the function's outputs are put into the order of the names."""
    places = _fill(concrete._concrete.structure(), list(range(len(results))))
    named = places if isinstance(places, dict) else dict(enumerate(places if isinstance(places, (list, tuple)) else [places]))
    named = {key if isinstance(key, str) else f"output_{key}": place for key, place in named.items()}
    if not named or not all(isinstance(place, int) for place in named.values()):
        raise UnimplementedError("a signature must give tensors, or a dict of them")
    message.signature.output_arg = [message.signature.output_arg[named[name]] for name in sorted(named)]
    return {name: TensorSpec(results[place].shape, results[place].dtype, name) for name, place in named.items()}


def _plain(name):
    """What TensorFlow lets an argument be called."""
    text = "".join(c if c.isalnum() and c.isascii() else "_" for c in name.lower())
    return text if text[:1].isalpha() else f"argument_{text}"


def _in_order(message, order):
    """The arguments, before the variables, in another order."""
    arguments = message.signature.input_arg
    message.signature.input_arg = [arguments[i] for i in order] + arguments[len(order) :]
    attributes = m.as_dict(message.arg_attr)
    turned = [attributes[i] for i in [*order, *range(len(order), len(arguments))]]
    message.arg_attr = [m.NumberedAttributes(key=i, value=value) for i, value in enumerate(turned)]


def _full_arguments(function):
    """What inspect.getfullargspec says, in values that can be written."""
    signature = function._arguments._signature
    parameters = list(signature.parameters.values())
    placed = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    only = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    variadic = {p.kind: p.name for p in parameters}
    defaults = tuple(_default(p) for p in placed if p.default is not p.empty)
    return inspect.FullArgSpec(
        args=[p.name for p in placed], varargs=variadic.get(inspect.Parameter.VAR_POSITIONAL), varkw=variadic.get(inspect.Parameter.VAR_KEYWORD),
        defaults=defaults or None, kwonlyargs=[p.name for p in only],
        kwonlydefaults={p.name: _default(p) for p in only if p.default is not p.empty} or None, annotations={},
    )  # fmt: skip


def _default(parameter):
    value = parameter.default
    return value if isinstance(value, (type(None), bool, int, float, str)) else None
