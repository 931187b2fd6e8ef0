"""Models as traced functions, for programs that need no layers to run them."""
from ... import onnx, saved_model
from ..._function import Function
from ..._specs import TensorSpec
from ...nest import map_structure


def signature_of(model):
    """What the model is called with, each leaf a tf.TensorSpec; batches of any size."""
    if model.inputs:
        return map_structure(lambda tensor: TensorSpec(tensor.shape, tensor.dtype, name=tensor.name), model.input)
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
    exported = Exported(model, input_signature)
    saved_model.save(exported, filepath)
    if verbose is None or verbose:
        announce(filepath, {"serve": exported.serve}, model.variables)
    return None


def announce(filepath, endpoints, variables):
    """Prints what was written, as Keras does."""
    print(f"Saved artifact at '{filepath}'. The following endpoints are available:\n")
    for name, function in endpoints.items():
        concrete = function.get_concrete_function()
        arguments, _ = concrete.structured_input_signature
        print(f"* Endpoint '{name}'")
        for i, specs in enumerate(arguments):
            print(f"  args_{i} (POSITIONAL_ONLY): {_type_text(specs)}")
        print(f"Output Type:\n  {_type_text(concrete.structured_outputs)}\nCaptures:")
        for variable in variables:
            print(f"  {id(variable)}: TensorSpec(shape=(), dtype=tf.resource, name=None)")


def _type_text(value):
    """A structure of specs or tensors as TensorFlow names the type of a function's argument."""
    if isinstance(value, dict):
        return f"Dict[{', '.join(f'[{key!r}, {_type_text(item)}]' for key, item in value.items())}]"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__.capitalize()}[{', '.join(map(_type_text, value))}]"
    return repr(value) if isinstance(value, TensorSpec) else repr(TensorSpec(value.shape, value.dtype, name=None))
