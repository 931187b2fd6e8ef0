"""Models as traced functions, for programs that need no layers to run them."""
from ... import onnx, saved_model
from ..._function import Function
from ..._specs import TensorSpec
from ...nest import map_structure


def signature_of(model):
    """What the model is called with, each leaf a tf.TensorSpec; batches of any size."""
    if model.inputs:
        return map_structure(lambda tensor: TensorSpec(tensor.shape, tensor.dtype), model.input)
    if model._first_call is None:
        raise ValueError(
            f"The model '{model.name}' does not know the shape of its input. Call it on data first, or pass input_signature=[tf.TensorSpec(...)]."
        )
    return model._first_call[0]


class Exported:
    """What is saved of a model: its call as `serve`, and its variables."""

    def __init__(self, model, input_signature=None):
        signature = signature_of(model) if input_signature is None else _only(input_signature)

        def serve(inputs):
            return model(inputs, training=False)

        self.serve = Function(serve, [signature], "serve")
        self._variables = list(model.variables)

    def _saved_parts(self):
        return [("_variables", self._variables), ("serve", self.serve), ("__call__", self.serve)]

    def _default_signatures(self):
        return {"serving_default": self.serve}


def _only(input_signature):
    """Keras takes the one argument of the model in a list."""
    if isinstance(input_signature, (list, tuple)) and len(input_signature) == 1:
        return input_signature[0]
    return input_signature


def export_model(model, filepath, format="tf_saved_model", verbose=None, input_signature=None, **kwargs):
    """Writes the traced call of a model: "tf_saved_model" is tandemflow's own file in a directory, "onnx" an ONNX file."""
    if format == "onnx":
        return onnx.export(model, filepath, input_signature)
    if format != "tf_saved_model":
        raise ValueError(f"Unrecognized format={format!r}. Supported are 'tf_saved_model', read by tf.saved_model.load and tandem explain, and 'onnx'.")
    saved_model.save(Exported(model, input_signature), filepath)
    if verbose:
        print(f"Saved artifact at '{filepath}'. Its endpoint is 'serve'.")
    return None
