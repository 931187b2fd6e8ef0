"""keras.layers.TFSMLayer: a function of a SavedModel as a layer."""
from .._engine.layer import Layer
from ... import _tandem


class TFSMLayer(Layer):
    """Calls a signature of a SavedModel that tf.saved_model.save or model.export wrote; its variables are not trained."""

    def __init__(self, filepath, call_endpoint="serve", call_training_endpoint=None, trainable=True, name=None, dtype=None):
        super().__init__(name=name, dtype=dtype, trainable=trainable)
        from ...saved_model import load

        self.filepath, self.call_endpoint, self.call_training_endpoint = str(filepath), call_endpoint, call_training_endpoint
        self._reloaded = load(self.filepath)
        self._function = self._endpoint(call_endpoint)
        self._training_function = None if call_training_endpoint is None else self._endpoint(call_training_endpoint)
        self.built = True

    def _endpoint(self, name):
        signatures = getattr(self._reloaded, "signatures", {})
        method = getattr(self._reloaded, name, None)
        if callable(method):
            return method
        if name in signatures:
            return signatures[name]
        known = sorted({*signatures, *(key for key, value in vars(self._reloaded).items() if callable(value) and key[0] != "_")})
        raise ValueError(f"The endpoint '{name}' is neither an attribute of the reloaded SavedModel, nor an entry in its `signatures` field. It has {', '.join(known) or 'none'}.")

    def call(self, inputs, training=False, **kwargs):
        function = self._training_function if training and self._training_function is not None else self._function
        if isinstance(inputs, dict):
            return function(**inputs)
        try:
            return function(inputs, **kwargs)
        except TypeError:  # signatures take their tensors by name
            names = list(getattr(function, "structured_input_signature", ((), {}))[1])
            if len(names) != 1:
                raise
            return function(**{names[0]: _tandem.to_tensor(inputs)})

    def get_config(self):
        return {**super().get_config(), "filepath": self.filepath, "call_endpoint": self.call_endpoint, "call_training_endpoint": self.call_training_endpoint}
