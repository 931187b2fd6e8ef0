"""One signature of a traced function."""
from . import _graph_ops, _tandem, errors, nest
from ._arguments import fill_slots
from ._specs import TensorSpec


class FunctionGraph:
    """The ops of a traced function; `optimized` is what runs, after the passes."""

    def __init__(self, concrete, optimized=False, parameter_names=()):
        self._concrete = concrete
        self._optimized = optimized
        self._parameter_names = parameter_names

    def get_operations(self):
        """The operations as traced, with TensorFlow's attributes: name, type, inputs, outputs."""
        return _graph_ops.operations(self._concrete, self._parameter_names)

    def get_operation_by_name(self, name):
        return _graph_ops.named(self.get_operations(), name, "an Operation")

    def get_tensor_by_name(self, name):
        return _graph_ops.named(self.get_operations(), name, "a Tensor")

    def as_graph_def(self, *args, **kwargs):
        """The operations as nodes: `.node` lists their names, ops and inputs."""
        return _graph_ops.graph_def(self.get_operations())

    def to_string(self):
        """One line a node: "%3 = matmul(%0, %1) : float32 [32, 10]"."""
        return self._concrete.text(self._optimized)

    def to_dot(self):
        """For Graphviz."""
        return self._concrete.dot(self._optimized)

    @property
    def op_count(self):
        """How many ops run."""
        return self._concrete.op_count(self._optimized)

    @property
    def optimized(self):
        return FunctionGraph(self._concrete, optimized=True)

    def __str__(self):
        return self.to_string()


class ConcreteFunction:
    """A traced function for fixed dtypes, shapes and Python values."""

    def __init__(self, concrete, name, arguments, prepared):
        self._concrete = concrete
        self._name = name
        self._arguments = arguments
        _, self._key, self._structure, _ = prepared
        self._inputs = [TensorSpec(shape, dtype) for shape, dtype in concrete.inputs()]

    def __call__(self, *args, **kwargs):
        """Takes all arguments of the function, or only its tensors in order."""
        if not kwargs and len(args) == len(self._inputs) and all(map(_is_tensor, args)):
            tensors = [_tandem.to_tensor(value) for value in args]
        elif not kwargs and len(args) == len(self._inputs) and all(_is_tensor(value) or isinstance(value, (bool, int, float)) for value in args):
            tensors = [_tandem.to_tensor(value, None if _is_tensor(value) else spec.dtype) for value, spec in zip(args, self._inputs)]
        else:
            tensors, key, _, _ = self._arguments.flatten(args, kwargs)
            if key != self._key:
                raise errors.SignatureError(f"E0104 {self._name} was traced for ({self._key}), got ({key})")
        if len(tensors) != len(self._inputs):
            raise errors.InvalidArgumentError(f"E0106 {self._name} takes {len(self._inputs)} tensors, got {len(tensors)}")
        for i, (spec, tensor) in enumerate(zip(self._inputs, tensors)):
            if not spec.is_compatible_with(tensor):
                got = TensorSpec.from_tensor(tensor)
                raise errors.InvalidArgumentError(f"E0102 {self._name} was traced for {spec!r} as tensor {i}, got {got!r}")
        return self._run(tensors)

    def _run(self, tensors):
        return self._concrete.call(tensors)

    @property
    def name(self):
        return self._name

    def _parameters(self):
        """(name, value with a tf.TensorSpec for each tensor) of the function's parameters."""
        return self._arguments.named(*fill_slots(self._structure, self._inputs))

    @property
    def graph(self):
        """The graph as traced; `.graph.optimized` is what runs."""
        names = [name for name, value in self._parameters() for spec in nest.flatten(value) if isinstance(spec, TensorSpec)]
        return FunctionGraph(self._concrete, parameter_names=names)

    @property
    def inputs(self):
        return list(self._inputs)

    @property
    def outputs(self):
        return [TensorSpec(shape, dtype) for shape, dtype in self._concrete.outputs()]

    @property
    def structured_input_signature(self):
        named = {}
        for name, value in self._parameters():
            for number, spec in enumerate(spec for spec in nest.flatten(value) if isinstance(spec, TensorSpec)):
                named[id(spec)] = TensorSpec(spec.shape, spec.dtype, spec.name or (f"{name}_{number}" if number else name))
        return fill_slots(self._structure, [named.get(id(spec), spec) for spec in self._inputs])

    @property
    def output_shapes(self):
        return nest.map_structure(lambda spec: spec.shape, self.structured_outputs)

    @property
    def output_dtypes(self):
        return nest.map_structure(lambda spec: spec.dtype, self.structured_outputs)

    @property
    def structured_outputs(self):
        return _fill(self._concrete.structure(), self.outputs)

    def pretty_printed_signature(self, verbose=True):
        """The parameters and what comes out, as TensorFlow shows them."""
        lines = ["Input Parameters:"]
        for name, value in self._parameters():
            lines.append(f"  {name} (POSITIONAL_OR_KEYWORD): {_type_text(value)}")
        return "\n".join([*lines, "Output Type:", f"  {self.structured_outputs!r}", "Captures:", "  None"])

    def decisions(self):
        """Where every op of the plan runs and why, a text each."""
        return self._concrete.decisions()

    def __str__(self):
        return "ConcreteFunction " + self.pretty_printed_signature()

    def __repr__(self):
        parameters = ", ".join(f"{name}: {_type_text(value)}" for name, value in self._parameters())
        return f"<ConcreteFunction ({parameters}) -> {self.structured_outputs!r} at 0x{id(self):X}>"


class OpenConcreteFunction(ConcreteFunction):
    """A traced function for tensors whose sizes, or ranks, are left open: a graph for each shape, made of one trace where that can be."""

    def __init__(self, function, arguments, prepared, specs):
        self._function, self._open_axes = function, prepared[3]
        super().__init__(function._concrete(*prepared), function.name, arguments, prepared)
        self._inputs = specs

    def _at(self, tensors):
        return self._function._concrete(tensors, self._key, self._structure, self._open_axes)

    def _run(self, tensors):
        return self._at(tensors).call(tensors)

    def at_shapes(self, shapes):
        """The graph for tensors of these shapes."""
        return self._at([_tandem.symbolic(shape, spec.dtype) for shape, spec in zip(shapes, self._inputs)])

    @property
    def outputs(self):
        """Sizes that change when the open ones do are open themselves."""
        if any(spec.shape.rank is None for spec in self._inputs):
            return [TensorSpec(None, dtype) for _, dtype in self._concrete.outputs()]
        larger = [[_LARGER if size is None else size for size in spec.shape.as_list()] for spec in self._inputs]
        pairs = zip(self._concrete.outputs(), self.at_shapes(larger).outputs())
        return [TensorSpec([a if a == b else None for a, b in zip(shape, other)], dtype) for (shape, dtype), (other, _) in pairs]


_LARGER = 3  # another size than samples have


def _type_text(value):
    return repr(value) if not isinstance(value, (bool, int, float, str, bytes, type(None))) else f"Literal[{value!r}]"


def _is_tensor(value):
    return isinstance(value, (_tandem.Tensor, _tandem.Variable)) or _tandem.is_numpy(value)


def _fill(structure, leaves):
    if isinstance(structure, int):
        return leaves[structure]
    if isinstance(structure, dict):
        return {key: _fill(value, leaves) for key, value in structure.items()}
    if isinstance(structure, (list, tuple)):
        items = [_fill(item, leaves) for item in structure]
        return items if isinstance(structure, list) else tuple(items)
    return structure
