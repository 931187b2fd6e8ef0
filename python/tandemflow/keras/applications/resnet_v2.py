"""keras.applications.resnet_v2: normalization before each convolution; He, Zhang, Ren and Sun, 2016."""
from ... import keras
from . import imagenet_utils
from ._network import conv, norm, pad, relu
from ._resnet import EPSILON, resnet
from .imagenet_utils import decode_predictions  # noqa: F401


def preprocess_input(x, data_format=None):
    """Pictures of 0 to 255 as this network expects them: from -1 to 1."""
    return imagenet_utils.preprocess_input(x, data_format, "tf")


def _block(x, filters, strides, project, name):
    before = relu(name + "_preact_relu")(norm(name + "_preact_bn", epsilon=EPSILON)(x))
    if project:
        around = conv(4 * filters, 1, strides, name=name + "_0_conv")(before)
    else:
        around = keras.layers.MaxPooling2D(1, strides=strides)(x) if strides > 1 else x
    y = conv(filters, 1, use_bias=False, name=name + "_1_conv")(before)
    y = relu(name + "_1_relu")(norm(name + "_1_bn", epsilon=EPSILON)(y))
    y = conv(filters, 3, strides, use_bias=False, name=name + "_2_conv")(pad(1, name + "_2_pad")(y))
    y = relu(name + "_2_relu")(norm(name + "_2_bn", epsilon=EPSILON)(y))
    y = conv(4 * filters, 1, name=name + "_3_conv")(y)
    return keras.layers.Add(name=name + "_out")([around, y])


def ResNet50V2(include_top=True, weights="imagenet", input_tensor=None, input_shape=None, pooling=None, classes=1000,
               classifier_activation="softmax", name="resnet50v2"):  # fmt: skip
    """The second residual network, of 50 layers."""
    return resnet("resnet50v2", (3, 4, 6, 3), _block, True, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name)


def ResNet101V2(include_top=True, weights="imagenet", input_tensor=None, input_shape=None, pooling=None, classes=1000,
                classifier_activation="softmax", name="resnet101v2"):  # fmt: skip
    """The second residual network, of 101 layers."""
    return resnet("resnet101v2", (3, 4, 23, 3), _block, True, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name)


def ResNet152V2(include_top=True, weights="imagenet", input_tensor=None, input_shape=None, pooling=None, classes=1000,
                classifier_activation="softmax", name="resnet152v2"):  # fmt: skip
    """The second residual network, of 152 layers."""
    return resnet("resnet152v2", (3, 8, 36, 3), _block, True, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name)
