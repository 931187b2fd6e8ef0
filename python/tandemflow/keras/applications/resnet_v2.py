"""keras.applications.resnet_v2: normalization before each convolution; He, Zhang, Ren and Sun, 2016."""
from ... import keras
from . import imagenet_utils
from ._network import PLACE, Network, conv, norm, pad, relu
from .imagenet_utils import decode_predictions  # noqa: F401

_EPSILON = 1.001e-5


def preprocess_input(x, data_format=None):
    """Pictures of 0 to 255 as this network expects them: from -1 to 1."""
    return imagenet_utils.preprocess_input(x, data_format, "tf")


def _block(x, filters, strides, project, name):
    before = relu(name + "_preact_relu")(norm(name + "_preact_bn", epsilon=_EPSILON)(x))
    if project:
        around = conv(4 * filters, 1, strides, name=name + "_0_conv")(before)
    else:
        around = keras.layers.MaxPooling2D(1, strides=strides)(x) if strides > 1 else x
    y = conv(filters, 1, use_bias=False, name=name + "_1_conv")(before)
    y = relu(name + "_1_relu")(norm(name + "_1_bn", epsilon=_EPSILON)(y))
    y = conv(filters, 3, strides, use_bias=False, name=name + "_2_conv")(pad(1, name + "_2_pad")(y))
    y = relu(name + "_2_relu")(norm(name + "_2_bn", epsilon=_EPSILON)(y))
    y = conv(4 * filters, 1, name=name + "_3_conv")(y)
    return keras.layers.Add(name=name + "_out")([around, y])


def _resnet(kind, counts, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name):
    net = Network(kind, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name, 224, 32)
    x = conv(64, 7, 2, name="conv1_conv")(pad(3, "conv1_pad")(net.start))
    x = keras.layers.MaxPooling2D(3, strides=2, name="pool1_pool")(pad(1, "pool1_pad")(x))
    for stack, (count, filters) in enumerate(zip(counts, (64, 128, 256, 512)), 2):
        for i in range(1, count + 1):
            x = _block(x, filters, 2 if stack < 5 and i == count else 1, i == 1, f"conv{stack}_block{i}")
    x = relu("post_relu")(norm("post_bn", epsilon=_EPSILON)(x))
    ending = "" if include_top else "_notop"
    return net.model(x, f"{PLACE}resnet/{kind}_weights_tf_dim_ordering_tf_kernels{ending}.h5")


def ResNet50V2(include_top=True, weights="imagenet", input_tensor=None, input_shape=None, pooling=None, classes=1000,
               classifier_activation="softmax", name="resnet50v2"):  # fmt: skip
    """The second residual network, of 50 layers."""
    return _resnet("resnet50v2", (3, 4, 6, 3), include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name)


def ResNet101V2(include_top=True, weights="imagenet", input_tensor=None, input_shape=None, pooling=None, classes=1000,
                classifier_activation="softmax", name="resnet101v2"):  # fmt: skip
    """The second residual network, of 101 layers."""
    return _resnet("resnet101v2", (3, 4, 23, 3), include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name)


def ResNet152V2(include_top=True, weights="imagenet", input_tensor=None, input_shape=None, pooling=None, classes=1000,
                classifier_activation="softmax", name="resnet152v2"):  # fmt: skip
    """The second residual network, of 152 layers."""
    return _resnet("resnet152v2", (3, 8, 36, 3), include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name)
