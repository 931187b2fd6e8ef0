"""keras.applications.densenet: every layer reads all before it; Huang and others, 2017."""
from ... import keras
from . import imagenet_utils
from ._network import PLACE, Network, conv, norm, relu
from .imagenet_utils import decode_predictions  # noqa: F401

_GROWTH = 32  # channels that a layer adds


def preprocess_input(x, data_format=None):
    """Pictures of 0 to 255 as this network expects them: from 0 to 1, then by the mean and deviation of ImageNet."""
    return imagenet_utils.preprocess_input(x, data_format, "torch")


def _activated(x, name, bn="bn"):
    return relu(f"{name}relu")(norm(f"{name}{bn}", epsilon=1.001e-5)(x))


def _layer(x, name):
    y = conv(4 * _GROWTH, 1, use_bias=False, name=f"{name}_1_conv")(_activated(x, f"{name}_0_"))
    y = conv(_GROWTH, 3, padding="same", use_bias=False, name=f"{name}_2_conv")(_activated(y, f"{name}_1_"))
    return keras.layers.Concatenate(name=f"{name}_concat")([x, y])


def _halved(x, name):
    """Between stages: half the channels, half the size."""
    x = conv(x.shape[-1] // 2, 1, use_bias=False, name=f"{name}_conv")(_activated(x, f"{name}_"))
    return keras.layers.AveragePooling2D(2, strides=2, name=f"{name}_pool")(x)


def _densenet(depth, stages, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name):
    net = Network(name, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name, 224, 32)
    layers = keras.layers
    x = conv(64, 7, 2, use_bias=False, name="conv1_conv")(layers.ZeroPadding2D(3)(net.start))
    x = layers.MaxPooling2D(3, strides=2, name="pool1")(layers.ZeroPadding2D(1)(_activated(x, "conv1_")))
    for stage, count in enumerate(stages, 2):
        for i in range(count):
            x = _layer(x, f"conv{stage}_block{i + 1}")
        if stage <= len(stages):
            x = _halved(x, f"pool{stage}")
    ending = "" if include_top else "_notop"
    return net.model(_activated(x, ""), f"{PLACE}densenet/densenet{depth}_weights_tf_dim_ordering_tf_kernels{ending}.h5")


def _made(depth, *stages):
    def build(include_top=True, weights="imagenet", input_tensor=None, input_shape=None, pooling=None, classes=1000,
              classifier_activation="softmax", name=f"densenet{depth}"):  # fmt: skip
        return _densenet(depth, stages, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name)

    build.__name__ = build.__qualname__ = f"DenseNet{depth}"
    build.__doc__ = f"DenseNet of {depth} layers."
    return build


DenseNet121 = _made(121, 6, 12, 24, 16)
DenseNet169 = _made(169, 6, 12, 32, 32)
DenseNet201 = _made(201, 6, 12, 48, 32)
