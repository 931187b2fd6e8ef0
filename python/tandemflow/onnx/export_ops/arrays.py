"""Reductions, products, and ops that move elements."""
import numpy as np

from ..writer import exports

_END = 2**63 - 1


def _reduction(name, onnx):
    @exports(name)
    def reduce(writer, node, x):
        return writer.add(onnx, [x, writer.ints(node["axis"])], keepdims=int(node["keepdims"]))


for _name, _onnx in {"reduce_sum": "ReduceSum", "reduce_mean": "ReduceMean", "reduce_max": "ReduceMax", "reduce_min": "ReduceMin", "reduce_prod": "ReduceProd"}.items():
    _reduction(_name, _onnx)


@exports("argmax", "argmin")
def arg(writer, node, x):
    found = writer.add("ArgMax" if node.op == "argmax" else "ArgMin", [x], axis=node["axis"], keepdims=0)
    return found if node.dtypes[0].name == "int64" else writer.cast(found, node.dtypes[0])


@exports("cumsum")
def cumsum(writer, node, x):
    return writer.add("CumSum", [x, writer.constant(node["axis"], np.int64)], exclusive=int(node["exclusive"]), reverse=int(node["reverse"]))


@exports("top_k")
def top_k(writer, node, x):
    values, indices = writer.add("TopK", [x, writer.ints([node["k"]])], outputs=2)
    return [values, writer.cast(indices, node.dtypes[1])]


@exports("softmax")
def softmax(writer, node, x):
    return writer.add("Softmax", [x], axis=node["axis"])


@exports("log_softmax")
def log_softmax(writer, node, x):
    return writer.add("LogSoftmax", [x], axis=node["axis"])


def _sum_along(writer, node, x):
    return writer.add("ReduceSum", [x, writer.ints([node["axis"]])], keepdims=1)


@exports("softmax_grad")
def softmax_grad(writer, node, y, dy):
    return writer.add("Mul", [writer.add("Sub", [dy, _sum_along(writer, node, writer.add("Mul", [dy, y]))]), y])


@exports("log_softmax_grad")
def log_softmax_grad(writer, node, y, dy):
    return writer.add("Sub", [dy, writer.add("Mul", [writer.add("Exp", [y]), _sum_along(writer, node, dy)])])


@exports("matmul")
def matmul(writer, node, a, b):
    def turned(x, shape, turn):
        rank = len(shape)
        return writer.transpose(x, [*range(rank - 2), rank - 1, rank - 2]) if turn else x

    return writer.add("MatMul", [turned(a, node.input_shapes[0], node["transpose_a"]), turned(b, node.input_shapes[1], node["transpose_b"])])


@exports("reshape")
def reshape(writer, node, x):
    return writer.reshape(x, node.shapes[0])


@exports("transpose")
def transpose(writer, node, x):
    return writer.transpose(x, node["perm"] or range(len(node.shapes[0]))[::-1])


@exports("concat")
def concat(writer, node, *values):
    return writer.add("Concat", values, axis=node["axis"])


@exports("broadcast_to")
def broadcast_to(writer, node, x):
    return writer.add("Expand", [x, writer.shape(node.shapes[0])])


@exports("pad")
def pad(writer, node, x, *rest):
    pairs = node["paddings"]
    fill = rest[0] if rest else writer.constant(node.attributes.get("constant_values", 0), node.input_dtypes[0].as_numpy_dtype)
    return writer.add("Pad", [x, writer.ints(pairs[0::2] + pairs[1::2]), fill], mode="constant")


def _slice(writer, node, x, begin, size, strides):
    """Axes that are taken whole, open ones among them, are left out."""
    lengths = node.input_shapes[0]
    axes = [i for i, length in enumerate(lengths) if not (begin[i] == 0 and strides[i] == 1 and size[i] == length)]
    if not axes:
        return writer.add("Identity", [x])
    starts, ends = [], []
    for i in axes:
        last = begin[i] + (size[i] - 1) * strides[i]
        starts.append(_place(writer, begin[i], lengths[i]))
        ends.append(_after(writer, last, lengths[i], strides[i]))
    return writer.add("Slice", [x, writer.ints(starts), writer.ints(ends), writer.ints(axes), writer.ints([strides[i] for i in axes])])


def _place(writer, index, length):
    """Along an open axis, what is nearer to its end is counted from there."""
    return index - length if writer.is_open(length) and index > length // 2 else index


def _after(writer, last, length, stride):
    """The end of a slice whose last element is this."""
    if stride < 0:
        return -_END if last == 0 else _place(writer, last, length) - 1
    return _END if last + stride >= length else _place(writer, last, length) + 1


@exports("slice")
def slice_(writer, node, x):
    return _slice(writer, node, x, node["begin"], node.shapes[0], [1] * len(node.shapes[0]))


@exports("strided_slice")
def strided_slice(writer, node, x):
    return _slice(writer, node, x, node["begin"], node.shapes[0], node["strides"])


@exports("gather")
def gather(writer, node, x, indices):
    return writer.add("Gather", [x, indices], axis=node["axis"])


@exports("gather_nd")
def gather_nd(writer, node, x, indices):
    if node.input_dtypes[1].name != "int64":
        indices = writer.add("Cast", [indices], to=7)
    return writer.add("GatherND", [x, indices])


@exports("one_hot")
def one_hot(writer, node, indices):
    values = writer.constant([node["off_value"], node["on_value"]], node.dtypes[0].as_numpy_dtype)
    return writer.add("OneHot", [indices, writer.ints([node["depth"]]), values], axis=node["axis"])


@exports("fill")
def fill(writer, node):
    value = np.array([node["value"]], node.dtypes[0].as_numpy_dtype)
    return writer.add("ConstantOfShape", [writer.shape(node.shapes[0])], value=value)


@exports("range")
def range_(writer, node):
    size = node.shapes[0][0]
    if writer.is_open(size):
        raise NotImplementedError("export: a range depends on an open size")
    return writer.constant(node["start"] + node["delta"] * np.arange(size), node.dtypes[0].as_numpy_dtype)
