"""The package's functions while a graph is built: they leave nodes behind instead of computing."""
import importlib
import types
from contextlib import contextmanager

from .. import _tandem
from . import nodes

_MODULES = "math nn linalg random strings image signal bitwise".split()
_LATER = """case cond switch_case while_loop foldl foldr map_fn scan vectorized_map py_function numpy_function group identity_n no_op tuple Assert complex
ensure_shape dynamic_partition dynamic_stitch reverse_sequence bitcast""".split()  # what the package loads when it is asked for
_NOT_OPS = "set_seed get_global_generator set_global_generator create_rng_state all_candidate_sampler compute_average_loss scale_regularization_loss".split()
_installed = False


def _wrapped(function, module, name):
    def call(*args, **kwargs):
        if nodes.current() is None and nodes.state.run is None:
            return function(*args, **kwargs)
        return nodes.recorded(function, args, kwargs, kwargs.get("name") or name)

    call.__module__, call.__name__, call.__qualname__, call.__doc__ = module, name, name, function.__doc__  # where pickle finds it
    call.__wrapped__ = function
    return call


class _VariableType(type):
    """tf.Variable: of a graph while one is built."""

    def __call__(cls, *args, **kwargs):
        from .variables import GraphVariable

        return _tandem.Variable(*args, **kwargs) if nodes.current() is None else GraphVariable(*args, **kwargs)

    def __instancecheck__(cls, value):
        from .variables import GraphVariable

        return isinstance(value, (_tandem.Variable, GraphVariable))


class Variable(metaclass=_VariableType):
    """A value that stays from run to run."""


def _executing_eagerly():
    """False while a function is traced or a graph is built."""
    return nodes.current() is None and _tandem.executing_eagerly()


@contextmanager
def _control_dependencies(control_inputs):
    """Nodes made inside run after these."""
    nodes.state.dependencies.append(nodes.leaves(control_inputs or []))
    try:
        yield
    finally:
        nodes.state.dependencies.pop()


def install():
    """Once a program builds a graph: functions look whether one is being built. Without that they cost nothing more."""
    global _installed
    if _installed:
        return
    _installed = True
    import tandemflow as tf

    for name in _MODULES:
        module = importlib.import_module(f"tandemflow.{name}")
        for key, value in list(vars(module).items()):
            if isinstance(value, (types.FunctionType, _tandem.OpFunction)) and key[0] != "_" and key not in _NOT_OPS:
                setattr(module, key, _wrapped(value, module.__name__, key))
    for key in [*tf._exported, "einsum", "tensordot", "print", *_LATER]:
        value = getattr(tf, key, None)
        if isinstance(value, (types.FunctionType, _tandem.OpFunction)):
            setattr(tf, key, _wrapped(value, tf.__name__, key))
    tf.Variable = Variable
    tf.executing_eagerly = _executing_eagerly
    tf.control_dependencies = _control_dependencies
