"""What get_concrete_function gives for a tf.TensorSpec that leaves sizes open."""
import inspect

from . import _tandem, nest
from ._arguments import fill_slots
from ._concrete import FunctionGraph, fill_results
from ._function import Function
from ._specs import TensorSpec

_SAMPLES = (2, 3)  # sizes for which the graph is looked at


class OpenConcreteFunction(Function):
    """A traced function for fixed dtypes and Python values, of any size where its specs leave sizes open."""

    def __init__(self, function, leaves, key, structure):
        self._origin, self._key, self._structure = function, key, structure
        self._inputs = [leaf if isinstance(leaf, TensorSpec) else TensorSpec.from_tensor(leaf) for leaf in leaves]

        def run(*tensors):
            args, kwargs = fill_slots(structure, tensors)
            return function.python_function(*args, **kwargs)

        run.__signature__ = inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in self._names()])
        super().__init__(run, self._inputs, function.name, function._autograph)

    def _names(self):
        """A name for each tensor: its parameter's, numbered where that holds several."""
        args, kwargs = fill_slots(self._structure, self._inputs)
        names = []
        for name, value in self._origin._arguments.named(args, kwargs):
            specs = [leaf for leaf in nest.flatten(value) if isinstance(leaf, TensorSpec)]
            names += [name] if specs == [value] else [f"{name}_{i}" for i in range(len(specs))]
        return names

    def _converted(self):
        converted = self._origin._converted()

        def run(*tensors):
            args, kwargs = fill_slots(self._structure, tensors)
            return converted(*args, **kwargs)

        return run

    def _call(self, args, kwargs):
        """Takes its tensors in order or by name, or all arguments of the function."""
        if len(args) + len(kwargs) != len(self._inputs) or not kwargs.keys() <= set(self._names()):
            args, kwargs = self._origin._arguments.flatten(args, kwargs)[0], {}
        return super()._call(args, kwargs)

    def _at(self, size):
        samples = [_tandem.symbolic([size if s is None else s for s in spec.shape], spec.dtype) for spec in self._inputs]
        return self.get_concrete_function(*samples)

    @property
    def inputs(self):
        return list(self._inputs)

    @property
    def outputs(self):
        """With None for the sizes that follow the open ones."""
        samples = [self._at(size).outputs for size in _SAMPLES]
        return [TensorSpec([a if a == b else None for a, b in zip(one.shape, other.shape)], one.dtype) for one, other in zip(*samples)]

    @property
    def structured_input_signature(self):
        return fill_slots(self._structure, self._inputs)

    @property
    def structured_outputs(self):
        return fill_results(self._at(_SAMPLES[0])._concrete.structure(), self.outputs)

    @property
    def graph(self):
        """The graph as traced, with two in the places of open sizes."""
        return FunctionGraph(self._at(_SAMPLES[0])._concrete, parameter_names=self._names())

    def __repr__(self):
        return f"<ConcreteFunction {self.name}({self._key})>"


def leaves_sizes_open(args, kwargs):
    """Whether a tf.TensorSpec among the arguments leaves a size open."""
    return any(isinstance(leaf, TensorSpec) and not leaf.shape.is_fully_defined() for leaf in nest.flatten((args, kwargs)))
