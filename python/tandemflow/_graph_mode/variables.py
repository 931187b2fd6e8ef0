"""Variables of a graph, by themselves and by the names of get_variable."""
import math
from contextlib import contextmanager

from .. import _tandem
from .._module import name_scope
from .._shape import TensorShape
from ..errors import FailedPreconditionError
from . import nodes
from .nodes import GraphTensor, Operation, recorded, state

AUTO_REUSE = "AUTO_REUSE"


class _Scope:
    """Names of variables begin with it; `reuse` says whether those that are there may be asked for again."""

    def __init__(self, name="", reuse=None, initializer=None):
        self.name, self.reuse, self.initializer = name, reuse, initializer

    def reuse_variables(self):
        self.reuse = True


_scopes = [_Scope()]


@contextmanager
def variable_scope(name_or_scope, default_name=None, values=None, initializer=None, reuse=None, **kwargs):
    """Variables made inside have names that begin with its name."""
    outer = _scopes[-1]
    if isinstance(name_or_scope, _Scope):
        name = name_or_scope.name
    else:
        name = f"{outer.name}/{name_or_scope or default_name}" if outer.name else name_or_scope or default_name
    scope = _Scope(name, outer.reuse if reuse is None else reuse, initializer or outer.initializer)
    _scopes.append(scope)
    try:
        with name_scope(name):
            yield scope
    finally:
        _scopes.pop()


def get_variable_scope():
    """The scope at hand."""
    return _scopes[-1]


class GraphVariable(GraphTensor):
    """Its value stays from run to run; `initializer` gives it the first one."""

    def __init__(self, initial_value=None, trainable=True, validate_shape=True, caching_device=None, name=None, variable_def=None, dtype=None, full_name=None, **kwargs):
        if initial_value is None:
            raise ValueError("The `initial_value` arg to `tf.Variable` must be specified except when you are not providing a `variable_def`.")
        graph = nodes.current()
        initial = initial_value() if callable(initial_value) and not isinstance(initial_value, Operation) else initial_value
        wanted = None if dtype is None else _tandem.as_dtype(dtype)
        initial = recorded(lambda value: _tandem.to_tensor(value) if wanted is None else _as(value, wanted), (initial,), {}, "initial_value")
        with _tandem.LiftOut():
            self.cell = _tandem.Variable(_tandem.fill(initial.shape, "" if initial.dtype.name == "string" else 0, initial.dtype), trainable=trainable)
        self.trainable, self.is_set, self.initial_value = bool(trainable), False, initial
        scope = None if full_name is None else ""
        super().__init__(graph, self._read, [], initial.shape, initial.dtype, full_name or name or "Variable", "VarHandleOp", scope)
        graph.variables.append(self)
        self.initializer = self._changed(self._set_first, initial, "Assign")

    def _read(self):
        if not self.is_set and isinstance(state.run, nodes.Evaluation):
            raise FailedPreconditionError(f"Attempting to use uninitialized value {self.name.removesuffix(':0')}; run its initializer first")
        return self.cell.read_value()

    def _set_first(self, value):
        self.is_set = True
        return self.cell.assign(value)

    def _changed(self, change, value, name):
        """An operation that changes the variable and gives its new value."""
        def compute(value):
            change(_as(value, self.dtype))
            return self.cell.read_value()

        node = GraphTensor(self.graph, lambda: compute(nodes.replaced(value, state.run.value)), nodes.leaves(value), self.shape, self.dtype, name, name)
        return node

    def assign(self, value, use_locking=False, name=None, read_value=True):
        return self._changed(self._set_first, value, "Assign")

    def assign_add(self, delta, use_locking=False, name=None, read_value=True):
        return self._changed(self.cell.assign_add, delta, "AssignAdd")

    def assign_sub(self, delta, use_locking=False, name=None, read_value=True):
        return self._changed(self.cell.assign_sub, delta, "AssignSub")

    def value(self):
        return self

    read_value = initialized_value = value

    def load(self, value, session=None):
        self._set_first(_as(value, self.dtype))

    def __repr__(self):
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    __str__ = __repr__


def _as(value, dtype):
    return value if hasattr(value, "dtype") and value.dtype == dtype else _tandem.to_tensor(value, dtype)


def get_variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=True, collections=None, **kwargs):
    """The variable of that name, in the scope at hand; made where it is not there yet."""
    graph, scope = nodes.current(), _scopes[-1]
    if graph is None:
        raise RuntimeError("get_variable is for graphs; use tf.Variable where ops run at once")
    full = f"{scope.name}/{name}" if scope.name else name
    known = graph.named_variables.get(full)
    if known is not None:
        if not scope.reuse:
            raise ValueError(f"Variable {full} already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in VarScope?")
        return known
    if scope.reuse is True:
        raise ValueError(f"Variable {full} does not exist, or was not created with tf.get_variable(). Did you mean to set reuse=tf.AUTO_REUSE in VarScope?")
    initializer = scope.initializer if initializer is None else initializer
    made = GraphVariable(_first_value(initializer, shape, dtype), trainable, full_name=full, dtype=dtype)
    graph.named_variables[full] = made
    return made


def _first_value(initializer, shape, dtype):
    import tandemflow as tf

    dtype = dtype or tf.float32
    if initializer is None:  # Glorot's, as in TensorFlow
        sizes = list(shape)
        around = math.prod(sizes[:-2]) * (sizes[-2] + sizes[-1]) if len(sizes) > 1 else sum(sizes) or 2
        limit = math.sqrt(6 / max(around, 1))
        return lambda: tf.random.uniform(sizes, -limit, limit, dtype)
    if isinstance(initializer, type):
        initializer = initializer()
    if callable(initializer) and not isinstance(initializer, Operation):
        sizes = [] if shape is None else [int(size) for size in shape]
        drawn = lambda _: [_fresh(initializer)(sizes, dtype=dtype)]  # noqa: E731  when the session runs: other numbers in every run
        return lambda: recorded(lambda: _tandem.python_call(drawn, [], [(TensorShape(sizes), _tandem.as_dtype(dtype))], None)[0], (), {}, "initial_value")
    return initializer


def _fresh(initializer):
    """One that has drawn nothing yet: Keras' give the same numbers whenever they are called."""
    return type(initializer).from_config(initializer.get_config()) if hasattr(initializer, "get_config") else initializer


def global_variables(scope=None):
    """All variables of the graph, or those whose names begin with `scope`."""
    graph = nodes.current()
    return [v for v in (graph.variables if graph else []) if scope is None or v.name.startswith(scope)]


def trainable_variables(scope=None):
    """Those of them that an optimizer changes."""
    return [variable for variable in global_variables(scope) if variable.trainable]


def variables_initializer(var_list, name="init"):
    """An operation that gives variables their first values."""
    graph, initializers = nodes.current(), [variable.initializer for variable in var_list]
    if graph is None:
        return None  # a variable has its value at once
    return Operation(graph, lambda: None, initializers, name, "NoOp")


def global_variables_initializer():
    """An operation that gives all variables of the graph their first values."""
    return variables_initializer(global_variables())
