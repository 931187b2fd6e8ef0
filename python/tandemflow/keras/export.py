"""keras.export: functions of models in one directory, for tf.saved_model.load."""
from .. import saved_model
from .._function import Function
from .._specs import TensorSpec
from ..nest import map_structure
from ._engine.input_spec import InputSpec
from ._engine.layer import Layer
from .saving.exporting import announce, signature_of


def _as_spec(leaf):
    if isinstance(leaf, TensorSpec):
        return leaf
    shape = leaf.shape if not isinstance(leaf, InputSpec) or leaf.shape is not None else [None] * (leaf.ndim or 1)
    return TensorSpec(shape, leaf.dtype or "float32")


class ExportArchive:
    """Endpoints and variables are added, then write_out writes them:

    archive = keras.export.ExportArchive()
    archive.track(model)
    archive.add_endpoint("serve", model.call, input_signature=[keras.InputSpec(shape=(None, 3), dtype="float32")])
    archive.write_out("folder")
    """

    def __init__(self, format="saved_model"):
        if format not in ("saved_model", "tf_saved_model"):
            raise ValueError(f"Unsupported format: {format}. Supported is 'saved_model'; model.export(path, format='onnx') writes ONNX.")
        self._tracked, self._endpoints, self._collections = [], {}, {}

    # --- What is written ---

    def track(self, resource):
        """The variables of a model or a layer are written."""
        if not isinstance(resource, Layer):
            raise ValueError(f"Invalid resource type. Expected a Keras `Layer` or `Model`. Received instead an object of type '{type(resource).__name__}'.")
        if not resource.built:
            raise ValueError(f"The layer or model '{resource.name}' has not yet been built: call it on data first, so that its variables are there.")
        self._tracked.append(resource)

    def add_endpoint(self, name, fn, input_signature=None, **kwargs):
        """A function under a name; the signature is left out where a tf.function has been called already."""
        if name in self._endpoints:
            raise ValueError(f"Endpoint name '{name}' is already taken.")
        if kwargs.pop("jax2tf_kwargs", None) is not None or kwargs:
            raise ValueError(f"add_endpoint: these arguments are not known here: {sorted(kwargs) or ['jax2tf_kwargs']}")
        if input_signature is None:
            if not isinstance(fn, Function):
                raise ValueError("If the `fn` argument provided is not a `tf.function`, you must provide an `input_signature` argument to specify the shape and dtype of the function arguments.")
            self._endpoints[name] = fn
        else:
            signature = [map_structure(_as_spec, entry) for entry in input_signature]
            call = fn._python_function if isinstance(fn, Function) and hasattr(fn, "_python_function") else fn
            self._endpoints[name] = Function(lambda *args: call(*args), signature, name)
        return self._endpoints[name]

    def track_and_add_endpoint(self, name, resource, input_signature=None, **kwargs):
        """Both at once; the endpoint is the model's call without training."""
        self.track(resource)
        signature = [signature_of(resource)] if input_signature is None else input_signature
        return self.add_endpoint(name, lambda *args: resource(*args, training=False), signature, **kwargs)

    def add_variable_collection(self, name, variables):
        """Variables in a list of this name of what is loaded."""
        if not isinstance(variables, (list, tuple, set)):
            raise ValueError(f"Expected `variables` to be a list/tuple/set. Received instead object of type '{type(variables).__name__}'.")
        self._collections[name] = list(variables)

    def write_out(self, filepath, options=None, verbose=True):
        """Writes the directory."""
        if not self._endpoints:
            raise ValueError("No endpoints have been set yet. Call add_endpoint().")
        saved_model.save(self, filepath)
        if verbose:
            announce(filepath, self._endpoints, [variable for resource in self._tracked for variable in resource.variables])

    # --- How tf.saved_model sees it ---

    def _saved_parts(self):
        variables = [variable for resource in self._tracked for variable in resource.variables]
        return [("_variables", variables), *self._collections.items(), *self._endpoints.items()]

    def _default_signatures(self):
        first = next(iter(self._endpoints.values()))
        named = {name: function for name, function in self._endpoints.items()}
        return {**named, "serving_default": first}


__all__ = ["ExportArchive"]
