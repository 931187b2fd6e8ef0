"""VGG: convolutions of three by three in five blocks, then three dense layers."""
from ... import keras
from ._network import PLACE, Network, conv


def vgg(kind, counts, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name):
    net = Network(kind, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name, 224, 32)
    layers = keras.layers
    x = net.start
    for block, (count, filters) in enumerate(zip(counts, (64, 128, 256, 512, 512)), 1):
        for i in range(1, count + 1):
            x = conv(filters, 3, padding="same", activation="relu", name=f"block{block}_conv{i}")(x)
        x = layers.MaxPooling2D(2, strides=2, name=f"block{block}_pool")(x)

    def head(x):
        x = layers.Flatten(name="flatten")(x)
        for i in (1, 2):
            x = layers.Dense(4096, activation="relu", name=f"fc{i}")(x)
        return net.predictions(x)

    ending = "" if include_top else "_notop"
    return net.model(x, f"{PLACE}{kind}/{kind}_weights_tf_dim_ordering_tf_kernels{ending}.h5", head=head)
