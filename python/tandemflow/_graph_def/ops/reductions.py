"""Sums, extremes, places of extremes, running sums, sorting."""
import tandemflow as tf

from ..support import integer, ints, op


_REDUCTIONS = {
    "Sum": tf.reduce_sum, "Mean": tf.reduce_mean, "Max": tf.reduce_max, "Min": tf.reduce_min, "Prod": tf.reduce_prod,
    "All": tf.reduce_all, "Any": tf.reduce_any, "EuclideanNorm": tf.math.reduce_euclidean_norm,
}  # fmt: skip


@op(*_REDUCTIONS)
def reduce(node, x, axes):
    return _REDUCTIONS[node.op](x, ints(axes, node), node.flag("keep_dims"))


@op("ArgMax", "ArgMin")
def arg_extreme(node, x, axis):
    function = tf.argmax if node.op == "ArgMax" else tf.argmin
    return function(x, integer(axis, node), output_type=node.dtype("output_type"))


@op("Cumsum", "Cumprod")
def cumulative(node, x, axis):
    function = tf.math.cumsum if node.op == "Cumsum" else tf.math.cumprod
    return function(x, integer(axis, node), exclusive=node.flag("exclusive"), reverse=node.flag("reverse"))


@op("TopKV2", "TopK", outputs=("values", "indices"))
def top_k(node, x, k=None):
    return list(tf.math.top_k(x, node.integer("k") if k is None else integer(k, node), sorted=node.flag("sorted")))


@op("L2Loss")
def l2_loss(node, x):
    return tf.reduce_sum(tf.square(x)) / 2


@op("InTopKV2")
def in_top_k(node, predictions, targets, k):
    return tf.math.in_top_k(targets, predictions, integer(k, node))


_SEGMENTS = {"UnsortedSegmentSum": "sum", "UnsortedSegmentMax": "max", "UnsortedSegmentMin": "min", "UnsortedSegmentProd": "prod"}


@op(*_SEGMENTS)
def segments(node, data, segment_ids, count):
    return getattr(tf.math, "unsorted_segment_" + _SEGMENTS[node.op])(data, segment_ids, integer(count, node))
