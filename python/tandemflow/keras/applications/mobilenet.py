"""keras.applications.mobilenet: depthwise convolutions; Howard and others, 2017."""
from ... import keras
from . import imagenet_utils
from ._network import PLACE, Network, conv, norm
from .imagenet_utils import decode_predictions  # noqa: F401

# Filters and steps of the thirteen blocks.
_BLOCKS = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]


def preprocess_input(x, data_format=None):
    """Pictures of 0 to 255 as this network expects them: from -1 to 1."""
    return imagenet_utils.preprocess_input(x, data_format, "tf")


def _block(x, filters, strides, depth_multiplier, i):
    layers = keras.layers
    if strides > 1:
        x = layers.ZeroPadding2D(((0, 1), (0, 1)), name=f"conv_pad_{i}")(x)
    x = layers.DepthwiseConv2D(3, strides, "same" if strides == 1 else "valid", depth_multiplier, use_bias=False, name=f"conv_dw_{i}")(x)
    x = layers.ReLU(6.0, name=f"conv_dw_{i}_relu")(norm(f"conv_dw_{i}_bn")(x))
    x = conv(filters, 1, padding="same", use_bias=False, name=f"conv_pw_{i}")(x)
    return layers.ReLU(6.0, name=f"conv_pw_{i}_relu")(norm(f"conv_pw_{i}_bn")(x))


def MobileNet(input_shape=None, alpha=1.0, depth_multiplier=1, dropout=1e-3, include_top=True, weights="imagenet", input_tensor=None,
              pooling=None, classes=1000, classifier_activation="softmax", name=None):  # fmt: skip
    """MobileNet of the width alpha."""
    size = 224
    if input_shape is not None and input_shape[0] == input_shape[1] and input_shape[0] in (128, 160, 192):
        size = input_shape[0]
    rows = (input_shape or (size,))[0] if weights != "imagenet" else size
    name = name or f"mobilenet_{alpha:0.2f}_{rows}"
    net = Network("mobilenet", include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name, size, 32)
    layers = keras.layers
    x = conv(int(32 * alpha), 3, 2, padding="same", use_bias=False, name="conv1")(net.start)
    x = layers.ReLU(6.0, name="conv1_relu")(norm("conv1_bn")(x))
    for i, (filters, strides) in enumerate(_BLOCKS, 1):
        x = _block(x, int(filters * alpha), strides, depth_multiplier, i)

    def head(x):
        x = layers.GlobalAveragePooling2D(keepdims=True)(x)
        x = conv(classes, 1, padding="same", name="conv_preds")(layers.Dropout(dropout, name="dropout")(x))
        return layers.Activation(classifier_activation, name="predictions")(layers.Reshape((classes,), name="reshape_2")(x))

    width = {1.0: "1_0", 0.75: "7_5", 0.5: "5_0", 0.25: "2_5"}.get(alpha)
    if weights == "imagenet" and (width is None or depth_multiplier != 1):
        raise ValueError(f"If imagenet weights are being loaded, alpha can be one of 0.25, 0.5, 0.75 or 1.0 and depth_multiplier 1 only. Received: {alpha}, {depth_multiplier}")
    return net.model(x, f"{PLACE}mobilenet/mobilenet_{width}_{size}_tf{'' if include_top else '_no_top'}.h5", head=head)
