"""keras.applications.mobilenet_v2: inverted residual blocks; Sandler and others, 2018."""
from ... import keras
from . import imagenet_utils
from ._network import PLACE, Network, conv, norm, same_padding
from .imagenet_utils import decode_predictions  # noqa: F401

# (filters, how many blocks, the step of the first); every block but the very first widens by six.
_STAGES = [(16, 1, 1), (24, 2, 2), (32, 3, 2), (64, 4, 2), (96, 3, 1), (160, 3, 2), (320, 1, 1)]
_NORM = {"epsilon": 1e-3, "momentum": 0.999}


def preprocess_input(x, data_format=None):
    """Pictures of 0 to 255 as this network expects them: from -1 to 1."""
    return imagenet_utils.preprocess_input(x, data_format, "tf")


def eighths(value):
    """Numbers of filters are multiples of eight, no more than a tenth below what was meant."""
    rounded = max(8, int(value + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * value else rounded


def _block(x, filters, strides, widen, number):
    layers = keras.layers
    name = f"block_{number}_" if number else "expanded_conv_"
    channels, start = x.shape[-1], x
    if number:
        x = conv(widen * channels, 1, padding="same", use_bias=False, name=name + "expand")(x)
        x = layers.ReLU(6.0, name=name + "expand_relu")(norm(name + "expand_BN", **_NORM)(x))
    if strides == 2:
        x = layers.ZeroPadding2D(same_padding(x, 3), name=name + "pad")(x)
    x = layers.DepthwiseConv2D(3, strides, "same" if strides == 1 else "valid", use_bias=False, name=name + "depthwise")(x)
    x = layers.ReLU(6.0, name=name + "depthwise_relu")(norm(name + "depthwise_BN", **_NORM)(x))
    x = conv(filters, 1, padding="same", use_bias=False, name=name + "project")(x)
    x = norm(name + "project_BN", **_NORM)(x)
    return layers.Add(name=name + "add")([start, x]) if channels == filters and strides == 1 else x


def MobileNetV2(input_shape=None, alpha=1.0, include_top=True, weights="imagenet", input_tensor=None, pooling=None, classes=1000,
                classifier_activation="softmax", name=None):  # fmt: skip
    """MobileNetV2 of the width alpha."""
    size = 224
    if input_shape is not None and input_shape[0] == input_shape[1] and input_shape[0] in (96, 128, 160, 192):
        size = input_shape[0]
    rows = (input_shape or (size,))[0] if weights != "imagenet" else size
    name = name or f"mobilenetv2_{alpha:0.2f}_{rows}"
    net = Network("mobilenet_v2", include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name, size, 32)
    layers = keras.layers
    x = conv(eighths(32 * alpha), 3, 2, padding="same", use_bias=False, name="Conv1")(net.start)
    x = layers.ReLU(6.0, name="Conv1_relu")(norm("bn_Conv1", **_NORM)(x))
    number = 0
    for filters, count, first in _STAGES:
        for i in range(count):
            x = _block(x, eighths(int(filters * alpha)), first if i == 0 else 1, 6, number)
            number += 1
    last = eighths(1280 * alpha) if alpha > 1.0 else 1280
    x = conv(last, 1, use_bias=False, name="Conv_1")(x)
    x = layers.ReLU(6.0, name="out_relu")(norm("Conv_1_bn", **_NORM)(x))
    ending = "" if include_top else "_no_top"
    return net.model(x, f"{PLACE}mobilenet_v2/mobilenet_v2_weights_tf_dim_ordering_tf_kernels_{float(alpha)}_{size}{ending}.h5", pool_name=None)
