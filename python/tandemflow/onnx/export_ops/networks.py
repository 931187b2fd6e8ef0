"""Convolution, pooling, normalisation, attention, recurrent layers."""
import numpy as np

from ..writer import exports

_TO_FIRST, _TO_LAST = [0, 3, 1, 2], [0, 2, 3, 1]  # channels


def _same_pads(sizes, outputs, kernel, strides, dilations):
    totals = [max((o - 1) * s + (k - 1) * d + 1 - n, 0) for n, o, k, s, d in zip(sizes, outputs, kernel, strides, dilations)]
    return [t // 2 for t in totals] + [t - t // 2 for t in totals]


def _pads(node, sizes, outputs, kernel, strides, dilations):
    if node["padding"] == "same":
        return _same_pads(sizes, outputs, kernel, strides, dilations)
    if node["padding"] == "explicit":
        top, bottom, left, right = node["explicit_paddings"]
        return [top, left, bottom, right]
    return [0, 0, 0, 0]


@exports("conv2d")
def conv2d(writer, node, x, filters):
    height, width, channels, _ = node.input_shapes[1]
    pads = _pads(node, node.input_shapes[0][1:3], node.shapes[0][1:3], [height, width], node["strides"], node["dilations"])
    y = writer.add(
        "Conv", [writer.transpose(x, _TO_FIRST), writer.transpose(filters, [3, 2, 0, 1])], kernel_shape=[height, width],
        strides=node["strides"], dilations=node["dilations"], pads=pads, group=node.input_shapes[0][3] // channels,
    )  # fmt: skip
    return writer.transpose(y, _TO_LAST)


@exports("conv2d_backprop_input")
def conv2d_transpose(writer, node, filters, x):
    """What a transposed convolution is: filters [height, width, outputs, channels], x [batch, height, width, channels]."""
    height, width, outputs, _ = node.input_shapes[0]
    before, after = node.input_shapes[1][1:3], node.shapes[0][1:3]
    if node.shapes[0][3] != outputs:
        raise NotImplementedError("export: transposed convolutions in groups are not supported")
    pads = _pads(node, after, before, [height, width], node["strides"], node["dilations"])
    spans = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(before, node["strides"], [height, width], node["dilations"])]
    extra = [size - (span - pads[i] - pads[i + 2]) for i, (size, span) in enumerate(zip(after, spans))]
    pads = [pads[0], pads[1], pads[2] - min(extra[0], 0), pads[3] - min(extra[1], 0)]
    y = writer.add(
        "ConvTranspose", [writer.transpose(x, _TO_FIRST), writer.transpose(filters, [3, 2, 0, 1])], kernel_shape=[height, width],
        strides=node["strides"], dilations=node["dilations"], pads=pads, output_padding=[max(e, 0) for e in extra],
    )  # fmt: skip
    return writer.transpose(y, _TO_LAST)


@exports("max_pool2d", "avg_pool2d")
def pool2d(writer, node, x):
    kernel, strides = node["ksize"], node["strides"]
    pads = _pads(node, node.input_shapes[0][1:3], node.shapes[0][1:3], kernel, strides, [1, 1])
    op = "MaxPool" if node.op == "max_pool2d" else "AveragePool"
    y = writer.add(op, [writer.transpose(x, _TO_FIRST)], kernel_shape=kernel, strides=strides, pads=pads)
    return writer.transpose(y, _TO_LAST)


@exports("batch_normalization")
def batch_normalization(writer, node, x, mean, variance, offset, scale, epsilon):
    deviation = writer.add("Sqrt", [writer.add("Add", [variance, epsilon])])
    normal = writer.add("Div", [writer.add("Sub", [x, mean]), deviation])
    return writer.add("Add", [writer.add("Mul", [normal, scale]), offset])


@exports("layer_normalization")
def layer_normalization(writer, node, x, scale, offset):
    return writer.add("LayerNormalization", [x, scale, offset], axis=-1, epsilon=node["epsilon"])


@exports("dropout")
def dropout(writer, node, x, *_):
    return writer.add("Identity", [x])


@exports("dot_product_attention")
def attention(writer, node, query, key, value, bias):
    q, k, v = (writer.transpose(part, order) for part, order in ((query, [0, 2, 1, 3]), (key, [0, 2, 3, 1]), (value, [0, 2, 1, 3])))
    dtype = node.dtypes[0].as_numpy_dtype
    scores = writer.add("Mul", [writer.add("MatMul", [q, k]), writer.constant(node["scale"], dtype)])
    scores = writer.add("Add", [scores, bias])
    if node["is_causal"]:
        targets, sources = node.input_shapes[0][1], node.input_shapes[1][1]
        if writer.is_open(targets) or writer.is_open(sources):
            raise NotImplementedError("export: causal attention over an open number of steps is not supported; give Input its length")
        unseen = np.triu(np.full((targets, sources), -np.inf), 1 + sources - targets)
        scores = writer.add("Add", [scores, writer.constant(unseen, dtype)])
    y = writer.add("MatMul", [writer.add("Softmax", [scores], axis=-1), v])
    return writer.transpose(y, [0, 2, 1, 3])


def _gates(array, order):
    """Blocks of the last axis in another order, each turned to [units, inputs]."""
    blocks = np.split(array, len(order), axis=-1)
    return np.concatenate([np.ascontiguousarray(blocks[i].T) for i in order])[None]


def _recurrent(writer, node, op, x, states, kernel, recurrent, bias, order, **attributes):
    kernel, recurrent, bias = (writer.array(value, node) for value in (kernel, recurrent, bias))
    units = recurrent.shape[0]
    halves = [np.concatenate([np.split(row, len(order))[i] for i in order]) for row in (bias if bias.ndim == 2 else [bias, np.zeros_like(bias)])]
    first = [writer.add("Unsqueeze", [state, writer.ints([0])]) for state in states]
    inputs = [writer.transpose(x, [1, 0, 2]), writer.constant(_gates(kernel, order)), writer.constant(_gates(recurrent, order)),
              writer.constant(np.concatenate(halves)[None]), "", *first]  # fmt: skip
    y, *last = writer.add(op, inputs, outputs=1 + len(states), hidden_size=units, **attributes)
    whole = writer.transpose(writer.add("Squeeze", [y, writer.ints([1])]), [1, 0, 2])
    return [whole, *(writer.add("Squeeze", [state, writer.ints([0])]) for state in last)]


@exports("lstm")
def lstm(writer, node, x, h0, c0, kernel, recurrent, bias):
    return _recurrent(writer, node, "LSTM", x, [h0, c0], kernel, recurrent, bias, [0, 3, 1, 2])  # i f c o -> i o f c


@exports("gru")
def gru(writer, node, x, h0, kernel, recurrent, bias):
    return _recurrent(writer, node, "GRU", x, [h0], kernel, recurrent, bias, [0, 1, 2], linear_before_reset=1)


@exports("simple_rnn")
def simple_rnn(writer, node, x, h0, kernel, recurrent, bias):
    return _recurrent(writer, node, "RNN", x, [h0], kernel, recurrent, bias, [0])
