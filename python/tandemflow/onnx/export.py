"""Models and functions as ONNX files."""
import os

from .. import _dtypes, _tandem
from .._atomic_file import write_atomically
from .._function import Function
from .writer import GraphWriter

OPSET = 20
# Open sizes while the model is traced: large and prime, so that what is a multiple of one must come from it.
_PROBES = [1009, 1013, 1019, 1021, 1031, 1033]


def export(model, path, input_signature=None):
    """Writes a Keras model, or a function with an input_signature of TensorSpecs (None where a size is open), to a file.

    Open sizes stay open. Variables become constants. Ops that ONNX has no word for raise NotImplementedError.
    """
    function, specs, names, outputs = _described(model, input_signature)
    probes = _Probes()
    traced = Function(function, name="onnx", autograph=False).get_concrete_function(*(probes.spec(spec) for spec in specs))
    nodes, parameters, results = _tandem.graph_nodes(traced._concrete)
    writer = GraphWriter(nodes, probes.axes, OPSET)
    for number, node in enumerate(parameters):
        writer.add_input(node, names[number], specs[number], number)
    message = writer.model(results, outputs, getattr(model, "name", None) or "model")
    write_atomically(os.fspath(path), [message.to_bytes()])


class _Probes:
    """Stands for open sizes; `axes` says which axis of which input each is."""

    def __init__(self):
        self.axes, self._inputs = {}, 0

    def spec(self, spec):
        from .._specs import TensorSpec

        sizes = []
        for axis, size in enumerate(spec.shape):
            if size is None:
                size = self._probe_of(axis)
                self.axes.setdefault(size, (self._inputs, axis))
            sizes.append(int(size))
        self._inputs += 1
        return TensorSpec(sizes, spec.dtype)

    def _probe_of(self, axis):
        """The batch is one and the same for all inputs; other open sizes are each their own."""
        if axis == 0:
            return _PROBES[0]
        taken = len([probe for probe in self.axes if probe != _PROBES[0]]) + 1
        if taken >= len(_PROBES):
            raise NotImplementedError(f"export: more than {len(_PROBES) - 1} open sizes besides the batch")
        return _PROBES[taken]


def _described(model, input_signature):
    """A function of tensors, the specs and names of its inputs, the names of its outputs (None: made up)."""
    from .. import keras
    from .._specs import TensorSpec

    if isinstance(model, keras.Model):
        inputs = model.inputs
        if not inputs:
            raise ValueError(f"export: model '{model.name}' has not been built: call it, or give it an Input, first")
        specs = [TensorSpec(tuple(tensor.shape), _dtypes.as_dtype(tensor.dtype)) for tensor in inputs]
        names = [getattr(tensor, "name", None) or f"input_{i}" for i, tensor in enumerate(inputs)]
        single = len(inputs) == 1
        return (lambda *xs: model(xs[0] if single else list(xs), training=False)), specs, names, list(model.output_names)
    signature = input_signature if input_signature is not None else getattr(model, "input_signature", None)
    if not callable(model) or signature is None:
        raise ValueError("export needs a Keras model, or a function and its input_signature, a list of tf.TensorSpec")
    names = [spec.name or f"input_{i}" for i, spec in enumerate(signature)]
    function = model.python_function if isinstance(model, Function) else model
    return function, list(signature), names, None
