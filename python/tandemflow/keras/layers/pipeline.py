"""keras.layers.Pipeline and MaxNumBoundingBoxes: preprocessing one step after the other."""
from ... import _ops, _tandem
from ..._gradient import flatten
from .._engine.keras_tensor import map_leaves
from .._engine.layer import Layer
from .._engine.registry import deserialize_keras_object, serialize_keras_object
from ._configured import ConfiguredLayer


class Pipeline(Layer):
    """Applies layers in order; what it makes depends on training=True as they say."""

    _takes_values = True

    def __init__(self, layers, name=None):
        super().__init__(name=name)
        self.layers = list(layers)
        self.supports_masking = True

    def build(self, input_shape=None):
        pass

    def call(self, inputs, training=True, mask=None):
        for layer in self.layers:
            arguments = {"training": training} if layer._signature.takes_training else {}
            if "mask" in layer._signature.mask_names:
                arguments["mask"] = mask
            inputs = layer(inputs, **arguments)
            mask = map_leaves(lambda leaf: getattr(leaf, "_keras_mask", None), inputs)
            mask = mask if any(part is not None for part in flatten(mask)) else None
        return inputs

    def get_config(self):
        return {"layers": serialize_keras_object(self.layers), "name": self.name}

    @classmethod
    def from_config(cls, config):
        if not isinstance(config.get("layers"), (list, tuple)):
            raise ValueError(f"`Pipeline` config must contain a `layers` key mapping to a list of serialized layers. Received config with layers={config.get('layers')}.")
        return cls(**{**config, "layers": deserialize_keras_object(config["layers"])})


class MaxNumBoundingBoxes(ConfiguredLayer):
    """Cuts and fills {"bounding_boxes": {"boxes", "labels"}} so that each picture has as many."""

    def __init__(self, max_number, fill_value=-1, **kwargs):
        super().__init__(**kwargs)
        self.max_number, self.fill_value = int(max_number), int(fill_value)
        self.built = True

    def call(self, inputs):
        if not isinstance(inputs, dict) or "bounding_boxes" not in inputs:
            return inputs
        given = inputs["bounding_boxes"]
        if set(given) - {"boxes", "labels"}:
            raise KeyError(f"There are unsupported keys in `bounding_boxes`: {sorted(set(given) - {'boxes', 'labels'})}. Only `boxes` and `labels` are supported.")
        return {**inputs, "bounding_boxes": {name: self._filled(_tandem.to_tensor(value)) for name, value in given.items()}}

    def _filled(self, x):
        x = x[:, : self.max_number]
        missing = self.max_number - x.shape[1]
        return _ops.pad(x, [[0, 0], [0, missing], *[[0, 0]] * (x.ndim - 2)], constant_values=self.fill_value)

    def get_config(self):
        config = super().get_config()
        del config["fill_value"]  # as in Keras
        return config
