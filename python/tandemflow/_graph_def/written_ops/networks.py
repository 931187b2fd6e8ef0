"""Convolution, pooling, normalisation, attention."""
import numpy as np

from ...errors import UnimplementedError
from ..writer import writes
from .elementwise import _binary

_PADDING = {"same": "SAME", "valid": "VALID", "explicit": "EXPLICIT"}


def _window(node):
    """The attributes that convolutions and pools share; channels come last."""
    made = {"strides": [1, *node["strides"], 1], "padding": _PADDING[node["padding"]]}
    if "dilations" in node.attributes:
        made["dilations"] = [1, *node["dilations"], 1]
    if node["padding"] == "explicit":
        made["explicit_paddings"] = [0, 0, *node["explicit_paddings"], 0, 0]
    return made


@writes("conv2d")
def conv2d(writer, node, x, filters):
    return writer.add("Conv2D", [x, filters], x.dtype, T=x.dtype, **_window(node))


@writes("depthwise_conv2d")
def depthwise_conv2d(writer, node, x, filters):
    return writer.add("DepthwiseConv2dNative", [x, filters], x.dtype, T=x.dtype, **_window(node))


@writes("conv2d_backprop_input")
def conv2d_transpose(writer, node, filters, x):
    """What a transposed convolution is."""
    return writer.add("Conv2DBackpropInput", [writer.shape(node.shapes[0]), filters, x], x.dtype, T=x.dtype, **_window(node))


@writes("max_pool2d", "avg_pool2d")
def pool2d(writer, node, x):
    if node["padding"] == "explicit":
        raise UnimplementedError("a pool with paddings of its own")
    op = "MaxPool" if node.op == "max_pool2d" else "AvgPool"
    return writer.add(op, [x], x.dtype, T=x.dtype, ksize=[1, *node["ksize"], 1], **_window(node))


@writes("batch_normalization")
def batch_normalization(writer, node, x, mean, variance, offset, scale, epsilon):
    factor = _binary(writer, "Mul", writer.add("Rsqrt", [_binary(writer, "AddV2", variance, epsilon)], x.dtype, "y", T=x.dtype), scale)
    return _binary(writer, "AddV2", _binary(writer, "Mul", _binary(writer, "Sub", x, mean), factor), offset)


@writes("layer_normalization")
def layer_normalization(writer, node, x, scale, offset):
    last = writer.ints([len(node.shapes[0]) - 1])

    def mean(value):
        return writer.add("Mean", [value, last], x.dtype, keep_dims=True, T=x.dtype, Tidx=last.dtype)

    apart = _binary(writer, "Sub", x, mean(x))
    spread = _binary(writer, "AddV2", mean(writer.add("Square", [apart], x.dtype, "y", T=x.dtype)), writer.constant(node["epsilon"], x.dtype))
    normal = _binary(writer, "Mul", apart, writer.add("Rsqrt", [spread], x.dtype, "y", T=x.dtype))
    return _binary(writer, "AddV2", _binary(writer, "Mul", normal, scale), offset)


@writes("dot_product_attention")
def attention(writer, node, query, key, value, bias):
    q, k, v = (writer.transpose(part, [0, 2, 1, 3]) for part in (query, key, value))
    scores = writer.add("BatchMatMulV2", [q, k], q.dtype, adj_x=False, adj_y=True, T=q.dtype)
    scores = _binary(writer, "AddV2", _binary(writer, "Mul", scores, writer.constant(node["scale"], q.dtype)), bias)
    if node["is_causal"]:
        targets, sources = node.input_shapes[0][1], node.input_shapes[1][1]
        if writer.is_open(targets) or writer.is_open(sources):
            raise UnimplementedError("causal attention over an open number of steps")
        unseen = np.triu(np.full((targets, sources), -np.inf), 1 + sources - targets)
        scores = _binary(writer, "AddV2", scores, writer.constant(unseen, q.dtype))
    weights = writer.add("Softmax", [scores], q.dtype, "softmax", T=q.dtype)
    return writer.transpose(writer.add("BatchMatMulV2", [weights, v], q.dtype, adj_x=False, adj_y=False, T=q.dtype), [0, 2, 1, 3])
