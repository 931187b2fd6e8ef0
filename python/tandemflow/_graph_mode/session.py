"""Sessions: they run what is fetched of a graph, given what is fed."""
import numpy as np

from .. import _tandem
from .._function import Function
from ..errors import InvalidArgumentError
from . import nodes
from .nodes import Evaluation, GraphTensor, Operation, evaluating

_sessions = []  # those of `with session:` and InteractiveSession, the innermost last


def default_session(session=None):
    """The session given, else the one of the innermost `with`."""
    if session is None and not _sessions:
        raise ValueError("Cannot evaluate tensor using `eval()` or `run()`: No default session is registered. Use `with sess.as_default()` or pass an explicit session.")
    return session or _sessions[-1]


def placeholder(dtype, shape=None, name=None):
    """A tensor whose value is fed when a session runs."""
    graph = nodes.current()
    if graph is None:
        raise RuntimeError("tf.placeholder() is not compatible with eager execution: take the value as an argument of a tf.function")
    node = GraphTensor(graph, None, [], shape, dtype, name or "Placeholder", "Placeholder")

    def compute():
        raise InvalidArgumentError(f"You must feed a value for placeholder tensor '{node.op.name}' with dtype {node.dtype.name} and shape {node.shape}")

    node.compute = compute
    return node


def placeholder_with_default(input, shape, name=None):
    """A tensor that may be fed."""
    made = nodes.recorded(_tandem.to_tensor, (input,), {}, name or "PlaceholderWithDefault")
    made.shape = nodes.TensorShape(shape)
    return made


class Session:
    """Runs parts of a graph: session.run(fetches, feed_dict)."""

    def __init__(self, target="", graph=None, config=None):
        self._graph = graph if graph is not None else nodes.current()
        if self._graph is None:
            raise RuntimeError("The Session graph is empty. Add operations to the graph before calling run(), inside `with tf.Graph().as_default():`")
        self._functions, self._closed = {}, False

    @property
    def graph(self):
        return self._graph

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        """The values of the fetches, arrays nested as they are; None for operations."""
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        wanted = nodes.leaves(fetches)
        self._check(fetches, wanted)
        feeds = {node: _fed(node, value) for node, value in (feed_dict or {}).items()}
        key = tuple(map(id, wanted)), tuple(map(id, feeds))
        if key not in self._functions:
            self._functions[key] = (Function(_body(wanted, list(feeds)), name="session", autograph=False, reduce_retracing=True), wanted, list(feeds))
        with evaluating(Evaluation({})):  # Python that is called meanwhile computes
            values = iter(self._functions[key][0](*feeds.values()))
        return nodes.replaced(fetches, lambda node: _array(next(values)))

    def _check(self, fetches, wanted):
        if not wanted and not isinstance(fetches, (list, tuple, dict)):
            raise TypeError(f"Argument `fetch` = {fetches!r} has invalid type \"{type(fetches).__name__}\" must be a string or Tensor. (Can not convert a {type(fetches).__name__} into a Tensor or Operation.)")
        for node in wanted:
            if node.graph is not self._graph:
                raise ValueError(f"Fetch argument {node!r} cannot be interpreted as a Tensor. (Tensor {node!r} is not an element of this graph.)")

    def as_default(self):
        """For `with`: eval() and run() use it inside."""
        return _Default(self)

    def close(self):
        """It runs nothing any more."""
        self._closed = True
        self._functions.clear()

    def __enter__(self):
        self._default = self.as_default()
        return self._default.__enter__()

    def __exit__(self, *error):
        self._default.__exit__(*error)
        self.close()


class _Default:
    """A session that is the default one inside of `with`, and stays open."""

    def __init__(self, session):
        self._session, self._scope = session, session.graph.as_default()

    def __enter__(self):
        self._scope.__enter__()
        _sessions.append(self._session)
        return self._session

    def __exit__(self, *error):
        _sessions.remove(self._session)
        self._scope.__exit__(None, None, None)


class InteractiveSession(Session):
    """A session that is the default one until it is closed."""

    def __init__(self, target="", graph=None, config=None):
        super().__init__(target, graph, config)
        _sessions.append(self)

    def close(self):
        super().close()
        if self in _sessions:
            _sessions.remove(self)


def _body(wanted, fed):
    def session(*values):
        run = Evaluation({id(node): value for node, value in zip(fed, values)})
        with evaluating(run):
            found = [run.value(node) for node in wanted]
        return [value if isinstance(node, GraphTensor) else None for node, value in zip(wanted, found)]

    return session


def _fed(node, value):
    if not isinstance(node, Operation):
        raise TypeError(f"Cannot interpret feed_dict key as Tensor: {node!r}")
    array = np.asarray(value, None if node.dtype.name == "string" else node.dtype.as_numpy_dtype)
    if not node.shape.is_compatible_with(array.shape):
        raise ValueError(f"Cannot feed value of shape {array.shape} for Tensor {node.name}, which has shape {node.shape}")
    return _tandem.to_tensor(array.tolist() if node.dtype.name == "string" else array, node.dtype)


def _array(value):
    return value if value is None else value.numpy()
