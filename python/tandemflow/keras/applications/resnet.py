"""keras.applications.resnet: He, Zhang, Ren and Sun, 2015."""
from ... import keras
from . import imagenet_utils
from ._network import conv, norm, relu
from ._resnet import EPSILON, resnet
from .imagenet_utils import decode_predictions  # noqa: F401


def preprocess_input(x, data_format=None):
    """Pictures of 0 to 255 as this network expects them: blue, green, red, less ImageNet's mean."""
    return imagenet_utils.preprocess_input(x, data_format, "caffe")


def _block(x, filters, strides, project, name):
    """One by one, three by three, one by one, beside a way that is projected at the beginning of a stack."""
    around = x
    if project:
        around = conv(4 * filters, 1, strides, name=name + "_0_conv")(x)
    y = conv(filters, 1, strides, name=name + "_1_conv")(x)
    if project:  # Keras makes the layers in this order, and files of weights have it
        around = norm(name + "_0_bn", epsilon=EPSILON)(around)
    y = relu(name + "_1_relu")(norm(name + "_1_bn", epsilon=EPSILON)(y))
    y = conv(filters, 3, padding="same", name=name + "_2_conv")(y)
    y = relu(name + "_2_relu")(norm(name + "_2_bn", epsilon=EPSILON)(y))
    y = conv(4 * filters, 1, name=name + "_3_conv")(y)
    y = norm(name + "_3_bn", epsilon=EPSILON)(y)
    y = keras.layers.Add(name=name + "_add")([around, y])
    return relu(name + "_out")(y)


def ResNet50(include_top=True, weights="imagenet", input_tensor=None, input_shape=None, pooling=None, classes=1000,
             classifier_activation="softmax", name="resnet50"):  # fmt: skip
    """The residual network of 50 layers."""
    return resnet("resnet50", (3, 4, 6, 3), _block, False, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name)


def ResNet101(include_top=True, weights="imagenet", input_tensor=None, input_shape=None, pooling=None, classes=1000,
              classifier_activation="softmax", name="resnet101"):  # fmt: skip
    """The residual network of 101 layers."""
    return resnet("resnet101", (3, 4, 23, 3), _block, False, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name)


def ResNet152(include_top=True, weights="imagenet", input_tensor=None, input_shape=None, pooling=None, classes=1000,
              classifier_activation="softmax", name="resnet152"):  # fmt: skip
    """The residual network of 152 layers."""
    return resnet("resnet152", (3, 8, 36, 3), _block, False, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name)
