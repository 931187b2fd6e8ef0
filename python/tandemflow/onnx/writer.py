"""Puts an ONNX graph together while the nodes of a traced function are walked through."""
import numpy as np

from .. import _tandem
from .._traced_nodes import TracedNode, is_open, reachable
from . import messages
from .tensors import dtype_number, from_array

_exporters = {}


def exports(*names):
    """Registers a function(writer, node, *inputs) that adds ONNX nodes for ops of ours and returns the name(s) of the results."""

    def register(function):
        for name in names:
            _exporters[name] = function
        return function

    return register


class GraphWriter:
    def __init__(self, nodes, open_axes, opset):
        from . import export_ops  # noqa: F401 - registers the exporters

        self._traced, self._open_axes, self._opset = nodes, open_axes, opset
        self._graph = messages.Graph()
        self._names = {}  # (node, output) -> name
        self._arrays = {}  # name -> array, of what is constant
        self._inputs = {}  # number -> name
        self._count = 0

    # --- What exporters use ---

    def new_name(self, hint):
        self._count += 1
        return f"{hint}_{self._count}"

    def add(self, op_type, inputs, outputs=1, **attributes):
        """Adds a node; the name of its result, or a list of them."""
        names = [self.new_name(op_type.lower()) for _ in range(outputs)]
        self._graph.node.append(messages.Node(
            op_type=op_type, input=list(inputs), output=names, name=names[0],
            attribute=[_attribute(name, value) for name, value in attributes.items() if value is not None],
        ))  # fmt: skip
        return names[0] if outputs == 1 else names

    def constant(self, value, dtype=None):
        name = self.new_name("constant")
        self._arrays[name] = np.asarray(value, dtype)
        return name

    def ints(self, values):
        return self.constant(list(values), np.int64)

    def array(self, name, node):
        """The values of an input that must be constant."""
        if name not in self._arrays:
            raise NotImplementedError(f"export: an input of {node.op} must be a weight or constant")
        return self._arrays[name]

    def is_open(self, size):
        return is_open(size, self._open_axes)

    def shape(self, sizes):
        """The name of a shape, in which open sizes are looked up when the model runs."""
        if not any(self.is_open(size) for size in sizes):
            return self.ints(sizes)
        return self.add("Concat", [self._size(size) for size in sizes], axis=0)

    def _size(self, size):
        for probe, (number, axis) in self._open_axes.items():
            if size % probe == 0:
                length = self.add("Gather", [self.add("Shape", [self._inputs[number]]), self.ints([axis])], axis=0)
                return length if size == probe else self.add("Mul", [length, self.ints([size // probe])])
        return self.ints([size])

    def reshape(self, x, sizes):
        """With one open size, ONNX finds it by itself."""
        if sum(self.is_open(size) for size in sizes) == 1:
            return self.add("Reshape", [x, self.ints([-1 if self.is_open(size) else size for size in sizes])])
        return self.add("Reshape", [x, self.shape(sizes)])

    def transpose(self, x, order):
        return self.add("Transpose", [x], perm=list(order))

    def cast(self, x, dtype):
        return self.add("Cast", [x], to=dtype_number(dtype.as_numpy_dtype))

    # --- Walking ---

    def add_input(self, node, name, spec, number):
        self._names[node, 0] = self._inputs[number] = name
        self._graph.input.append(_value_info(name, spec.dtype, [None if s is None else int(s) for s in spec.shape], number))

    def model(self, results, names, graph_name):
        wanted = reachable(self._traced, [node for node, _ in results])
        for number, node in enumerate(self._traced):
            if number in wanted and (number, 0) not in self._names:
                self._walk(number, node)
        for i, (node, output) in enumerate(results):
            name = names[i] if names is not None else f"output_{i}"
            shape, dtype = self._traced[node]["outputs"][output]
            self._graph.node.append(messages.Node(op_type="Identity", input=[self._names[node, output]], output=[name], name=f"out_{name}"))
            self._graph.output.append(_value_info(name, dtype, [None if self.is_open(s) else s for s in shape.as_list()], i))
        self._graph.name = graph_name
        used = {name for node in self._graph.node for name in node.input}
        self._graph.initializer = [from_array(array, name) for name, array in self._arrays.items() if name in used]
        return messages.Model(
            ir_version=9, producer_name="tandemflow", producer_version=_tandem.version, graph=self._graph,
            opset_import=[messages.OperatorSet(version=self._opset)],
        )  # fmt: skip

    def _walk(self, number, node):
        if "value" in node:
            self._names[number, 0] = self._weight(node)
            return
        if node["op"] not in _exporters:
            raise NotImplementedError(f"export: there is no ONNX node for the op '{node['op']}'")
        inputs = [self._names[pair] for pair in node["inputs"]]
        outputs = _exporters[node["op"]](self, TracedNode(node, self._traced), *inputs)
        for k, name in enumerate([outputs] if isinstance(outputs, str) else outputs):
            self._names[number, k] = name

    def _weight(self, node):
        array = node["value"].numpy()
        open_sizes = [size for size in array.shape if self.is_open(size)]
        name = self.constant(array if not open_sizes else _without_repeats(array, self))
        return name if not open_sizes else self.add("Expand", [name, self.shape(list(array.shape))])


def _without_repeats(array, writer):
    """A constant as large as an open size must be the same along it."""
    for axis, size in enumerate(array.shape):
        if writer.is_open(size):
            first = array.take([0], axis)
            if not (array == first).all():
                raise NotImplementedError("export: a constant has as many different values as an open size")
            array = first
    return array


def _value_info(name, dtype, sizes, number):
    dims = [messages.Dimension(dim_value=s) if s is not None else messages.Dimension(dim_param="batch" if i == 0 else f"size_{number}_{i}") for i, s in enumerate(sizes)]
    kind = messages.TensorType(elem_type=dtype_number(dtype.as_numpy_dtype), shape=messages.TensorShape(dim=dims))
    return messages.ValueInfo(name=name, type=messages.Type(tensor_type=kind))


def _attribute(name, value):
    if isinstance(value, bool) or isinstance(value, int):
        return messages.Attribute(name=name, type=messages.INT, i=int(value))
    if isinstance(value, float):
        return messages.Attribute(name=name, type=messages.FLOAT, f=value)
    if isinstance(value, str):
        return messages.Attribute(name=name, type=messages.STRING, s=value.encode())
    if isinstance(value, np.ndarray):
        return messages.Attribute(name=name, type=messages.TENSOR, t=from_array(value))
    if value and isinstance(value[0], float):
        return messages.Attribute(name=name, type=messages.FLOATS, floats=list(value))
    return messages.Attribute(name=name, type=messages.INTS, ints=[int(v) for v in value])
