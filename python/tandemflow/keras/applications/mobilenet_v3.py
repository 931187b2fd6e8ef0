"""keras.applications.mobilenet_v3: searched blocks with squeezed channels; Howard and others, 2019."""
from ... import keras
from ._network import PLACE, Network, conv, norm, same_padding
from .imagenet_utils import decode_predictions  # noqa: F401
from .mobilenet_v2 import eighths

# (how much a block widens, filters, kernel: None for the network's own, step, squeezed, activation: None for the network's own).
_SMALL = [
    (1, 16, 3, 2, True, "relu"), (72 / 16, 24, 3, 2, False, "relu"), (88 / 24, 24, 3, 1, False, "relu"), (4, 40, None, 2, True, None),
    (6, 40, None, 1, True, None), (6, 40, None, 1, True, None), (3, 48, None, 1, True, None), (3, 48, None, 1, True, None),
    (6, 96, None, 2, True, None), (6, 96, None, 1, True, None), (6, 96, None, 1, True, None),
]  # fmt: skip
_LARGE = [
    (1, 16, 3, 1, False, "relu"), (4, 24, 3, 2, False, "relu"), (3, 24, 3, 1, False, "relu"), (3, 40, None, 2, True, "relu"),
    (3, 40, None, 1, True, "relu"), (3, 40, None, 1, True, "relu"), (6, 80, 3, 2, False, None), (2.5, 80, 3, 1, False, None),
    (2.3, 80, 3, 1, False, None), (2.3, 80, 3, 1, False, None), (6, 112, 3, 1, True, None), (6, 112, 3, 1, True, None),
    (6, 160, None, 2, True, None), (6, 160, None, 1, True, None), (6, 160, None, 1, True, None),
]  # fmt: skip
_NORM = {"epsilon": 1e-3, "momentum": 0.999}


def preprocess_input(x, data_format=None):
    """The pictures as they are: the network itself takes 0 to 255."""
    return x


def _activate(x, kind):
    return keras.layers.ReLU()(x) if kind == "relu" else keras.layers.Activation("hard_swish")(x)


def _squeezed(x, filters, prefix):
    layers, name = keras.layers, prefix + "squeeze_excite_"
    y = layers.GlobalAveragePooling2D(keepdims=True, name=name + "avg_pool")(x)
    y = conv(eighths(filters / 4), 1, padding="same", name=name + "conv")(y)
    y = conv(filters, 1, padding="same", name=name + "conv_1")(layers.ReLU(name=name + "relu")(y))
    y = layers.ReLU(6.0)(y + 3.0) * (1.0 / 6.0)
    return layers.Multiply(name=name + "mul")([x, y])


def _block(x, widen, filters, kernel, strides, squeezed, kind, number):
    layers, start, channels = keras.layers, x, x.shape[-1]
    prefix = f"expanded_conv_{number}_" if number else "expanded_conv_"
    if number:
        x = conv(eighths(channels * widen), 1, padding="same", use_bias=False, name=prefix + "expand")(x)
        x = _activate(norm(prefix + "expand_bn", **_NORM)(x), kind)
    if strides == 2:
        x = layers.ZeroPadding2D(same_padding(x, kernel), name=prefix + "depthwise_pad")(x)
    x = layers.DepthwiseConv2D(kernel, strides, "same" if strides == 1 else "valid", use_bias=False, name=prefix + "depthwise")(x)
    x = _activate(norm(prefix + "depthwise_bn", **_NORM)(x), kind)
    if squeezed:
        x = _squeezed(x, eighths(channels * widen), prefix)
    x = conv(filters, 1, padding="same", use_bias=False, name=prefix + "project")(x)
    x = norm(prefix + "project_bn", **_NORM)(x)
    return layers.Add(name=prefix + "add")([start, x]) if strides == 1 and channels == filters else x


class _Head:
    """Convolutions of one pixel instead of dense layers."""

    def __init__(self, channels, kind, dropout, net):
        self.channels, self.kind, self.dropout, self.net = channels, kind, dropout, net

    def __call__(self, x):
        layers = keras.layers
        x = conv(self.channels, 1, padding="same", name="conv_2")(layers.GlobalAveragePooling2D(keepdims=True)(x))
        x = _activate(x, self.kind)
        if self.dropout > 0:
            x = layers.Dropout(self.dropout)(x)
        x = layers.Flatten()(conv(self.net.classes, 1, padding="same", name="logits")(x))
        return layers.Activation(self.net.activation, name="predictions")(x)


def _mobilenet(size, blocks, last, input_shape, alpha, minimalistic, include_top, weights, input_tensor, classes, pooling, dropout_rate,
               classifier_activation, include_preprocessing, name):  # fmt: skip
    if input_shape is None and input_tensor is None:
        input_shape = (None, None, 3)
    net = Network("mobilenet_v3", include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name, 224, 32)
    own, kind = (3, "relu") if minimalistic else (5, "hard_swish")
    x = keras.layers.Rescaling(1.0 / 127.5, offset=-1.0)(net.start) if include_preprocessing else net.start
    x = _activate(norm("conv_bn", **_NORM)(conv(16, 3, 2, padding="same", use_bias=False, name="conv")(x)), kind)
    for number, (widen, filters, kernel, strides, squeezed, activation) in enumerate(blocks):
        x = _block(x, widen, eighths(filters * alpha), kernel or own, strides, squeezed and not minimalistic, activation or kind, number)
    x = norm("conv_1_bn", **_NORM)(conv(eighths(x.shape[-1] * 6), 1, padding="same", use_bias=False, name="conv_1")(x))
    head = _Head(eighths(last * alpha) if alpha > 1.0 else last, kind, dropout_rate, net)
    ending = "" if include_top else "_no_top"
    variant = f"{'minimalistic_' if minimalistic else ''}{float(alpha)}"
    return net.model(_activate(x, kind), f"{PLACE}mobilenet_v3/weights_mobilenet_v3_{size}_224_{variant}_float{ending}_v2.h5", head=head)


def MobileNetV3Small(input_shape=None, alpha=1.0, minimalistic=False, include_top=True, weights="imagenet", input_tensor=None,
                     classes=1000, pooling=None, dropout_rate=0.2, classifier_activation="softmax", include_preprocessing=True,
                     name="MobileNetV3Small"):  # fmt: skip
    """The smaller MobileNetV3 of the width alpha."""
    return _mobilenet("small", _SMALL, 1024, input_shape, alpha, minimalistic, include_top, weights, input_tensor, classes, pooling,
                      dropout_rate, classifier_activation, include_preprocessing, name)  # fmt: skip


def MobileNetV3Large(input_shape=None, alpha=1.0, minimalistic=False, include_top=True, weights="imagenet", input_tensor=None,
                     classes=1000, pooling=None, dropout_rate=0.2, classifier_activation="softmax", include_preprocessing=True,
                     name="MobileNetV3Large"):  # fmt: skip
    """The larger MobileNetV3 of the width alpha."""
    return _mobilenet("large", _LARGE, 1280, input_shape, alpha, minimalistic, include_top, weights, input_tensor, classes, pooling,
                      dropout_rate, classifier_activation, include_preprocessing, name)  # fmt: skip
