"""Writes a traced function as one of TensorFlow's: its ops as nodes, variables as resources that it is given."""
import numpy as np

from .. import _dtypes, _tandem
from .._tensor_bundle import NUMBERS
from .._tensor_message import TensorMessage, message_bytes
from .._traced_nodes import TracedNode, reachable
from ..errors import UnimplementedError
from .messages import (ArgumentAttributes, Argument, AttrValue, FunctionMessage, NamedFunction, Node, NumberedAttributes, Shape, Signature,
                       Values, entries)  # fmt: skip


RESOURCE = 20  # TensorFlow's number of a handle's dtype
_writers = {}


def writes(*names):
    """Registers a function(writer, node, *inputs) that adds TensorFlow's nodes for ops of ours and returns the result, or a list of them."""

    def register(function):
        for name in names:
            _writers[name] = function
        return function

    return register


def attribute(value):
    """A Python value as the value of an attribute."""
    if isinstance(value, bool):
        return AttrValue(b=int(value))
    if isinstance(value, int):
        return AttrValue(i=value)
    if isinstance(value, float):
        return AttrValue(f=value)
    if isinstance(value, str):
        return AttrValue(s=value.encode())
    if isinstance(value, _dtypes.DType):
        return AttrValue(type=NUMBERS[value.name])
    if isinstance(value, _tandem.Tensor):
        return AttrValue(tensor=TensorMessage.parse(message_bytes(value)))
    if isinstance(value, (Shape, NamedFunction)):
        return AttrValue(shape=value) if isinstance(value, Shape) else AttrValue(func=value)
    return AttrValue(list=Values(**{"type" if isinstance(value, Types) else "i": list(value)}))


class Types(list):
    """A list of TensorFlow's numbers of dtypes."""


class Value:
    """A result of a node inside a function; the values too if they are constant."""

    def __init__(self, text, dtype, array=None):
        self.text, self.dtype, self.array = text, dtype, array


class FunctionWriter:
    """`open_sizes`: OpenSizes of the traced function."""

    def __init__(self, name, concrete, open_sizes):
        from . import written_ops  # noqa: F401 - registers the writers

        self._name, self._open = name, open_sizes
        self._traced, self._parameters, self._results = _tandem.graph_nodes(concrete)
        self._updates = _tandem.graph_writes(concrete)
        self._nodes, self._values, self._arguments, self._handles = [], {}, {}, {}

    # --- What writers of ops use ---

    def add(self, op, inputs, kind, out="output", outputs=1, **attributes):
        """Adds a node; its result, or a list of them. `kind`: their dtype, or a list of them; `out`: what TensorFlow calls the output, or a list of names."""
        name = self._new_name(op)
        self._nodes.append(Node(
            name=name, op=op, input=[value.text for value in inputs],
            attr=entries(Node, "attr", {key: attribute(value) for key, value in attributes.items()}),
        ))  # fmt: skip
        names = out if isinstance(out, list) else [out]
        dtypes = kind if isinstance(kind, list) else [kind] * max(len(names), outputs)
        if len(names) > 1:
            return [Value(f"{name}:{one}:0", dtype) for one, dtype in zip(names, dtypes)]
        made = [Value(f"{name}:{out}:{i}", dtypes[i]) for i in range(outputs)]
        return made[0] if outputs == 1 else made

    def constant(self, value, dtype):
        tensor = value if isinstance(value, _tandem.Tensor) else _tandem.to_tensor(np.asarray(value, dtype.as_numpy_dtype))
        made = self.add("Const", [], dtype, value=tensor, dtype=dtype)
        made.array = tensor.numpy()
        return made

    def ints(self, values):
        return self.constant(list(values), _dtypes.int32)

    def is_open(self, size):
        return self._open.is_open(size)

    def shape(self, sizes):
        """A shape, in which open sizes are looked up when the function runs."""
        if not any(map(self.is_open, sizes)):
            return self.ints(sizes)
        return self.add("ConcatV2", [*map(self._size, sizes), self.constant(0, _dtypes.int32)], _dtypes.int32,
                        N=len(sizes), T=_dtypes.int32, Tidx=_dtypes.int32)  # fmt: skip

    def _size(self, size):
        if not self.is_open(size):
            return self.ints([size])
        if (found := self._open.expression(size)) is None:
            raise UnimplementedError("a size depends on several open ones, or on part of one")
        number, axis, factor, summand = found
        argument = self._arguments[number]
        sizes = self.add("Shape", [argument], _dtypes.int32, T=argument.dtype, out_type=_dtypes.int32)
        made = self.add("GatherV2", [sizes, self.ints([axis]), self.constant(0, _dtypes.int32)], _dtypes.int32,
                        Tparams=_dtypes.int32, Tindices=_dtypes.int32, Taxis=_dtypes.int32)  # fmt: skip
        if factor != 1:
            made = self.add("Mul", [made, self.ints([factor])], _dtypes.int32, "z", T=_dtypes.int32)
        return made if summand == 0 else self.add("AddV2", [made, self.ints([summand])], _dtypes.int32, "z", T=_dtypes.int32)

    def reshape(self, x, sizes):
        if sum(map(self.is_open, sizes)) == 1:
            shape = self.ints([-1 if self.is_open(size) else size for size in sizes])
        else:
            shape = self.shape(sizes)
        return self.add("Reshape", [x, shape], x.dtype, T=x.dtype, Tshape=_dtypes.int32)

    def transpose(self, x, order):
        return self.add("Transpose", [x, self.ints(order)], x.dtype, "y", T=x.dtype, Tperm=_dtypes.int32)

    # --- Walking ---

    def message(self, specs, names, handle_of):
        """The function, and the variables it takes behind its arguments. `handle_of`: a variable's number by its identity."""
        arguments = [self._argument(i, node, names[i], specs[i]) for i, node in enumerate(self._parameters)]
        for number in sorted(reachable(self._traced, [node for node, _ in self._results] + [value[0] for _, value in self._updates])):
            if (number, 0) not in self._values:
                self._walk(number, self._traced[number], handle_of)
        results, outputs = self._write_results()
        updates = [self._update(cell, self._values[tuple(value)], handle_of) for cell, value in self._updates]
        taken = [Argument(name=f"resource_{i}", type=RESOURCE) for i in range(len(self._handles))]
        signature = Signature(name=self._name, input_arg=arguments + taken, output_arg=outputs, is_stateful=int(bool(taken)), control_output=updates)
        shapes = [_output_shapes(Shape.of(spec.shape)) for spec in specs] + [_output_shapes(Shape()) for _ in taken]
        message = FunctionMessage(
            signature=signature, node_def=self._nodes, ret=results, control_ret=entries(FunctionMessage, "control_ret", {name: name for name in updates}),
            arg_attr=[NumberedAttributes(key=i, value=ArgumentAttributes(attr=entries(ArgumentAttributes, "attr", {"_output_shapes": shape}))) for i, shape in enumerate(shapes)],
        )  # fmt: skip
        return message, list(self._handles)

    def results(self):
        """(shape with None for open sizes, dtype) of what the function gives."""
        specs = [self._traced[node]["outputs"][k] for node, k in self._results]
        return [([None if self.is_open(size) else size for size in shape.as_list()], dtype) for shape, dtype in specs]

    def _argument(self, i, node, name, spec):
        self._values[node, 0] = self._arguments[i] = Value(name, spec.dtype)
        return Argument(name=name, type=NUMBERS[spec.dtype.name])

    def _walk(self, number, node, handle_of):
        if "cell" in node:
            self._values[number, 0] = self._read(node["cell"], node["outputs"][0][1], handle_of)
            return
        if "value" in node:
            self._values[number, 0] = self._constant(node["value"])
            return
        if node["op"] not in _writers:
            raise UnimplementedError(f"there is no op of TensorFlow for '{node['op']}' here")
        made = _writers[node["op"]](self, TracedNode(node, self._traced), *[self._values[tuple(pair)] for pair in node["inputs"]])
        for k, value in enumerate(made if isinstance(made, list) else [made]):
            self._values[number, k] = value

    def _constant(self, tensor):
        sizes = tensor.shape.as_list()
        if not any(map(self.is_open, sizes)):
            return self.constant(tensor, tensor.dtype)
        array = tensor.numpy()
        for axis, size in enumerate(sizes):
            if self.is_open(size):
                first = array.take([0], axis)
                if not (array == first).all():
                    raise UnimplementedError("a constant has as many different values as an open size")
                array = first
        made = self.constant(_tandem.to_tensor(array), tensor.dtype)
        return self.add("BroadcastTo", [made, self.shape(sizes)], tensor.dtype, T=tensor.dtype, Tidx=_dtypes.int32)

    def _handle(self, cell, handle_of):
        number = handle_of(cell)
        if number is None:
            raise UnimplementedError("a function uses a variable that is no part of the object saved: keep it as an attribute")
        if number not in self._handles:
            self._handles[number] = f"resource_{len(self._handles)}"
        return Value(self._handles[number], None)

    def _read(self, cell, dtype, handle_of):
        return self.add("ReadVariableOp", [self._handle(cell, handle_of)], dtype, "value", dtype=dtype)

    def _update(self, cell, value, handle_of):
        """All values are read before a variable changes."""
        self.add("AssignVariableOp", [self._handle(cell, handle_of), value], None, dtype=value.dtype)
        node = self._nodes[-1]
        node.input += [f"^{other.name}" for other in self._nodes if other.op == "ReadVariableOp"]
        return node.name

    def _write_results(self):
        """Through Identity, so that an argument can be a result too."""
        results, outputs = {}, []
        for i, (node, k) in enumerate(self._results):
            value = self._values[node, k]
            results[f"output_{i}"] = self.add("Identity", [value], value.dtype, T=value.dtype).text
            outputs.append(Argument(name=f"output_{i}", type=NUMBERS[value.dtype.name]))
        return entries(FunctionMessage, "ret", results), outputs

    def _new_name(self, op):
        return f"{op}_{len(self._nodes)}"


def _output_shapes(shape):
    return AttrValue(list=Values(shape=[shape]))
