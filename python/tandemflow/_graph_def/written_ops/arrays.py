"""Reductions, products, and ops that move elements."""
from ... import _dtypes
from ..writer import writes
from .elementwise import _binary

_INT = _dtypes.int32


def _axes(node):
    """None are all."""
    return node["axis"] or range(len(node.input_shapes[0]))


def _reduction(name, op, typed=True):
    @writes(name)
    def reduce(writer, node, x):
        types = {"T": x.dtype} if typed else {}
        return writer.add(op, [x, writer.ints(_axes(node))], node.dtypes[0], keep_dims=bool(node["keepdims"]), Tidx=_INT, **types)


for _name, _op in {"reduce_sum": "Sum", "reduce_mean": "Mean", "reduce_max": "Max", "reduce_min": "Min", "reduce_prod": "Prod"}.items():
    _reduction(_name, _op)
for _name, _op in {"reduce_all": "All", "reduce_any": "Any"}.items():
    _reduction(_name, _op, typed=False)


@writes("argmax", "argmin")
def arg(writer, node, x):
    op = "ArgMax" if node.op == "argmax" else "ArgMin"
    return writer.add(op, [x, writer.constant(node["axis"], _INT)], node.dtypes[0], T=x.dtype, Tidx=_INT, output_type=node.dtypes[0])


@writes("cumsum", "cumprod")
def cumulated(writer, node, x):
    op = "Cumsum" if node.op == "cumsum" else "Cumprod"
    return writer.add(op, [x, writer.constant(node["axis"], _INT)], x.dtype, "out",
                      exclusive=bool(node["exclusive"]), reverse=bool(node["reverse"]), T=x.dtype, Tidx=_INT)  # fmt: skip


@writes("top_k")
def top_k(writer, node, x):
    return writer.add("TopKV2", [x, writer.constant(node["k"], _INT)], list(node.dtypes), ["values", "indices"], sorted=True, T=x.dtype, Tk=_INT,
                      index_type=node.dtypes[1])  # fmt: skip


def _along_last(writer, node, x, op, out):
    """TensorFlow's op works along the last axis."""
    rank, axis = len(node.shapes[0]), node["axis"] % len(node.shapes[0])
    order = [i for i in range(rank) if i != axis] + [axis]
    turned = x if axis == rank - 1 else writer.transpose(x, order)
    made = writer.add(op, [turned], x.dtype, out, T=x.dtype)
    return made if axis == rank - 1 else writer.transpose(made, [order.index(i) for i in range(rank)])


@writes("softmax")
def softmax(writer, node, x):
    return _along_last(writer, node, x, "Softmax", "softmax")


@writes("log_softmax")
def log_softmax(writer, node, x):
    return _along_last(writer, node, x, "LogSoftmax", "logsoftmax")


def _sum_along(writer, node, x):
    return writer.add("Sum", [x, writer.ints([node["axis"]])], x.dtype, keep_dims=True, T=x.dtype, Tidx=_INT)


@writes("softmax_grad")
def softmax_grad(writer, node, y, dy):
    return _binary(writer, "Mul", _binary(writer, "Sub", dy, _sum_along(writer, node, _binary(writer, "Mul", dy, y))), y)


@writes("log_softmax_grad")
def log_softmax_grad(writer, node, y, dy):
    shares = writer.add("Exp", [y], y.dtype, "y", T=y.dtype)
    return _binary(writer, "Sub", dy, _binary(writer, "Mul", shares, _sum_along(writer, node, dy)))


@writes("matmul")
def matmul(writer, node, a, b):
    turned = bool(node["transpose_a"]), bool(node["transpose_b"])
    if len(node.input_shapes[0]) == len(node.input_shapes[1]) == 2:
        return writer.add("MatMul", [a, b], a.dtype, "product", transpose_a=turned[0], transpose_b=turned[1], T=a.dtype)
    return writer.add("BatchMatMulV2", [a, b], a.dtype, adj_x=turned[0], adj_y=turned[1], T=a.dtype)


@writes("reshape")
def reshape(writer, node, x):
    return writer.reshape(x, node.shapes[0])


@writes("transpose")
def transpose(writer, node, x):
    return writer.transpose(x, node["perm"] or range(len(node.shapes[0]))[::-1])


@writes("concat")
def concat(writer, node, *values):
    return writer.add("ConcatV2", [*values, writer.constant(node["axis"], _INT)], node.dtypes[0], N=len(values), T=node.dtypes[0], Tidx=_INT)


@writes("broadcast_to")
def broadcast_to(writer, node, x):
    return writer.add("BroadcastTo", [x, writer.shape(node.shapes[0])], x.dtype, T=x.dtype, Tidx=_INT)


@writes("pad")
def pad(writer, node, x, *rest):
    pairs = node["paddings"]
    paddings = writer.constant([[a, b] for a, b in zip(pairs[0::2], pairs[1::2])], _INT)
    fill = rest[0] if rest else writer.constant(node.attributes.get("constant_values", 0), x.dtype)
    return writer.add("PadV2", [x, paddings, fill], x.dtype, T=x.dtype, Tpaddings=_INT)


def _slice(writer, node, x, begin, strides):
    """What reaches the end of an axis, open ones among them, is written as reaching it."""
    starts, ends, begin_mask, end_mask = [], [], 0, 0
    for i, (length, size, first, stride) in enumerate(zip(node.input_shapes[0], node.shapes[0], begin, strides)):
        last = first + (size - 1) * stride
        to_end = last + stride >= length if stride > 0 else last + stride < 0
        whole = first == 0 if stride > 0 else first == length - 1
        begin_mask |= whole << i
        end_mask |= to_end << i
        starts.append(0 if whole else _place(writer, first, length))
        ends.append(0 if to_end else _place(writer, last, length) + (1 if stride > 0 else -1))
    return writer.add("StridedSlice", [x, writer.ints(starts), writer.ints(ends), writer.ints(strides)], x.dtype, T=x.dtype, Index=_INT,
                      begin_mask=begin_mask, end_mask=end_mask)  # fmt: skip


def _place(writer, index, length):
    """Along an open axis, what is nearer to its end is counted from there."""
    return index - length if writer.is_open(length) and index > length // 2 else index


@writes("slice")
def slice_(writer, node, x):
    return _slice(writer, node, x, node["begin"], [1] * len(node.shapes[0]))


@writes("strided_slice")
def strided_slice(writer, node, x):
    return _slice(writer, node, x, node["begin"], node["strides"])


@writes("gather")
def gather(writer, node, x, indices):
    batch = node.attributes.get("batch_dims", 0)
    return writer.add("GatherV2", [x, indices, writer.constant(node["axis"], _INT)], x.dtype, Tparams=x.dtype, Tindices=indices.dtype, Taxis=_INT, batch_dims=batch)


@writes("gather_nd")
def gather_nd(writer, node, x, indices):
    return writer.add("GatherNd", [x, indices], x.dtype, Tparams=x.dtype, Tindices=indices.dtype)


@writes("one_hot")
def one_hot(writer, node, indices):
    values = [writer.constant(node[name], node.dtypes[0]) for name in ("on_value", "off_value")]
    return writer.add("OneHot", [indices, writer.constant(node["depth"], _INT), *values], node.dtypes[0], axis=node["axis"], T=node.dtypes[0], TI=indices.dtype)


@writes("fill")
def fill(writer, node):
    return writer.add("Fill", [writer.shape(node.shapes[0]), writer.constant(node["value"], node.dtypes[0])], node.dtypes[0], T=node.dtypes[0], index_type=_INT)


@writes("tile")
def tile(writer, node, x):
    return writer.add("Tile", [x, writer.ints(node["multiples"])], x.dtype, T=x.dtype, Tmultiples=_INT)


@writes("reverse")
def reverse(writer, node, x):
    return writer.add("ReverseV2", [x, writer.ints(node["axis"])], x.dtype, T=x.dtype, Tidx=_INT)
