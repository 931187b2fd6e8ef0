"""Products, convolutions, pools, normalisations, losses, resizing, random numbers."""
import tandemflow as tf

from ..support import ints, op, plain

plain(Cross=tf.linalg.cross, Cholesky=tf.linalg.cholesky, MatrixInverse=tf.linalg.inv, MatrixDeterminant=tf.linalg.det, MatrixSolve=tf.linalg.solve)


@op("MatMul")
def matmul(node, a, b):
    return tf.matmul(a, b, transpose_a=node.flag("transpose_a"), transpose_b=node.flag("transpose_b"))


@op("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def batch_matmul(node, a, b):
    return tf.matmul(a, b, adjoint_a=node.flag("adj_x"), adjoint_b=node.flag("adj_y"))


@op("_FusedMatMul")
def fused_matmul(node, a, b, *more):
    out = tf.matmul(a, b, transpose_a=node.flag("transpose_a"), transpose_b=node.flag("transpose_b"))
    for name in node.list("fused_ops"):
        step = name.decode()
        out = tf.nn.bias_add(out, more[0]) if step == "BiasAdd" else getattr(tf.nn, step.lower())(out)
    return out


@op("Einsum")
def einsum(node, *inputs):
    return tf.einsum(node.text("equation"), *inputs)


@op("BiasAdd", "BiasAddV1")
def bias_add(node, x, bias):
    return tf.nn.bias_add(x, bias, node.text("data_format", "NHWC"))


def _explicit(node, padding):
    if padding != "EXPLICIT":
        return padding
    edges = node.list("explicit_paddings")
    return [edges[i : i + 2] for i in range(0, len(edges), 2)]


def _window(node):
    return {"strides": node.list("strides"), "padding": _explicit(node, node.text("padding")), "data_format": node.text("data_format", "NHWC")}


@op("Conv2D")
def conv2d(node, x, filters):
    return tf.nn.conv2d(x, filters, dilations=node.list("dilations") if "dilations" in node else None, **_window(node))


@op("DepthwiseConv2dNative")
def depthwise_conv2d(node, x, filters):
    dilations = node.list("dilations")[1:3] if "dilations" in node else None
    return tf.nn.depthwise_conv2d(x, filters, dilations=dilations, **_window(node))


@op("Conv3D")
def conv3d(node, x, filters):
    window = {**_window(node), "data_format": node.text("data_format", "NDHWC")}
    return tf.nn.conv3d(x, filters, dilations=node.list("dilations") if "dilations" in node else None, **window)


@op("Conv2DBackpropInput")
def conv2d_transpose(node, sizes, filters, x):
    return tf.nn.conv2d_transpose(x, filters, ints(sizes, node), **_window(node))


@op("MaxPool", "AvgPool")
def pool2d(node, x):
    function = tf.nn.max_pool2d if node.op == "MaxPool" else tf.nn.avg_pool2d
    return function(x, node.list("ksize"), **_window(node))


@op("MaxPool3D", "AvgPool3D")
def pool3d(node, x):
    function = tf.nn.max_pool3d if node.op == "MaxPool3D" else tf.nn.avg_pool3d
    return function(x, node.list("ksize"), **{**_window(node), "data_format": node.text("data_format", "NDHWC")})


_NORM_OUTPUTS = ("y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3")


@op("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", outputs=_NORM_OUTPUTS)
def fused_batch_norm(node, x, scale, offset, mean, variance):
    training = node.flag("is_training") if "is_training" in node else True
    axes = [0, 1, 2] if node.text("data_format", "NHWC") == "NHWC" else [0, 2, 3]
    if axes == [0, 2, 3]:
        scale, offset, mean, variance = (tf.reshape(v, [1, -1, 1, 1]) if tf.size(v) else v for v in (scale, offset, mean, variance))
    if training:
        mean, variance = tf.nn.moments(x, axes, keepdims=axes == [0, 2, 3])
    y = tf.nn.batch_normalization(x, mean, variance, offset, scale, node.real("epsilon") if "epsilon" in node else 1e-4)
    mean, variance = tf.reshape(mean, [-1]), tf.reshape(variance, [-1])
    return [y, mean, variance, mean, variance, variance]


@op("LRN")
def lrn(node, x):
    return tf.nn.local_response_normalization(x, node.integer("depth_radius"), node.real("bias"), node.real("alpha"), node.real("beta"))


@op("SoftmaxCrossEntropyWithLogits", outputs=("loss", "backprop"))
def softmax_cross_entropy(node, logits, labels):
    return [tf.nn.softmax_cross_entropy_with_logits(labels, logits), tf.nn.softmax(logits) - labels]


@op("SparseSoftmaxCrossEntropyWithLogits", outputs=("loss", "backprop"))
def sparse_softmax_cross_entropy(node, logits, labels):
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    return [loss, tf.nn.softmax(logits) - tf.one_hot(labels, logits.shape[-1], dtype=logits.dtype)]


_RESIZING = {"ResizeBilinear": "bilinear", "ResizeNearestNeighbor": "nearest", "ResizeBicubic": "bicubic", "ResizeArea": "area"}


@op(*_RESIZING)
def resize(node, images, size):
    if node.flag("align_corners") or not (node.flag("half_pixel_centers") or node.op == "ResizeArea"):
        raise NotImplementedError(f"node '{node.name}': {node.op} of TensorFlow 1 (without half_pixel_centers) is not read")
    return tf.image.resize(images, ints(size, node), _RESIZING[node.op])


@op("RandomUniform", effects=True)
def random_uniform(node, shape):
    return tf.random.uniform(shape, dtype=node.dtype("dtype"))


@op("RandomStandardNormal", effects=True)
def random_normal(node, shape):
    return tf.random.normal(shape, dtype=node.dtype("dtype"))


@op("RandomUniformInt", effects=True)
def random_integers(node, shape, low, high):
    return tf.random.uniform(shape, low, high, dtype=node.dtype("Tout"))
