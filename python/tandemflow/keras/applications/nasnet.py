"""keras.applications.nasnet: networks of two cells that a search found; Zoph et al., 2017."""
from ... import keras
from ._network import PLACE, Network, same_padding
from .imagenet_utils import decode_predictions  # noqa: F401
from .inception_v3 import preprocess_input  # noqa: F401


def _norm(name):
    return keras.layers.BatchNormalization(momentum=0.9997, epsilon=1e-3, name=name)


def _relu(x, name=None):
    return keras.layers.Activation("relu", name=name)(x)


def _point(x, filters, name):
    """A convolution of single points."""
    return keras.layers.Conv2D(filters, 1, padding="same", use_bias=False, kernel_initializer="he_normal", name=name)(x)


def _separable(x, filters, size, block, strides=1):
    """Two separable convolutions, the first of which may halve the picture."""
    conv = keras.layers.SeparableConv2D
    x = _relu(x)
    if strides == 2:
        x = keras.layers.ZeroPadding2D(same_padding(x, size), name=f"separable_conv_1_pad_{block}")(x)
    x = conv(filters, size, strides=strides, padding="valid" if strides == 2 else "same", use_bias=False, name=f"separable_conv_1_{block}")(x)
    x = _relu(_norm(f"separable_conv_1_bn_{block}")(x))
    x = conv(filters, size, padding="same", use_bias=False, name=f"separable_conv_2_{block}")(x)
    return _norm(f"separable_conv_2_bn_{block}")(x)


def _adjusted(p, x, filters, block):
    """The input before the last, with the size of the last and as many channels as the cell has."""
    layers = keras.layers
    if p is None:
        return x
    if p.shape[-2] != x.shape[-2]:
        p = _relu(p, f"adjust_relu_1_{block}")
        halves = []
        for i, moved in ((1, p), (2, None)):
            if moved is None:
                moved = layers.Cropping2D(((1, 0), (1, 0)))(layers.ZeroPadding2D(((0, 1), (0, 1)))(p))
            moved = layers.AveragePooling2D(1, strides=2, padding="valid", name=f"adjust_avg_pool_{i}_{block}")(moved)
            halves.append(_point(moved, filters // 2, f"adjust_conv_{i}_{block}"))
        return _norm(f"adjust_bn_{block}")(layers.concatenate(halves))
    if p.shape[-1] != filters:
        return _norm(f"adjust_bn_{block}")(_point(_relu(p), filters, f"adjust_conv_projection_{block}"))
    return p


def _start(x, filters, kind, block):
    return _norm(f"{kind}_bn_1_{block}")(_point(_relu(x), filters, f"{kind}_conv_1_{block}"))


def _normal(x, p, filters, block):
    """The cell that keeps the size; gives its output and its input."""
    layers = keras.layers
    p, h = _adjusted(p, x, filters, block), _start(x, filters, "normal", block)
    part = lambda x, size, side: _separable(x, filters, size, f"normal_{side}_{block}")  # noqa: E731
    pool = lambda x, side: layers.AveragePooling2D(3, strides=1, padding="same", name=f"normal_{side}_{block}")(x)  # noqa: E731
    add = lambda number, a, b: layers.add([a, b], name=f"normal_add_{number}_{block}")  # noqa: E731
    sums = [
        add(1, part(h, 5, "left1"), part(p, 3, "right1")),
        add(2, part(p, 5, "left2"), part(p, 3, "right2")),
        add(3, pool(h, "left3"), p),
        add(4, pool(p, "left4"), pool(p, "right4")),
        add(5, part(h, 3, "left5"), h),
    ]
    return layers.concatenate([p, *sums], name=f"normal_concat_{block}"), x


def _reduction(x, p, filters, block):
    """The cell that halves the size; gives its output and its input."""
    layers = keras.layers
    p, h = _adjusted(p, x, filters, block), _start(x, filters, "reduction", block)
    padded = layers.ZeroPadding2D(same_padding(h, 3), name=f"reduction_pad_1_{block}")(h)
    half = lambda x, size, side: _separable(x, filters, size, f"reduction_{side}_{block}", 2)  # noqa: E731
    most = lambda side: layers.MaxPooling2D(3, strides=2, padding="valid", name=f"reduction_{side}_{block}")(padded)  # noqa: E731
    first = layers.add([half(h, 5, "left1"), half(p, 7, "right1")], name=f"reduction_add_1_{block}")
    second = layers.add([most("left2"), half(p, 7, "right2")], name=f"reduction_add_2_{block}")
    mean = layers.AveragePooling2D(3, strides=2, padding="valid", name=f"reduction_left3_{block}")(padded)
    third = layers.add([mean, half(p, 5, "right3")], name=f"reduction_add3_{block}")
    fourth = layers.add([second, layers.AveragePooling2D(3, strides=1, padding="same", name=f"reduction_left4_{block}")(first)])
    fifth = layers.add([_separable(first, filters, 3, f"reduction_left4_{block}"), most("right5")], name=f"reduction_add4_{block}")
    return layers.concatenate([second, third, fourth, fifth], name=f"reduction_concat_{block}"), x


def _cells(x, filters, count, skip):
    """The stem's two reductions, then three times `count` cells with a reduction between."""
    x, p = _reduction(x, None, filters // 4, "stem_1")
    x, p = _reduction(x, p, filters // 2, "stem_2")
    for stage in range(3):
        if stage:
            x, before = _reduction(x, p, filters * 2**stage, f"reduce_{stage * count}")
            p = p if skip else before
        for i in range(count):
            x, p = _normal(x, p, filters * 2**stage, str(stage * count + i + (stage > 0)))
    return x


def _nasnet(kind, size, last_filters, count, stem, skip, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name):
    net = Network(kind, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name, size, 32)
    x = keras.layers.Conv2D(stem, 3, strides=2, padding="valid", use_bias=False, kernel_initializer="he_normal", name="stem_conv1")(net.start)
    x = _relu(_cells(_norm("stem_bn1")(x), last_filters // 24, count, skip))
    return net.model(x, f"{PLACE}nasnet/NASNet-{kind.split('_')[1]}{'' if include_top else '-no-top'}.h5", pool_name=None)


def NASNetMobile(input_shape=None, include_top=True, weights="imagenet", input_tensor=None, pooling=None, classes=1000,
                 classifier_activation="softmax", name="nasnet_mobile"):  # noqa: N802  # fmt: skip
    """The small NASNet, for pictures of 224."""
    shape = (224, 224, 3) if input_shape is None and not include_top else input_shape
    return _nasnet("nasnet_mobile", 224, 1056, 4, 32, False, include_top, weights, input_tensor, shape, pooling, classes, classifier_activation, name)


def NASNetLarge(input_shape=None, include_top=True, weights="imagenet", input_tensor=None, pooling=None, classes=1000,
                classifier_activation="softmax", name="nasnet_large"):  # noqa: N802  # fmt: skip
    """The large NASNet, for pictures of 331."""
    return _nasnet("nasnet_large", 331, 4032, 6, 96, True, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name)
