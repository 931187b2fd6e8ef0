"""keras.layers.Identity, Lambda, Rescaling and ActivityRegularization."""
import inspect

from ... import _ops, _tandem
from .. import regularizers
from .._engine import data_format as formats
from .._engine.shape_trees import map_leaves_of_shapes
from .._engine.registry import deserialize_keras_object, serialize_keras_object
from ._configured import ConfiguredLayer


class Identity(ConfiguredLayer):
    """The inputs."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.built = True

    def call(self, inputs):
        return inputs


class ActivityRegularization(ConfiguredLayer):
    """The inputs, whose size costs something while training."""

    def __init__(self, l1=0.0, l2=0.0, **kwargs):
        super().__init__(activity_regularizer=regularizers.L1L2(l1=l1, l2=l2), **kwargs)
        self.l1, self.l2 = l1, l2
        self.supports_masking = True
        self.built = True

    def call(self, inputs):
        return inputs

    def get_config(self):
        config = super().get_config()
        config.pop("activity_regularizer", None)
        return config


class Rescaling(ConfiguredLayer):
    """inputs * scale + offset"""

    def __init__(self, scale, offset=0.0, **kwargs):
        super().__init__(**kwargs)
        self.scale, self.offset = scale, offset
        self.supports_masking = True
        self.built = True

    def call(self, inputs):
        inputs = _ops.cast(_tandem.to_tensor(inputs), self.compute_dtype)
        scale = _tandem.to_tensor(self.scale, inputs.dtype)
        if scale.ndim and formats.image_data_format() == "channels_first":
            scale = _ops.reshape(scale, [*scale.shape.as_list(), *[1] * (3 - scale.ndim)])
        return inputs * scale + _tandem.to_tensor(self.offset, inputs.dtype)

    def get_config(self):
        config = super().get_config()
        return {**config, "scale": serialize_keras_object(self.scale), "offset": serialize_keras_object(self.offset)}

    @classmethod
    def from_config(cls, config):
        config = {**config, "scale": deserialize_keras_object(config["scale"])}
        config["offset"] = deserialize_keras_object(config.get("offset", 0.0))
        return super().from_config(config)


class Lambda(ConfiguredLayer):
    """A function as a layer; variables it uses are not the layer's."""

    def __init__(self, function, output_shape=None, mask=None, arguments=None, **kwargs):
        super().__init__(**kwargs)
        self.function, self.mask, self.arguments = function, mask, dict(arguments or {})
        self._output_shape = output_shape
        self.supports_masking = mask is not None
        self._makes_masks = mask is not None
        try:
            self._takes = inspect.signature(function).parameters
        except (TypeError, ValueError):  # a built-in that does not tell
            self._takes = ()

    def call(self, inputs, mask=None, training=None):
        given = {"mask": mask, "training": training}
        return self.function(inputs, **self.arguments, **{k: v for k, v in given.items() if k in self._takes})

    def compute_output_shape(self, input_shape):
        if self._output_shape is None:
            return super().compute_output_shape(input_shape)
        if callable(self._output_shape):
            return self._output_shape(input_shape)
        batch = input_shape[0] if not isinstance(input_shape[0], (list, tuple)) else input_shape[0][0]
        return map_leaves_of_shapes(lambda shape: (batch, *shape), self._output_shape)

    def compute_output_spec(self, *args, **kwargs):
        from .._engine.shapes import infer_outputs

        if self._output_shape is not None:
            return super().compute_output_spec(*args, **kwargs)
        return infer_outputs(self.__call__, args, kwargs)

    def compute_mask(self, inputs, previous_mask=None):
        return self.mask(inputs, previous_mask) if callable(self.mask) else self.mask

    def get_config(self):
        from .._engine.layer import Layer

        config = {**Layer.get_config(self), "function": _written(self.function)}
        if self._output_shape is not None:
            config["output_shape"] = _written(self._output_shape)
        if self.mask is not None:
            config["mask"] = _written(self.mask)
        config["arguments"] = serialize_keras_object(self.arguments)
        return config

    @classmethod
    def from_config(cls, config):
        config = {key: _read(value) if key in ("function", "output_shape", "mask", "arguments") else value for key, value in config.items()}
        if isinstance(config.get("output_shape"), list):
            config["output_shape"] = tuple(config["output_shape"])
        return super().from_config(config)


def _written(value):
    """As Keras' files hold the function of a Lambda."""
    out = serialize_keras_object(value)
    if isinstance(out, dict) and out.get("class_name") == "__lambda__":
        return {"class_name": "__lambda__", "config": out["config"]["value"]}
    return out


def _read(value):
    if isinstance(value, dict) and value.get("class_name") == "__lambda__" and "code" in value["config"]:
        value = {"class_name": "__lambda__", "config": {"value": value["config"]}}
    return value if callable(value) else deserialize_keras_object(value)
