"""Sums and the like, along axes."""
import tandemflow as tf

from ..support import as_tensor, axes_of, known_scalar, op, shape_of


def _reduction(name, function):
    @op(name)
    def reduce(node, x, axes=None):
        x, keepdims = as_tensor(x), bool(node.get("keepdims", 1))
        axis = axes_of(node, axes)
        if not axis:
            if node.get("noop_with_empty_axes", 0):
                return function(x, [], keepdims)
            axis = list(range(len(x.shape)))
        return function(x, axis, keepdims)


def _of(reduce, before=lambda x: x, after=lambda x: x):
    return lambda x, axis, keepdims: after(reduce(before(x), axis, keepdims) if axis else before(x))


def _extreme(reduce, of_bools):
    """Any of some bools is the largest of them, all the smallest."""

    def run(x, axis, keepdims):
        return (of_bools if x.dtype == tf.bool else reduce)(x, axis, keepdims) if axis else x

    return run


_reduction("ReduceSum", _of(tf.reduce_sum))
_reduction("ReduceMean", _of(tf.reduce_mean))
_reduction("ReduceProd", _of(tf.reduce_prod))
_reduction("ReduceMax", _extreme(tf.reduce_max, tf.reduce_any))
_reduction("ReduceMin", _extreme(tf.reduce_min, tf.reduce_all))
_reduction("ReduceL1", _of(tf.reduce_sum, tf.abs))
_reduction("ReduceL2", _of(tf.reduce_sum, tf.square, tf.sqrt))
_reduction("ReduceSumSquare", _of(tf.reduce_sum, tf.square))
_reduction("ReduceLogSum", _of(tf.reduce_sum, after=tf.math.log))


def _log_sum_exp(x, axis, keepdims):
    return tf.reduce_logsumexp(x, axis, keepdims) if axis else x


_reduction("ReduceLogSumExp", _log_sum_exp)


def _arg(name, function):
    @op(name)
    def arg(node, x):
        x, axis = as_tensor(x), node.get("axis", 0)
        if node.get("select_last_index", 0):
            found = shape_of(x)[axis] - 1 - function(tf.reverse(x, [axis % len(x.shape)]), axis)
        else:
            found = function(x, axis)
        return tf.expand_dims(found, axis) if node.get("keepdims", 1) else found


_arg("ArgMax", tf.argmax)
_arg("ArgMin", tf.argmin)


def _scan(name, function):
    @op(name)
    def scan(node, x, axis):
        axis = int(known_scalar(axis, node, "axis"))
        return function(as_tensor(x), axis, exclusive=bool(node.get("exclusive", 0)), reverse=bool(node.get("reverse", 0)))


_scan("CumSum", tf.cumsum)
_scan("CumProd", tf.math.cumprod)


@op("TopK")
def top_k(node, x, k=None):
    x, axis = as_tensor(x), node.get("axis", -1)
    count = int(known_scalar(k, node, "k")) if k is not None else node["k"]
    rank = len(x.shape)
    order = [i for i in range(rank) if i != axis % rank] + [axis % rank]
    back = [order.index(i) for i in range(rank)]
    last = tf.transpose(x, order)
    if node.get("largest", 1):
        values, indices = tf.math.top_k(last, count)
    else:
        indices = tf.argsort(last, stable=True)[..., :count]
        values = tf.gather(last, indices, batch_dims=rank - 1)
    return tf.transpose(values, back), tf.transpose(tf.cast(indices, tf.int64), back)


def _softmax(name, function):
    @op(name)
    def softmax(node, x):
        x = as_tensor(x)
        if node.opset >= 13:
            return function(x, node.get("axis", -1))
        axis = node.get("axis", 1) % len(x.shape)  # older versions: over all axes from here on
        sizes = shape_of(x)
        rows = 1
        for size in sizes[:axis]:
            rows *= size
        return tf.reshape(function(tf.reshape(x, [rows, -1]), -1), sizes)


_softmax("Softmax", tf.nn.softmax)
_softmax("LogSoftmax", tf.nn.log_softmax)


@op("Hardmax")
def hardmax(node, x):
    x, axis = as_tensor(x), node.get("axis", -1)
    return tf.one_hot(tf.argmax(x, axis), shape_of(x)[axis], axis=axis % len(x.shape), dtype=x.dtype)
