"""keras.applications.efficientnet_v2: EfficientNet with whole convolutions in its first stages; Tan and Le, 2021."""
import math

from ... import keras
from ._network import PLACE, Network
from .efficientnet import _CONV, _DENSE, _squeeze
from .imagenet_utils import decode_predictions  # noqa: F401

# Of each stage: blocks, filters that come in and go out, widening, step; stages before the fourth are fused.
_STAGES = {
    "s": [(2, 24, 24, 1, 1), (4, 24, 48, 4, 2), (4, 48, 64, 4, 2), (6, 64, 128, 4, 2), (9, 128, 160, 6, 1), (15, 160, 256, 6, 2)],
    "m": [(3, 24, 24, 1, 1), (5, 24, 48, 4, 2), (5, 48, 80, 4, 2), (7, 80, 160, 4, 2), (14, 160, 176, 6, 1), (18, 176, 304, 6, 2), (5, 304, 512, 6, 1)],
    "l": [(4, 32, 32, 1, 1), (7, 32, 64, 4, 2), (7, 64, 96, 4, 2), (10, 96, 192, 4, 2), (19, 192, 224, 6, 1), (25, 224, 384, 6, 2), (7, 384, 640, 6, 1)],
    "b": [(1, 32, 16, 1, 1), (2, 16, 32, 4, 2), (2, 32, 48, 4, 2), (3, 48, 96, 4, 2), (5, 96, 112, 6, 1), (8, 112, 192, 6, 2)],
}  # fmt: skip
# Width, depth, size of pictures.
_SIZES = {
    "b0": (1.0, 1.0, 224), "b1": (1.0, 1.1, 240), "b2": (1.1, 1.2, 260), "b3": (1.2, 1.4, 300),
    "s": (1.0, 1.0, 384), "m": (1.0, 1.0, 480), "l": (1.0, 1.0, 480),
}  # fmt: skip
_DROP_CONNECT = 0.2


def preprocess_input(x, data_format=None):
    """x as it is: this network begins with layers that do what is needed to pictures of 0 to 255."""
    return x


def _eighths(filters):
    return max(8, int(filters + 4) // 8 * 8)


def _conv(x, filters, size, name, strides=1, bn=None, activation=None):
    x = keras.layers.Conv2D(filters, size, strides=strides, padding="same", use_bias=False, kernel_initializer=_CONV, name=name)(x)
    x = keras.layers.BatchNormalization(momentum=0.9, name=bn)(x)
    return keras.layers.Activation("swish", name=activation)(x) if activation else x


def _block(x, fused, filters, widen, strides, drop, name):
    layers, start, channels = keras.layers, x, x.shape[-1]
    if widen != 1:
        x = _conv(x, channels * widen, 3 if fused else 1, name + "expand_conv", strides if fused else 1, name + "expand_bn", name + "expand_activation")
    if not fused:
        x = layers.DepthwiseConv2D(3, strides, "same", use_bias=False, depthwise_initializer=_CONV, name=name + "dwconv2")(x)
        x = layers.Activation("swish", name=name + "activation")(layers.BatchNormalization(momentum=0.9, name=name + "bn")(x))
        x = _squeeze(x, channels * widen, max(1, int(channels * 0.25)), name)
    alone = fused and widen == 1  # the block is one convolution
    x = _conv(x, filters, 3 if alone else 1, name + "project_conv", strides if alone else 1, name + "project_bn", name + "project_activation" if alone else None)
    if strides == 1 and channels == filters:
        if drop > 0:
            x = layers.Dropout(drop, noise_shape=(None, 1, 1, 1), name=name + "drop")(x)
        x = layers.add([x, start], name=name + "add")
    return x


def _blocks(x, stages, width, depth):
    total, done = sum(count for count, *_ in stages), 0
    for stage, (count, _, filters, widen, strides) in enumerate(stages, 1):
        for i in range(math.ceil(depth * count)):
            name = f"block{stage}{chr(ord('a') + i)}_"
            x = _block(x, stage < 4, _eighths(filters * width), widen, strides if i == 0 else 1, _DROP_CONNECT * done / total, name)
            done += 1
    return x


def _prepared(x, kind):
    layers = keras.layers
    if not kind.startswith("b") or x.shape[-1] != 3:
        return layers.Rescaling(1.0 / 128.0, offset=-1)(x)
    return layers.Normalization(axis=3, mean=[0.485, 0.456, 0.406], variance=[0.229**2, 0.224**2, 0.225**2])(layers.Rescaling(1.0 / 255)(x))


def _size(kind):
    label = f"efficientnetv2-{kind}"

    def build(include_top=True, weights="imagenet", input_tensor=None, input_shape=None, pooling=None, classes=1000,
              classifier_activation="softmax", include_preprocessing=True, name=label):  # fmt: skip
        width, depth, size = _SIZES[kind]
        net = Network(label, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name, size, 32)
        stages, layers = _STAGES[kind[0]], keras.layers
        x = _prepared(net.start, kind) if include_preprocessing else net.start
        x = _conv(x, _eighths(stages[0][1] * width), 3, "stem_conv", 2, "stem_bn", "stem_activation")
        x = _blocks(x, stages, width, depth)
        x = _conv(x, _eighths(1280 * width), 1, "top_conv", 1, "top_bn", "top_activation")

        def head(x):
            x = layers.Dropout(0.2, name="top_dropout")(layers.GlobalAveragePooling2D(name="avg_pool")(x))
            return layers.Dense(classes, activation=classifier_activation, kernel_initializer=_DENSE, name="predictions")(x)

        return net.model(x, f"{PLACE}efficientnet_v2/{label}{'' if include_top else '_notop'}.h5", head=head)

    build.__name__ = build.__qualname__ = f"EfficientNetV2{kind.upper()}"
    build.__doc__ = f"EfficientNetV2 in its size {kind.upper()}."
    return build


EfficientNetV2B0, EfficientNetV2B1, EfficientNetV2B2, EfficientNetV2B3 = map(_size, ("b0", "b1", "b2", "b3"))
EfficientNetV2S, EfficientNetV2M, EfficientNetV2L = map(_size, "sml")
