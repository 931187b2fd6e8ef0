"""What the architectures share: inputs, ends, weights, and layers with names."""
import os

from ... import keras
from .._engine.data_format import image_data_format

PLACE = "https://storage.googleapis.com/tensorflow/keras-applications/"


class Network:
    """The arguments of an application, checked, and the tensor that its layers begin with."""

    def __init__(self, kind, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name, size, least):
        self.kind, self.include_top, self.weights, self.pooling = kind, include_top, weights, pooling
        self.classes, self.activation, self.name = classes, classifier_activation, name or kind
        if image_data_format() != "channels_last":
            raise ValueError(f"{kind}: pictures need channels_last here, got {image_data_format()!r}")
        if weights not in ("imagenet", None) and not os.path.exists(weights):
            raise ValueError(
                "The `weights` argument should be either `None` (random initialization), `imagenet` (pre-training on ImageNet), "
                f"or the path to the weights file to be loaded. Received: weights={weights}"
            )
        if weights == "imagenet" and include_top and classes != 1000:
            raise ValueError(f'If using `weights="imagenet"` with `include_top=True`, `classes` should be 1000. Received classes={classes}')
        shape = self._shape(input_shape, size, least)
        if input_tensor is None:
            self.input = self.start = keras.Input(shape)
        else:
            drawn = isinstance(input_tensor, keras.KerasTensor)
            self.start = input_tensor if drawn else keras.Input(tensor=input_tensor, shape=shape)
            self.input = self.start

    def _shape(self, shape, size, least):
        default = (size, size, 3)
        if shape is None:
            return default if self.include_top else (None, None, 3)
        shape = tuple(shape)
        if len(shape) != 3:
            raise ValueError("`input_shape` must be a tuple of three integers.")
        if self.include_top and self.weights == "imagenet" and shape != default:
            raise ValueError(f"When setting `include_top=True` and loading `imagenet` weights, `input_shape` should be {default}. Received: input_shape={shape}")
        if any(n is not None and n < least for n in shape[:2]):
            raise ValueError(f"Input size must be at least {least}x{least}; Received: input_shape={shape}")
        return shape

    def model(self, x, origin, pool_name="avg_pool", head=None, tail=None):
        """The model of what was drawn: with the network's own head, or pooled as asked for, or as it is, then with `tail`."""
        layers = keras.layers
        if self.include_top and head is not None:
            x = head(x)
        elif self.include_top:
            x = self.predictions(layers.GlobalAveragePooling2D(name=pool_name)(x))
        elif self.pooling in ("avg", "max"):
            named = self.kind.startswith(("densenet", "efficientnet", "mobilenet_v3", "resnet"))
            pool = layers.GlobalAveragePooling2D if self.pooling == "avg" else layers.GlobalMaxPooling2D
            x = pool(name=f"{self.pooling}_pool" if named else None)(x)
        if tail is not None and not self.include_top:
            x = tail(x)
        inputs = self.start if not hasattr(self.start, "_keras_history") else _sources(self.start)
        model = keras.Model(inputs, x, name=self.name)
        if self.weights == "imagenet":
            model.load_weights(keras.utils.get_file(os.path.basename(origin), origin, cache_subdir="models"))
        elif self.weights is not None:
            model.load_weights(self.weights)
        return model

    def predictions(self, x):
        return keras.layers.Dense(self.classes, activation=self.activation, name="predictions")(x)


def _sources(tensor):
    """The inputs that a tensor of a functional model was computed from."""
    operation = tensor._keras_history.operation
    if isinstance(operation, keras.layers.InputLayer):
        return tensor
    inputs = []
    for source in operation._inbound_nodes[tensor._keras_history.node_index].inputs:
        inputs += [s for s in _as_list(_sources(source)) if not any(s is known for known in inputs)]
    return inputs[0] if len(inputs) == 1 else inputs


def _as_list(value):
    return value if isinstance(value, list) else [value]


def conv(filters, size, strides=1, padding="valid", name=None, **more):
    return keras.layers.Conv2D(filters, size, strides=strides, padding=padding, name=name, **more)


def norm(name, **more):
    return keras.layers.BatchNormalization(name=name, **more)


def relu(name):
    return keras.layers.Activation("relu", name=name)


def pad(size, name):
    return keras.layers.ZeroPadding2D(size, name=name)


def same_padding(x, kernel):
    """Margins so that a step of two with valid padding begins where TensorFlow's networks do."""
    adjust = [1 - size % 2 if size is not None else 1 for size in tuple(x.shape)[1:3]]
    half = kernel // 2
    return ((half - adjust[0], half), (half - adjust[1], half))
