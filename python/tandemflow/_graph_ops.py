"""The nodes of a traced function with TensorFlow's names for looking at them: operations, their inputs and their outputs."""
from types import SimpleNamespace

from . import _tandem
from ._shape import TensorShape

_TYPES = {"add": "AddV2", "subtract": "Sub", "multiply": "Mul", "divide": "RealDiv", "matmul": "MatMul", "pow": "Pow", "negative": "Neg", "parameter": "Placeholder",
          "constant": "Const", "read_variable": "ReadVariableOp", "reduce_sum": "Sum", "reduce_mean": "Mean", "reduce_max": "Max", "reduce_min": "Min"}  # fmt: skip


class GraphTensor:
    """A result of an operation; its name is that of the operation and a number."""

    def __init__(self, op, number, shape, dtype):
        self.op, self.shape, self.dtype, self.name = op, TensorShape(shape), dtype, f"{op.name}:{number}"

    def __repr__(self):
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"


class GraphOperation:
    """One op of a graph."""

    def __init__(self, name, kind, inputs, specs, attributes):
        self.name, self.type, self.inputs, self.device = name, kind, tuple(inputs), ""
        self.outputs = [GraphTensor(self, i, *spec) for i, spec in enumerate(specs)]
        self._attributes = attributes

    def get_attr(self, name):
        if name not in self._attributes:
            raise ValueError(f"operation '{self.name}' has no attribute '{name}'; it has {', '.join(self._attributes) or 'none'}")
        return self._attributes[name]

    def __repr__(self):
        return f"<tf.Operation '{self.name}' type={self.type}>"


def _camel(name):
    return _TYPES.get(name) or "".join(word.capitalize() for word in name.split("_"))


def operations(concrete, parameter_names):
    """The operations in the order they were traced; results pass through operations called Identity, as in TensorFlow."""
    nodes, parameters, results = _tandem.graph_nodes(concrete)
    names = dict(zip(parameters, parameter_names))
    made, used = [], {}

    def unique(name):
        used[name] = used.get(name, -1) + 1
        return name if not used[name] else f"{name}_{used[name]}"

    for number, node in enumerate(nodes):
        inputs = [made[i].outputs[k] for i, k in node["inputs"]]
        kind = "Placeholder" if number in names else _camel(node["op"])
        made.append(GraphOperation(unique(names.get(number) or node["op"]), kind, inputs, node["outputs"], node["attributes"]))
    for i, k in results:
        source = made[i].outputs[k]
        made.append(GraphOperation(unique("Identity"), "Identity", [source], [(source.shape, source.dtype)], {}))
    return made


def named(found, name, what):
    """The operation, or the tensor "name:0", of a name."""
    for operation in found:
        if operation.name == name:
            return operation
        for tensor in operation.outputs:
            if tensor.name == name:
                return tensor
    raise KeyError(f"The name '{name}' refers to {what} which does not exist; there are {', '.join(operation.name for operation in found)}")


def graph_def(found):
    """What as_graph_def gives: nodes with a name, an op and the names of their inputs."""
    return SimpleNamespace(node=[SimpleNamespace(name=o.name, op=o.type, input=[t.op.name for t in o.inputs], device="") for o in found])
