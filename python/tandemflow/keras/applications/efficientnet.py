"""keras.applications.efficientnet: one network in eight sizes; Tan and Le, 2019."""
import math

from ... import keras
from ._network import Network, same_padding
from .imagenet_utils import decode_predictions  # noqa: F401

# Of each stage: kernel, blocks, filters, widening, step.
_STAGES = [(3, 1, 16, 1, 1), (3, 2, 24, 6, 2), (5, 2, 40, 6, 2), (3, 3, 80, 6, 2), (5, 3, 112, 6, 1), (5, 4, 192, 6, 2), (3, 1, 320, 6, 1)]
# Width, depth, size of pictures, dropout.
_SIZES = [
    (1.0, 1.0, 224, 0.2), (1.0, 1.1, 240, 0.2), (1.1, 1.2, 260, 0.3), (1.2, 1.4, 300, 0.3),
    (1.4, 1.8, 380, 0.4), (1.6, 2.2, 456, 0.4), (1.8, 2.6, 528, 0.5), (2.0, 3.1, 600, 0.5),
]  # fmt: skip
_CONV = {"class_name": "VarianceScaling", "config": {"scale": 2.0, "mode": "fan_out", "distribution": "truncated_normal"}}
_DENSE = {"class_name": "VarianceScaling", "config": {"scale": 1.0 / 3.0, "mode": "fan_out", "distribution": "uniform"}}
_DEVIATION = [0.229, 0.224, 0.225]
_DROP_CONNECT = 0.2


def preprocess_input(x, data_format=None):
    """x as it is: this network begins with a layer that does what is needed to pictures of 0 to 255."""
    return x


def _eighths(filters):
    rounded = max(8, int(filters + 4) // 8 * 8)
    return int(rounded + 8 if rounded < 0.9 * filters else rounded)


def _conv(filters, size, name, strides=1, padding="same", **more):
    return keras.layers.Conv2D(filters, size, strides=strides, padding=padding, use_bias=False, kernel_initializer=_CONV, name=name, **more)


def _normed(x, name, bn="bn", activation=True):
    x = keras.layers.BatchNormalization(name=f"{name}{bn}")(x)
    return keras.layers.Activation("swish", name=f"{name}activation")(x) if activation else x


def _squeeze(x, filters, inner, name):
    """Weighs the channels by what all of the picture says."""
    layers = keras.layers
    se = layers.Reshape((1, 1, filters), name=name + "se_reshape")(layers.GlobalAveragePooling2D(name=name + "se_squeeze")(x))
    se = layers.Conv2D(inner, 1, padding="same", activation="swish", kernel_initializer=_CONV, name=name + "se_reduce")(se)
    se = layers.Conv2D(filters, 1, padding="same", activation="sigmoid", kernel_initializer=_CONV, name=name + "se_expand")(se)
    return layers.multiply([x, se], name=name + "se_excite")


def _block(x, kernel, filters, widen, strides, drop, name):
    layers, start, channels = keras.layers, x, x.shape[-1]
    wide = channels * widen
    if widen != 1:
        x = _conv(wide, 1, name + "expand_conv")(x)
        x = layers.Activation("swish", name=name + "expand_activation")(layers.BatchNormalization(name=name + "expand_bn")(x))
    if strides == 2:
        x = layers.ZeroPadding2D(same_padding(x, kernel), name=name + "dwconv_pad")(x)
    padding = "valid" if strides == 2 else "same"
    x = layers.DepthwiseConv2D(kernel, strides, padding, use_bias=False, depthwise_initializer=_CONV, name=name + "dwconv")(x)
    x = _squeeze(_normed(x, name), wide, max(1, int(channels * 0.25)), name)
    x = layers.BatchNormalization(name=name + "project_bn")(_conv(filters, 1, name + "project_conv")(x))
    if strides == 1 and channels == filters:
        if drop > 0:
            x = layers.Dropout(drop, noise_shape=(None, 1, 1, 1), name=name + "drop")(x)
        x = layers.add([x, start], name=name + "add")
    return x


def _blocks(x, width, depth):
    total = sum(math.ceil(depth * count) for _, count, *_ in _STAGES)
    done = 0
    for stage, (kernel, count, filters, widen, strides) in enumerate(_STAGES, 1):
        for i in range(math.ceil(depth * count)):
            name = f"block{stage}{chr(ord('a') + i)}_"
            x = _block(x, kernel, _eighths(filters * width), widen, strides if i == 0 else 1, _DROP_CONNECT * done / total, name)
            done += 1
    return x


def _efficientnet(number, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name):
    width, depth, size, dropout = _SIZES[number]
    kind = f"efficientnetb{number}"
    net = Network(kind, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name, size, 32)
    layers = keras.layers
    x = layers.Normalization(axis=3)(layers.Rescaling(1.0 / 255.0)(net.start))
    if weights == "imagenet":  # the deviations of ImageNet, which the files were trained with in place of their squares
        x = layers.Rescaling([1.0 / math.sqrt(deviation) for deviation in _DEVIATION])(x)
    x = layers.ZeroPadding2D(same_padding(x, 3), name="stem_conv_pad")(x)
    x = _normed(_conv(_eighths(32 * width), 3, "stem_conv", 2, "valid")(x), "stem_")
    x = _blocks(x, width, depth)
    x = _normed(_conv(_eighths(1280 * width), 1, "top_conv")(x), "top_")

    def head(x):
        x = layers.Dropout(dropout, name="top_dropout")(layers.GlobalAveragePooling2D(name="avg_pool")(x))
        return layers.Dense(classes, activation=classifier_activation, kernel_initializer=_DENSE, name="predictions")(x)

    ending = "" if include_top else "_notop"
    return net.model(x, f"https://storage.googleapis.com/keras-applications/{kind}{ending}.h5", head=head)


def _size(number):
    def build(include_top=True, weights="imagenet", input_tensor=None, input_shape=None, pooling=None, classes=1000,
              classifier_activation="softmax", name=f"efficientnetb{number}"):  # fmt: skip
        return _efficientnet(number, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name)

    build.__name__ = build.__qualname__ = f"EfficientNetB{number}"
    build.__doc__ = f"EfficientNet in its size {number} of 0 to 7."
    return build


EfficientNetB0, EfficientNetB1, EfficientNetB2, EfficientNetB3 = map(_size, range(4))
EfficientNetB4, EfficientNetB5, EfficientNetB6, EfficientNetB7 = map(_size, range(4, 8))
