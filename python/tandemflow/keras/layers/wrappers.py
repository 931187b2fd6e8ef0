"""keras.layers.Wrapper and TimeDistributed."""
from ... import _ops
from .._engine.layer import Layer
from .._engine.registry import deserialize_keras_object, serialize_keras_object
from ._configured import ConfiguredLayer


class Wrapper(ConfiguredLayer):
    """A layer around another, whose variables it has."""

    def __init__(self, layer, **kwargs):
        if not isinstance(layer, Layer):
            raise ValueError(
                f"Layer {layer} supplied to Wrapper isn't a supported layer type. Please ensure wrapped layer is a valid "
                "Keras layer."
            )
        super().__init__(**kwargs)
        self.layer = layer

    def build(self, input_shape=None):
        if not self.layer.built:
            self.layer.build(input_shape)
            self.layer.built = True

    def get_config(self):
        return {**super().get_config(), "layer": serialize_keras_object(self.layer)}

    @classmethod
    def from_config(cls, config):
        layer = config["layer"]
        return super().from_config({**config, "layer": layer if isinstance(layer, Layer) else deserialize_keras_object(layer)})


class TimeDistributed(Wrapper):
    """The same layer for every step of [batch, steps, ...]."""

    def __init__(self, layer, **kwargs):
        super().__init__(layer, **kwargs)
        self.supports_masking = True

    @staticmethod
    def _step_shape(input_shape):
        if not isinstance(input_shape, (tuple, list)) or len(input_shape) < 3:
            raise ValueError(
                "`TimeDistributed` Layer should be passed an `input_shape` with at least 3 dimensions, received: "
                f"{input_shape}"
            )
        return (input_shape[0], *input_shape[2:])

    def build(self, input_shape):
        super().build(self._step_shape(input_shape))

    def call(self, inputs, training=None, mask=None):
        if mask is not None and (mask.ndim < 2 or mask.shape.as_list()[:2] != inputs.shape.as_list()[:2]):
            raise ValueError(
                f"The `mask` passed to the `TimeDistributed` layer has a shape {tuple(mask.shape)} that is incompatible "
                f"with the input shape {tuple(inputs.shape)}: batch and steps must be the same."
            )
        signature, kwargs = self.layer._signature, {}
        if signature.takes_training:
            kwargs["training"] = training
        if self._one_call(mask):
            return self._all_steps(inputs, mask, kwargs)
        return self._step_by_step(inputs, mask, kwargs)

    def _one_call(self, mask):
        """Whether steps may stand beside each other in one batch: not where the layer looks at the batch."""
        from .batch_normalization import BatchNormalization

        looks = any(isinstance(layer, BatchNormalization) for layer in self.layer._flatten_layers())
        return not looks and not (mask is not None and "mask" in self.layer._signature.mask_names)

    def _all_steps(self, inputs, mask, kwargs):
        batch, steps, *rest = inputs.shape.as_list()
        out = self.layer(_ops.reshape(inputs, [batch * steps, *rest]), **kwargs)
        return _ops.reshape(out, [batch, steps, *out.shape.as_list()[1:]])

    def _step_by_step(self, inputs, mask, kwargs):
        takes_mask = mask is not None and "mask" in self.layer._signature.mask_names
        outputs = []
        for i in range(inputs.shape[1]):
            step = {"mask": mask[:, i]} if takes_mask else {}
            outputs.append(self.layer(inputs[:, i], **kwargs, **step))
        return _ops.stack(outputs, 1)
