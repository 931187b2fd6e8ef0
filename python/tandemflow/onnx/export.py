"""Models and functions as ONNX files."""
import os

from .. import _dtypes, _tandem
from .._atomic_file import write_atomically
from .._function import Function
from .._traced_nodes import Probes
from .writer import GraphWriter

OPSET = 20


def export(model, path, input_signature=None):
    """Writes a Keras model, or a function with an input_signature of TensorSpecs (None where a size is open), to a file.

    Open sizes stay open. Variables become constants. Ops that ONNX has no word for raise NotImplementedError.
    """
    function, specs, names, outputs = _described(model, input_signature)
    probes = Probes("export")
    traced = Function(function, name="onnx", autograph=False).get_concrete_function(*(probes.spec(spec) for spec in specs))
    nodes, parameters, results = _tandem.graph_nodes(traced._concrete)
    writer = GraphWriter(nodes, probes.axes, OPSET)
    for number, node in enumerate(parameters):
        writer.add_input(node, names[number], specs[number], number)
    message = writer.model(results, outputs, getattr(model, "name", None) or "model")
    write_atomically(os.fspath(path), [message.to_bytes()])


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
