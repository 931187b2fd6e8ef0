"""Both residual networks: a convolution and a pool, then four stacks of blocks."""
from ... import keras
from ._network import PLACE, Network, conv, norm, pad, relu

EPSILON = 1.001e-5


def resnet(kind, counts, block, before, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name):
    """`before`: blocks normalize what they get (version 2, whose stacks halve the picture at their end), not what they give."""
    net = Network(kind, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name, 224, 32)
    x = conv(64, 7, 2, name="conv1_conv")(pad(3, "conv1_pad")(net.start))
    if not before:
        x = relu("conv1_relu")(norm("conv1_bn", epsilon=EPSILON)(x))
    x = keras.layers.MaxPooling2D(3, strides=2, name="pool1_pool")(pad(1, "pool1_pad")(x))
    for stack, (count, filters) in enumerate(zip(counts, (64, 128, 256, 512)), 2):
        for i in range(1, count + 1):
            halves = stack < 5 and i == count if before else stack > 2 and i == 1
            x = block(x, filters, 2 if halves else 1, i == 1, f"conv{stack}_block{i}")
    if before:
        x = relu("post_relu")(norm("post_bn", epsilon=EPSILON)(x))
    ending = "" if include_top else "_notop"
    return net.model(x, f"{PLACE}resnet/{kind}_weights_tf_dim_ordering_tf_kernels{ending}.h5")
