"""How ONNX ops are listed: a function an op, registered by its name."""
import numpy as np

from .. import _ops, _tandem
from . import messages
from .tensors import to_array

_ops_by_name = {}


def op(*names):
    """Registers a function(node, *inputs) that gives the node's output, or a tuple of them; an input left out is None."""

    def register(function):
        for name in names:
            _ops_by_name[name] = function
        return function

    return register


def known_ops():
    """The ONNX ops that load() knows, sorted."""
    from . import load_ops  # noqa: F401 - registers them

    return sorted(_ops_by_name)


def find(node):
    """The function of a node's op."""
    known = known_ops()
    if node.op_type in _ops_by_name:
        return _ops_by_name[node.op_type]
    raise NotImplementedError(
        f"node '{name_of(node)}': the ONNX op {node.op_type} is not supported; {len(known)} are (tf.onnx.known_ops() lists them)"
    )


def name_of(node):
    return node.name or (node.output[0] if node.output else node.op_type)


class Attributes:
    """A node's attributes as Python values, the version of ONNX that it is written for, and ONNX' numbers of its inputs' dtypes that NumPy has not."""

    def __init__(self, node, opset, numbers):
        self.numbers = numbers
        self.op, self.name, self.outputs, self.opset = node.op_type, name_of(node), list(node.output), opset
        self._values = {attribute.name: _value(attribute) for attribute in node.attribute}

    def __contains__(self, name):
        return name in self._values

    def get(self, name, default=None):
        value = self._values.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def __getitem__(self, name):
        if name not in self._values:
            raise ValueError(f"node '{self.name}' ({self.op}) has no attribute '{name}'")
        return self.get(name)


def _value(attribute):
    kind = attribute.type
    if kind == messages.FLOAT:
        return attribute.f
    if kind == messages.INT:
        return attribute.i
    if kind == messages.STRING:
        return attribute.s
    if kind == messages.TENSOR:
        return to_array(attribute.t)
    if kind == messages.GRAPH:
        return attribute.g
    if kind == messages.STRINGS:
        return [s.decode() for s in attribute.strings]
    return list(attribute.floats if kind == messages.FLOATS else attribute.ints)


class ValuesNeeded(Exception):
    """The graph cannot be traced: a shape depends on the values of inputs. It can be run op by op."""


# --- Values: NumPy arrays where they are known while the model is traced, tensors otherwise. ---


def is_known(value):
    return all(map(is_known, value)) if isinstance(value, list) else isinstance(value, np.ndarray)


def as_tensor(value, dtype=None):
    if not isinstance(value, _tandem.Tensor):
        value = _tandem.to_tensor(value)
    return value if dtype is None or value.dtype == dtype else _ops.cast(value, dtype)


def as_value(value):
    """A tensor, a sequence of them, or None, which an optional value may be."""
    if isinstance(value, list):
        return [as_value(one) for one in value]
    return None if value is None else as_tensor(value)


def shape_of(value):
    return [int(size) for size in value.shape]


def known(value, node, what):
    """An input that the shapes of results depend on, as an array."""
    if is_known(value):
        return value
    if _tandem.is_symbolic(value):
        raise ValuesNeeded(f"node '{node.name}' ({node.op}): {what} is computed from the inputs' values")
    return value.numpy()


def known_ints(value, node, what):
    return [int(v) for v in known(value, node, what).ravel()]


def known_scalar(value, node, what):
    return known(value, node, what).item()


def axes_of(node, given=None, default=None, rank=None):
    """Axes as an input (newer versions) or an attribute (older ones), counted from the front."""
    axes = known_ints(given, node, "axes") if given is not None else node.get("axes", default)
    return axes if axes is None or rank is None else [axis % rank if rank else axis for axis in axes]
