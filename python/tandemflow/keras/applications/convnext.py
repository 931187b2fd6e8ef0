"""keras.applications.convnext: convolutions in the order of a transformer's blocks; Liu et al., 2022."""
from ... import keras
from ._network import PLACE, Network
from .imagenet_utils import decode_predictions  # noqa: F401

# Blocks and widths of the four stages.
_SIZES = {
    "tiny": ((3, 3, 9, 3), (96, 192, 384, 768)),
    "small": ((3, 3, 27, 3), (96, 192, 384, 768)),
    "base": ((3, 3, 27, 3), (128, 256, 512, 1024)),
    "large": ((3, 3, 27, 3), (192, 384, 768, 1536)),
    "xlarge": ((3, 3, 27, 3), (256, 512, 1024, 2048)),
}
_FIRST_SCALE = 1e-6


def preprocess_input(x, data_format=None):
    """x as it is: this network begins with a layer that does what is needed to pictures of 0 to 255."""
    return x


class LayerScale(keras.layers.Layer):
    """A learned factor for each channel."""

    _keras_module = "keras.src.applications.convnext"

    def __init__(self, init_values, projection_dim, **kwargs):
        super().__init__(**kwargs)
        self.init_values, self.projection_dim = init_values, projection_dim

    def build(self, input_shape):
        self.gamma = self.add_weight((self.projection_dim,), keras.initializers.Constant(self.init_values), name="gamma")

    def call(self, x):
        return x * self.gamma

    def get_config(self):
        return {**super().get_config(), "init_values": self.init_values, "projection_dim": self.projection_dim}


def _norm(name=None):
    return keras.layers.LayerNormalization(epsilon=1e-6, name=name)


def _block(x, width, name):
    layers, start = keras.layers, x
    x = _norm(f"{name}_layernorm")(layers.Conv2D(width, 7, padding="same", groups=width, name=f"{name}_depthwise_conv")(x))
    x = layers.Activation("gelu", name=f"{name}_gelu")(layers.Dense(4 * width, name=f"{name}_pointwise_conv_1")(x))
    x = layers.Dense(width, name=f"{name}_pointwise_conv_2")(x)
    x = LayerScale(_FIRST_SCALE, width, name=f"{name}_layer_scale")(x)
    return start + layers.Activation("linear", name=f"{name}_identity")(x)


def _entrance(stage, width, name):
    """What makes pictures smaller before a stage."""
    conv, layers = keras.layers.Conv2D, keras.Sequential
    if stage == 0:
        return layers([conv(width, 4, strides=4, name=f"{name}_stem_conv"), _norm(f"{name}_stem_layernorm")], name=f"{name}_stem")
    i = stage - 1
    parts = [_norm(f"{name}_downsampling_layernorm_{i}"), conv(width, 2, strides=2, name=f"{name}_downsampling_conv_{i}")]
    return layers(parts, name=f"{name}_downsampling_block_{i}")


def _prepared(x, name):
    mean, deviation = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    return keras.layers.Normalization(
        mean=[255 * value for value in mean], variance=[(255 * value) ** 2 for value in deviation], name=f"{name}_prestem_normalization"
    )(x)


def _size(kind):
    label = f"convnext_{kind}"

    def build(include_top=True, include_preprocessing=True, weights="imagenet", input_tensor=None, input_shape=None, pooling=None,
              classes=1000, classifier_activation="softmax", name=label):  # fmt: skip
        net = Network(label, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name, 224, 32)
        depths, widths = _SIZES[kind]
        x = _prepared(net.start, name) if include_preprocessing and net.start.shape[-1] == 3 else net.start
        entrances = [_entrance(stage, width, name) for stage, width in enumerate(widths)]
        for stage, (depth, width) in enumerate(zip(depths, widths)):
            x = entrances[stage](x)
            for i in range(depth):
                x = _block(x, width, f"{name}_stage_{stage}_block_{i}")

        def head(x):
            x = _norm(f"{name}_head_layernorm")(keras.layers.GlobalAveragePooling2D(name=f"{name}_head_gap")(x))
            return keras.layers.Dense(classes, activation=classifier_activation, name=f"{name}_head_dense")(x)

        return net.model(x, f"{PLACE}convnext/{label}{'' if include_top else '_notop'}.h5", head=head, tail=_norm())

    build.__name__ = build.__qualname__ = f"ConvNeXt{'XLarge' if kind == 'xlarge' else kind.title()}"
    build.__doc__ = f"ConvNeXt in its size {kind}."
    return build


ConvNeXtTiny, ConvNeXtSmall, ConvNeXtBase, ConvNeXtLarge, ConvNeXtXLarge = map(_size, _SIZES)
