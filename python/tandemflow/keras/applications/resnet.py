"""keras.applications.resnet: He, Zhang, Ren and Sun, 2015."""
from ... import keras
from . import imagenet_utils
from ._network import PLACE, Network, conv, norm, pad, relu
from .imagenet_utils import decode_predictions  # noqa: F401

_EPSILON = 1.001e-5


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
        around = norm(name + "_0_bn", epsilon=_EPSILON)(around)
    y = relu(name + "_1_relu")(norm(name + "_1_bn", epsilon=_EPSILON)(y))
    y = conv(filters, 3, padding="same", name=name + "_2_conv")(y)
    y = relu(name + "_2_relu")(norm(name + "_2_bn", epsilon=_EPSILON)(y))
    y = conv(4 * filters, 1, name=name + "_3_conv")(y)
    y = norm(name + "_3_bn", epsilon=_EPSILON)(y)
    y = keras.layers.Add(name=name + "_add")([around, y])
    return relu(name + "_out")(y)


def _resnet(kind, counts, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name):
    net = Network(kind, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name, 224, 32)
    x = conv(64, 7, 2, name="conv1_conv")(pad(3, "conv1_pad")(net.start))
    x = relu("conv1_relu")(norm("conv1_bn", epsilon=_EPSILON)(x))
    x = keras.layers.MaxPooling2D(3, strides=2, name="pool1_pool")(pad(1, "pool1_pad")(x))
    for stack, (count, filters) in enumerate(zip(counts, (64, 128, 256, 512)), 2):
        for i in range(1, count + 1):
            x = _block(x, filters, 2 if stack > 2 and i == 1 else 1, i == 1, f"conv{stack}_block{i}")
    ending = "" if include_top else "_notop"
    return net.model(x, f"{PLACE}resnet/{kind}_weights_tf_dim_ordering_tf_kernels{ending}.h5")


def ResNet50(include_top=True, weights="imagenet", input_tensor=None, input_shape=None, pooling=None, classes=1000,
             classifier_activation="softmax", name="resnet50"):  # fmt: skip
    """The residual network of 50 layers."""
    return _resnet("resnet50", (3, 4, 6, 3), include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name)


def ResNet101(include_top=True, weights="imagenet", input_tensor=None, input_shape=None, pooling=None, classes=1000,
              classifier_activation="softmax", name="resnet101"):  # fmt: skip
    """The residual network of 101 layers."""
    return _resnet("resnet101", (3, 4, 23, 3), include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name)


def ResNet152(include_top=True, weights="imagenet", input_tensor=None, input_shape=None, pooling=None, classes=1000,
              classifier_activation="softmax", name="resnet152"):  # fmt: skip
    """The residual network of 152 layers."""
    return _resnet("resnet152", (3, 8, 36, 3), include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name)
