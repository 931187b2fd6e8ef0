"""Graphs, and the tensors and operations in them: what is to be computed once a session runs it."""
import operator
import threading
from contextlib import contextmanager

from .. import _tandem
from .._graph_names import get_current_name_scope
from .._shape import TensorShape
from ..errors import InvalidArgumentError, OperatorNotAllowedInGraphError

_PROBES = (1009, 2027)  # two sizes for each open one: what differs between them is open in the result


class _State(threading.local):
    def __init__(self):
        self.graphs = []  # those of `with graph.as_default():`, the innermost last
        self.run = None  # the evaluation at work: functions compute instead of being recorded
        self.dependencies = []  # of `with tf.control_dependencies([...]):`


state = _State()
default = None  # the graph that is meant outside of those; None: ops run at once


def use_graphs():
    """Ops outside of functions make nodes of a graph from now on."""
    global default
    default = default or Graph()


def reset():
    """A new graph in the place of the default one."""
    global default
    if default is not None:
        default = Graph()


def current():
    """The graph that calls are recorded in; None while ops run at once."""
    if state.run is not None or not _tandem.executing_eagerly():
        return None
    return state.graphs[-1] if state.graphs else default


class Graph:
    """What calls made inside `with graph.as_default():` leave behind; a session runs it."""

    def __init__(self):
        self.nodes, self.variables, self._names = [], [], {}
        self.named_variables = {}  # of get_variable

    @contextmanager
    def as_default(self):
        from .recording import install

        install()
        state.graphs.append(self)
        try:
            yield self
        finally:
            state.graphs.pop()

    def unique_name(self, name, scope=None):
        """The name in the scope (that of tf.name_scope), with a number behind it when it is taken."""
        scope = get_current_name_scope() if scope is None else scope
        name = f"{scope}/{name}" if scope else name
        count = self._names[name] = self._names.get(name, -1) + 1
        return f"{name}_{count}" if count else name

    def get_operations(self):
        return list(self.nodes)

    def get_tensor_by_name(self, name):
        for node in self.nodes:
            if node.name == name:
                return node
        raise KeyError(f"The name {name!r} refers to a Tensor which does not exist.")

    def get_operation_by_name(self, name):
        return self.get_tensor_by_name(f"{name}:0").op


class Evaluation:
    """One run of a session: values by node."""

    def __init__(self, values):
        self._values = values

    def value(self, node):
        """What the node gives; computed when first asked for, after what it depends on."""
        waiting = [node]
        while waiting:
            node = waiting[-1]
            missing = [one for one in node.inputs if id(one) not in self._values] if id(node) not in self._values else []
            if missing:
                waiting.extend(missing)
                continue
            if id(node) not in self._values:
                self._values[id(node)] = node.compute()
            waiting.pop()
        return self._values[id(node)]


@contextmanager
def evaluating(run):
    before, state.run = state.run, run
    try:
        yield run
    finally:
        state.run = before


class Operation:
    """A node that is run for what it does."""

    def __init__(self, graph, compute, inputs, name, kind="", scope=None):
        self.graph, self.compute, self.type = graph, compute, kind
        self.inputs = [*inputs, *(one for group in state.dependencies for one in group)]
        self.name = graph.unique_name(name, scope)
        graph.nodes.append(self)

    def run(self, feed_dict=None, session=None):
        from .session import default_session

        default_session(session).run(self, feed_dict)

    @property
    def op(self):
        return self

    def __repr__(self):
        return f"<tf.Operation '{self.name}' type={self.type}>"


class GraphTensor(Operation):
    """A node that gives a tensor. It can be hashed, so that it can be fed."""

    def __init__(self, graph, compute, inputs, shape, dtype, name, kind="", scope=None):
        super().__init__(graph, compute, inputs, name, kind, scope)
        self.shape, self.dtype = TensorShape(shape), _tandem.as_dtype(dtype)
        self.name += ":0"

    @property
    def op(self):
        return _OpOf(self)

    @property
    def ndim(self):
        return self.shape.rank

    def get_shape(self):
        return self.shape

    def set_shape(self, shape):
        self.shape = self.shape.merge_with(shape)

    def eval(self, feed_dict=None, session=None):
        from .session import default_session

        return default_session(session).run(self, feed_dict)

    def __getitem__(self, key):
        return recorded(operator.getitem, (self, key), {}, "strided_slice")

    def __bool__(self):
        raise OperatorNotAllowedInGraphError("Using a symbolic `tf.Tensor` as a Python `bool` is not allowed: a session computes it; use tf.cond")

    def __iter__(self):
        if self.shape.rank is None or not self.shape.rank or self.shape[0] is None:
            raise OperatorNotAllowedInGraphError("Iterating over a symbolic `tf.Tensor` of unknown length is not allowed: a session computes it; use tf.map_fn")
        return (self[i] for i in range(self.shape[0]))

    def __array__(self, *args, **kwargs):
        raise NotImplementedError(f"Cannot convert a symbolic tf.Tensor ({self.name}) to a numpy array: a session computes it")

    def __hash__(self):
        return id(self)

    def __repr__(self):
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    def __str__(self):
        shape = "" if self.shape.rank is None else f", shape={self.shape}"
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name})'


class _OpOf:
    """The operation that a tensor comes from."""

    def __init__(self, tensor):
        self._tensor, self.name, self.type, self.graph = tensor, tensor.name.removesuffix(":0"), tensor.type, tensor.graph
        self.outputs, self.inputs = [tensor], [one for one in tensor.inputs if isinstance(one, GraphTensor)]

    def __repr__(self):
        return f"<tf.Operation '{self.name}' type={self.type}>"


def _operator(function, name, swapped):
    def method(self, other):
        return recorded(function, (other, self) if swapped else (self, other), {}, name)

    return method


for _name, _function in [("add", operator.add), ("sub", operator.sub), ("mul", operator.mul), ("truediv", operator.truediv), ("floordiv", operator.floordiv),
                         ("mod", operator.mod), ("pow", operator.pow), ("matmul", operator.matmul), ("and", operator.and_), ("or", operator.or_)]:  # fmt: skip
    setattr(GraphTensor, f"__{_name}__", _operator(_function, _name, False))
    setattr(GraphTensor, f"__r{_name}__", _operator(_function, _name, True))
for _name in ("lt", "le", "gt", "ge"):
    setattr(GraphTensor, f"__{_name}__", _operator(getattr(operator, _name), _name, False))
for _name, _function in [("neg", operator.neg), ("abs", abs), ("invert", operator.invert)]:
    setattr(GraphTensor, f"__{_name}__", lambda self, function=_function, name=_name: recorded(function, (self,), {}, name))


# --- Calls as nodes ---


def leaves(value):
    """The tensors of graphs in nested lists, tuples and dicts."""
    if isinstance(value, Operation):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return []
    return [leaf for item in value for leaf in leaves(item)]


def replaced(value, change):
    """The same with change(tensor) for each of them."""
    if isinstance(value, Operation):
        return change(value)
    if isinstance(value, dict):
        return {key: replaced(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and leaves(value):
        items = [replaced(item, change) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


class _Probe:
    """An evaluation that computes nothing: its tensors have shapes alone, with `size` for open ones."""

    def __init__(self, trace, size):
        self._trace, self._size, self.met = trace, size, {}

    def value(self, node):
        if id(node) not in self.met:
            made = None
            if isinstance(node, GraphTensor):
                if node.shape.rank is None:
                    raise InvalidArgumentError(f"{node.name}: its number of axes is not known; give the placeholder a shape, or call set_shape")
                made = self._trace.parameter([self._size if size is None else size for size in node.shape.as_list()], node.dtype)
            self.met[id(node)] = (node, made)
        return self.met[id(node)][1]


def _probed(function, args, kwargs, size):
    """What the call returns, as (shape, dtype) for tensors, and the nodes that it met, also those of closures."""
    with _tandem.ShapeTrace() as trace:
        probe = _Probe(trace, size)
        with evaluating(probe):
            result = function(*replaced(args, probe.value), **replaced(kwargs, probe.value))
            return _specs(result), [node for node, _ in probe.met.values()]


class _Spec:
    def __init__(self, tensor):
        self.shape, self.dtype = tensor.shape.as_list(), tensor.dtype


def _specs(value):
    if isinstance(value, dict):
        return {key: _specs(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [_specs(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return None if value is None else _Spec(_tandem.to_tensor(value))


def recorded(function, args, kwargs, name):
    """function(*args, **kwargs): nodes of the current graph; at work, the result."""
    if state.run is not None:
        return function(*replaced(args, state.run.value), **replaced(kwargs, state.run.value))
    graph = current()
    if graph is None:
        raise RuntimeError("a tensor of a graph is used outside of it: compute inside `with graph.as_default():`, and let a session run it")
    first, met = _probed(function, args, kwargs, _PROBES[0])
    second = _probed(function, args, kwargs, _PROBES[1])[0]

    def compute():
        return function(*replaced(args, state.run.value), **replaced(kwargs, state.run.value))

    if first is None:
        return Operation(graph, compute, met, name, name)
    if isinstance(first, _Spec):
        return GraphTensor(graph, compute, met, _open(first, second), first.dtype, name, name)
    whole = Operation(graph, compute, met, name, name)
    return _parts(graph, whole, first, second, name, lambda value: value)


def _open(first, second):
    if len(first.shape) != len(second.shape):
        return None
    return [a if a == b else None for a, b in zip(first.shape, second.shape)]


def _parts(graph, whole, first, second, name, pick):
    """A node for each tensor of a call that gives several."""
    if isinstance(first, _Spec):
        return GraphTensor(graph, lambda: pick(state.run.value(whole)), [whole], _open(first, second), first.dtype, name, name)
    if isinstance(first, dict):
        return {key: _parts(graph, whole, first[key], second[key], name, lambda value, key=key: pick(value)[key]) for key in first}
    if isinstance(first, (list, tuple)):
        items = [_parts(graph, whole, a, b, name, lambda value, i=i: pick(value)[i]) for i, (a, b) in enumerate(zip(first, second))]
        return type(first)(*items) if hasattr(first, "_fields") else type(first)(items)
    return first
