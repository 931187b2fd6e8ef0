"""How TensorFlow's ops are listed: a function an op, registered by its name."""
from .. import _tandem
from ..errors import UnimplementedError

_by_name = {}
_output_names = {}


def op(*names, outputs=(), effects=False):
    """Registers a function(attributes, *inputs) that gives the node's output, or a list of them. `outputs`: their names, if they
    have several. `effects`: it does more than compute."""

    def register(function):
        function.has_effects = effects
        for name in names:
            _by_name[name] = function
            if outputs:
                _output_names[name] = list(outputs)
        return function

    return register


def plain(**functions):
    """Ops that are functions of their inputs alone."""
    for name, function in functions.items():
        _by_name[name] = lambda node, *inputs, function=function: function(*inputs)


def find(name):
    """The function of an op; None when there is none."""
    from . import ops  # noqa: F401 - registers them

    return _by_name.get(name)


def known_ops():
    """The ops that are read, sorted."""
    find("")
    return sorted(_by_name)


def output_names(name):
    """Of ops whose outputs have several names; None for one list of outputs."""
    return _output_names.get(name)


def ints(value, node):
    """An input that shapes depend on, as a list of integers."""
    if _tandem.is_symbolic(value):
        raise UnimplementedError(f"node '{node.name}' ({node.op}): a size or an axis is computed from the inputs' values")
    return [int(one) for one in value.numpy().ravel()]


def integer(value, node):
    return ints(value, node)[0]
