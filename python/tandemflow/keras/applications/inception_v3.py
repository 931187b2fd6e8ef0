"""keras.applications.inception_v3: several sizes of convolution side by side; Szegedy and others, 2015."""
from ... import keras
from . import imagenet_utils
from ._network import PLACE, Network
from .imagenet_utils import decode_predictions  # noqa: F401


def preprocess_input(x, data_format=None):
    """Pictures of 0 to 255 as this network expects them: from -1 to 1."""
    return imagenet_utils.preprocess_input(x, data_format, "tf")


def _conv(x, filters, rows, columns, padding="same", strides=1):
    x = keras.layers.Conv2D(filters, (rows, columns), strides=strides, padding=padding, use_bias=False)(x)
    return keras.layers.Activation("relu")(keras.layers.BatchNormalization(scale=False)(x))


def _chain(x, *steps):
    """Convolutions one after another: (filters, rows, columns)."""
    for step in steps:
        x = _conv(x, *step)
    return x


def _pooled(x, filters):
    return _conv(keras.layers.AveragePooling2D(3, strides=1, padding="same")(x), filters, 1, 1)


def _join(parts, name):
    return keras.layers.concatenate(parts, axis=3, name=name)


def _fives(x, pool_filters, name):
    one = _conv(x, 64, 1, 1)
    five = _chain(x, (48, 1, 1), (64, 5, 5))
    three = _chain(x, (64, 1, 1), (96, 3, 3), (96, 3, 3))
    return _join([one, five, three, _pooled(x, pool_filters)], name)


def _sevens(x, width, name):
    one = _conv(x, 192, 1, 1)
    seven = _chain(x, (width, 1, 1), (width, 1, 7), (192, 7, 1))
    twice = _chain(x, (width, 1, 1), (width, 7, 1), (width, 1, 7), (width, 7, 1), (192, 1, 7))
    return _join([one, seven, twice, _pooled(x, 192)], name)


def _wide(x, i, name):
    one = _conv(x, 320, 1, 1)
    three = _conv(x, 384, 1, 1)
    three = _join([_conv(three, 384, 1, 3), _conv(three, 384, 3, 1)], f"mixed9_{i}")
    twice = _chain(x, (448, 1, 1), (384, 3, 3))
    twice = keras.layers.concatenate([_conv(twice, 384, 1, 3), _conv(twice, 384, 3, 1)], axis=3)
    return _join([one, three, twice, _pooled(x, 192)], name)


def InceptionV3(include_top=True, weights="imagenet", input_tensor=None, input_shape=None, pooling=None, classes=1000,
                classifier_activation="softmax", name="inception_v3"):  # fmt: skip
    """Inception, version 3."""
    net = Network("inception_v3", include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name, 299, 75)
    pool = lambda x: keras.layers.MaxPooling2D(3, strides=2)(x)  # noqa: E731
    x = _conv(net.start, 32, 3, 3, "valid", 2)
    x = pool(_conv(_conv(x, 32, 3, 3, "valid"), 64, 3, 3))
    x = pool(_conv(_conv(x, 80, 1, 1, "valid"), 192, 3, 3, "valid"))
    for i, filters in enumerate([32, 64, 64]):
        x = _fives(x, filters, f"mixed{i}")
    x = _join([_conv(x, 384, 3, 3, "valid", 2), _conv(_chain(x, (64, 1, 1), (96, 3, 3)), 96, 3, 3, "valid", 2), pool(x)], "mixed3")
    for i, width in enumerate([128, 160, 160, 192], 4):
        x = _sevens(x, width, f"mixed{i}")
    three = _conv(_conv(x, 192, 1, 1), 320, 3, 3, "valid", 2)
    seven = _conv(_chain(x, (192, 1, 1), (192, 1, 7), (192, 7, 1)), 192, 3, 3, "valid", 2)
    x = _join([three, seven, pool(x)], "mixed8")
    for i in range(2):
        x = _wide(x, i, f"mixed{9 + i}")
    ending = "" if include_top else "_notop"
    return net.model(x, f"{PLACE}inception_v3/inception_v3_weights_tf_dim_ordering_tf_kernels{ending}.h5")
