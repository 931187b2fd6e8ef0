"""Runs a function of a GraphDef: its nodes in order, each by the op of the same name here."""
from .. import _control_flow, _tandem
from .._tensor_message import tensor_of_message
from ..errors import UnimplementedError
from .messages import as_dict
from .structures import dtype_of
from .support import find, output_names


class Attributes:
    """A node's attributes as Python values, and the functions it may call."""

    def __init__(self, node, library):
        self.op, self.name, self._library = node.op, node.name, library
        self._values = as_dict(node.attr)

    def __contains__(self, name):
        return name in self._values

    def _value(self, name):
        if name not in self._values:
            raise ValueError(f"node '{self.name}' ({self.op}) has no attribute '{name}'")
        return self._values[name]

    def integer(self, name, default=None):
        return default if name not in self and default is not None else self._value(name).i

    def real(self, name):
        return self._value(name).f

    def flag(self, name):
        return name in self and bool(self._value(name).b)

    def text(self, name, default=None):
        return default if name not in self and default is not None else self._value(name).s.decode()

    def dtype(self, name="T"):
        return dtype_of(self._value(name).type)

    def shape(self, name="shape"):
        shape = self._value(name).shape
        return shape.sizes() if shape else []

    def list(self, name):
        values = self._value(name).list
        return list(values.items()) if values else []

    def tensor(self, name="value"):
        return tensor_of_message(self._value(name).tensor)

    def function(self, name="f"):
        """The function that an attribute names, as one of lists of tensors."""
        return self._library.function(self._value(name).func.name)

    def functions(self, name):
        return [self._library.function(one.name) for one in self.list(name)]


class Library:
    """The functions of a graph by name."""

    def __init__(self, graph):
        messages = graph.library.function if graph.library else []
        self._messages = {message.signature.name: message for message in messages}
        self._made = {}

    def function(self, name):
        if name not in self._made:
            if name not in self._messages:
                raise ValueError(f"the graph has no function '{name}'")
            self._made[name] = GraphFunction(self._messages[name], self)
        return self._made[name]


class GraphFunction:
    """Call it with the list of its inputs; gives the list of its outputs."""

    def __init__(self, message, library):
        self.name = message.signature.name
        self.inputs = [argument.name for argument in message.signature.input_arg]
        self._nodes = {node.name: node for node in message.node_def}
        self._attributes = {name: Attributes(node, library) for name, node in self._nodes.items()}
        returned = as_dict(message.ret)
        self._outputs = [returned[argument.name] for argument in message.signature.output_arg]
        self._order = self._in_order(self._outputs + ["^" + name for name in as_dict(message.control_ret).values()])

    def _in_order(self, wanted):
        """The nodes that are needed, each after those it reads."""
        order, done, todo = [], set(self.inputs), [self._node_name(value) for value in reversed(wanted)]
        while todo:
            name = todo[-1]
            if name in done:
                todo.pop()
                continue
            if name not in self._nodes:
                raise ValueError(f"function '{self.name}' reads '{name}', which it does not have")
            waiting = [before for value in self._nodes[name].input if (before := self._node_name(value)) not in done]
            if not waiting:
                done.add(name)
                order.append(self._nodes[name])
                todo.pop()
            elif len(todo) > 4 * len(self._nodes) + len(wanted) + 16 + sum(len(node.input) for node in self._nodes.values()):
                raise ValueError(f"function '{self.name}': the nodes around '{name}' need one another")
            todo.extend(waiting)
        return order

    @staticmethod
    def _node_name(value):
        return value.lstrip("^").partition(":")[0]

    def __call__(self, inputs):
        values = {name: [value] for name, value in zip(self.inputs, inputs, strict=True)}
        for node in self._order:
            arguments = [self._value(values, name) for name in node.input if not name.startswith("^")]
            values[node.name] = _run(node, self._attributes[node.name], arguments)
        return [self._value(values, name) for name in self._outputs]

    def _value(self, values, name):
        """Of "node", "argument" or "node:output:number"."""
        parts = name.split(":")
        outputs = values[parts[0]]
        if len(parts) < 3:
            return outputs[int(parts[1]) if len(parts) == 2 else 0]
        names = output_names(self._nodes[parts[0]].op)
        return outputs[names.index(parts[1]) if names else int(parts[2])]


def _run(node, attributes, arguments):
    function = find(node.op)
    if function is None:
        raise UnimplementedError(f"node '{node.name}': TensorFlow's op {node.op} is not among those that are read")
    known = arguments and not _tandem.executing_eagerly() and all(isinstance(a, _tandem.Tensor) and not _tandem.is_symbolic(a) for a in arguments)
    if known and not getattr(function, "has_effects", False):  # sizes and the like: computed now, so that shapes can be made of them
        with _control_flow.init_scope():
            outputs = function(attributes, *arguments)
    else:
        outputs = function(attributes, *arguments)
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
