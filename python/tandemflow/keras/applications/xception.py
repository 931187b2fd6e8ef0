"""keras.applications.xception: separable convolutions with ways around them; Chollet, 2017."""
from ... import keras
from . import imagenet_utils
from ._network import PLACE, Network, conv, norm, relu
from .imagenet_utils import decode_predictions  # noqa: F401


def preprocess_input(x, data_format=None):
    """Pictures of 0 to 255 as this network expects them: from -1 to 1."""
    return imagenet_utils.preprocess_input(x, data_format, "tf")


def _separable(x, filters, name, act_before=True):
    if act_before:
        x = relu(name + "_act")(x)
    x = keras.layers.SeparableConv2D(filters, 3, padding="same", use_bias=False, name=name)(x)
    x = norm(name + "_bn")(x)
    return x if act_before else relu(name + "_act")(x)


def _narrowing(x, filters, block):
    """Two separable convolutions and a pool of step two, beside a convolution of step two."""
    around = conv(filters[-1], 1, 2, padding="same", use_bias=False)(x)
    around = keras.layers.BatchNormalization()(around)
    for i, count in enumerate(filters, 1):
        if block == 2 and i == 1:  # what comes in went through relu already
            x = keras.layers.SeparableConv2D(count, 3, padding="same", use_bias=False, name="block2_sepconv1")(x)
            x = norm("block2_sepconv1_bn")(x)
        else:
            x = _separable(x, count, f"block{block}_sepconv{i}")
    x = keras.layers.MaxPooling2D(3, strides=2, padding="same", name=f"block{block}_pool")(x)
    return keras.layers.add([x, around])


def Xception(include_top=True, weights="imagenet", input_tensor=None, input_shape=None, pooling=None, classes=1000,
             classifier_activation="softmax", name="xception"):  # fmt: skip
    """Xception."""
    net = Network("xception", include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name, 299, 71)
    x = net.start
    for i, (filters, strides) in enumerate([(32, 2), (64, 1)], 1):
        x = conv(filters, 3, strides, use_bias=False, name=f"block1_conv{i}")(x)
        x = relu(f"block1_conv{i}_act")(norm(f"block1_conv{i}_bn")(x))
    for block, filters in enumerate([128, 256, 728], 2):
        x = _narrowing(x, (filters, filters), block)
    for block in range(5, 13):
        around = x
        for i in range(1, 4):
            x = _separable(x, 728, f"block{block}_sepconv{i}")
        x = keras.layers.add([x, around])
    x = _narrowing(x, (728, 1024), 13)
    for i, filters in enumerate([1536, 2048], 1):
        x = _separable(x, filters, f"block14_sepconv{i}", act_before=False)
    ending = "" if include_top else "_notop"
    return net.model(x, f"{PLACE}xception/xception_weights_tf_dim_ordering_tf_kernels{ending}.h5")
