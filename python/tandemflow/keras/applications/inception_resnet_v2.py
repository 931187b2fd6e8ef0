"""keras.applications.inception_resnet_v2: Inception's branches around a shortcut; Szegedy et al., 2016."""
from ... import keras
from ._network import PLACE, Network
from .imagenet_utils import decode_predictions  # noqa: F401
from .inception_v3 import preprocess_input  # noqa: F401

# Of each kind of block: its branches, each a list of filters and kernels.
_BLOCKS = {
    "block35": [[(32, 1)], [(32, 1), (32, 3)], [(32, 1), (48, 3), (64, 3)]],
    "block17": [[(192, 1)], [(128, 1), (160, (1, 7)), (192, (7, 1))]],
    "block8": [[(192, 1)], [(192, 1), (224, (1, 3)), (256, (3, 1))]],
}


class CustomScaleLayer(keras.layers.Layer):
    """The first input, and the second made smaller."""

    _keras_module = "keras.src.applications.inception_resnet_v2"

    def __init__(self, scale, **kwargs):
        super().__init__(**kwargs)
        self.scale = scale

    def get_config(self):
        return {**super().get_config(), "scale": self.scale}

    def call(self, inputs):
        return inputs[0] + inputs[1] * self.scale


def _conv(x, filters, size, strides=1, padding="same", name=None):
    layers = keras.layers
    x = layers.Conv2D(filters, size, strides=strides, padding=padding, use_bias=False, name=name)(x)
    x = layers.BatchNormalization(scale=False, name=None if name is None else f"{name}_bn")(x)
    return layers.Activation("relu", name=None if name is None else f"{name}_ac")(x)


def _branch(x, steps):
    """Convolutions one after the other: (filters, kernel), or with a third item a step of two."""
    for filters, size, *half in steps:
        x = _conv(x, filters, size, 2, "valid") if half else _conv(x, filters, size)
    return x


def _block(x, kind, number, scale, activation=True):
    layers, name = keras.layers, f"{kind}_{number}"
    mixed = layers.Concatenate(name=f"{name}_mixed")([_branch(x, steps) for steps in _BLOCKS[kind]])
    up = layers.Conv2D(x.shape[-1], 1, padding="same", name=f"{name}_conv")(mixed)
    x = CustomScaleLayer(scale)([x, up])
    return layers.Activation("relu", name=f"{name}_ac")(x) if activation else x


def _mixed(x, branches, pool, name):
    layers = keras.layers
    outputs = [_branch(x, steps) for steps in branches]
    return layers.Concatenate(name=name)([*outputs, pool(x)])


def InceptionResNetV2(include_top=True, weights="imagenet", input_tensor=None, input_shape=None, pooling=None, classes=1000,
                      classifier_activation="softmax", name="inception_resnet_v2"):  # noqa: N802  # fmt: skip
    """Inception-ResNet of the second kind: 164 layers with weights in one line."""
    kind = "inception_resnet_v2"
    net = Network(kind, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name, 299, 75)
    layers = keras.layers
    x = _conv(_conv(_conv(net.start, 32, 3, 2, "valid"), 32, 3, padding="valid"), 64, 3)
    x = _conv(layers.MaxPooling2D(3, strides=2)(x), 80, 1, padding="valid")
    x = layers.MaxPooling2D(3, strides=2)(_conv(x, 192, 3, padding="valid"))
    pooled = lambda x: _conv(layers.AveragePooling2D(3, strides=1, padding="same")(x), 64, 1)  # noqa: E731
    halved = lambda x: layers.MaxPooling2D(3, strides=2, padding="valid")(x)  # noqa: E731
    x = _mixed(x, [[(96, 1)], [(48, 1), (64, 5)], [(64, 1), (96, 3), (96, 3)]], pooled, "mixed_5b")
    for i in range(1, 11):
        x = _block(x, "block35", i, 0.17)
    x = _mixed(x, [[(384, 3, 2)], [(256, 1), (256, 3), (384, 3, 2)]], halved, "mixed_6a")
    for i in range(1, 21):
        x = _block(x, "block17", i, 0.1)
    x = _mixed(x, [[(256, 1), (384, 3, 2)], [(256, 1), (288, 3, 2)], [(256, 1), (288, 3), (320, 3, 2)]], halved, "mixed_7a")
    for i in range(1, 10):
        x = _block(x, "block8", i, 0.2)
    x = _conv(_block(x, "block8", 10, 1.0, activation=False), 1536, 1, name="conv_7b")
    return net.model(x, f"{PLACE}{kind}/{kind}_weights_tf_dim_ordering_tf_kernels{'' if include_top else '_notop'}.h5")
