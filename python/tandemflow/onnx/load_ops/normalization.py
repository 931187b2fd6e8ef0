"""Normalisation, losses, attention."""

import tandemflow as tf

from ..support import as_tensor, op, shape_of


def _by_channel(values, rank):
    """[channels] for arrays [batch, channels, ...]."""
    return tf.reshape(as_tensor(values), [-1] + [1] * (rank - 2))


@op("BatchNormalization")
def batch_normalization(node, x, scale, offset, mean, variance):
    x, rank = as_tensor(x), len(x.shape)
    epsilon = node.get("epsilon", 1e-5)
    if not node.get("training_mode", 0):
        return (x - _by_channel(mean, rank)) * tf.math.rsqrt(_by_channel(variance, rank) + epsilon) * _by_channel(scale, rank) + _by_channel(offset, rank)
    axes, momentum = [0, *range(2, rank)], node.get("momentum", 0.9)
    now = tf.reduce_mean(x, axes)
    spread = tf.reduce_mean(tf.square(x - _by_channel(now, rank)), axes)
    y = (x - _by_channel(now, rank)) * tf.math.rsqrt(_by_channel(spread, rank) + epsilon) * _by_channel(scale, rank) + _by_channel(offset, rank)
    return y, as_tensor(mean) * momentum + now * (1 - momentum), as_tensor(variance) * momentum + spread * (1 - momentum)


def _normalized(x, axes, epsilon):
    mean = tf.reduce_mean(x, axes, True)
    centred = x - mean
    inverse = tf.math.rsqrt(tf.reduce_mean(tf.square(centred), axes, True) + epsilon)
    return centred * inverse, mean, inverse


@op("LayerNormalization")
def layer_normalization(node, x, scale, offset=None):
    x = as_tensor(x)
    axes = list(range(node.get("axis", -1) % len(x.shape), len(x.shape)))
    y, mean, inverse = _normalized(x, axes, node.get("epsilon", 1e-5))
    y = y * as_tensor(scale)
    return (y if offset is None else y + as_tensor(offset)), mean, inverse


@op("RMSNormalization")
def rms_normalization(node, x, scale):
    x = as_tensor(x)
    axes = list(range(node.get("axis", -1) % len(x.shape), len(x.shape)))
    return x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), axes, True) + node.get("epsilon", 1e-5)) * as_tensor(scale)


@op("InstanceNormalization")
def instance_normalization(node, x, scale, offset):
    x, rank = as_tensor(x), len(x.shape)
    y, _, _ = _normalized(x, list(range(2, rank)), node.get("epsilon", 1e-5))
    return y * _by_channel(scale, rank) + _by_channel(offset, rank)


@op("GroupNormalization")
def group_normalization(node, x, scale, offset):
    x, groups, sizes = as_tensor(x), node["num_groups"], shape_of(x)
    y, _, _ = _normalized(tf.reshape(x, [sizes[0], groups, -1]), [2], node.get("epsilon", 1e-5))
    repeat = 1 if shape_of(scale)[0] == sizes[1] else sizes[1] // groups  # before version 21: a number a group
    scale, offset = (tf.repeat(as_tensor(v), repeat) if repeat > 1 else v for v in (scale, offset))
    return tf.reshape(y, sizes) * _by_channel(scale, len(sizes)) + _by_channel(offset, len(sizes))


@op("MeanVarianceNormalization")
def mean_variance_normalization(node, x):
    x, axes = as_tensor(x), node.get("axes", [0, 2, 3])
    centred = x - tf.reduce_mean(x, axes, True)
    return centred / (tf.sqrt(tf.reduce_mean(tf.square(centred), axes, True)) + 1e-9)


@op("LpNormalization")
def lp_normalization(node, x):
    x, axis = as_tensor(x), node.get("axis", -1)
    length = tf.reduce_sum(tf.abs(x), axis, True) if node.get("p", 2) == 1 else tf.sqrt(tf.reduce_sum(tf.square(x), axis, True))
    return tf.math.divide_no_nan(x, length)


@op("LRN")
def lrn(node, x):
    x, size = as_tensor(x), node["size"]
    before = (size - 1) // 2
    squares = tf.pad(tf.square(x), [[0, 0], [before, size - 1 - before]] + [[0, 0]] * (len(x.shape) - 2))
    channels = shape_of(x)[1]
    total = sum(squares[:, i : i + channels] for i in range(size))
    return x / tf.pow(node.get("bias", 1.0) + node.get("alpha", 1e-4) / size * total, tf.constant(node.get("beta", 0.75), x.dtype))


def _picked_losses(node, log_probabilities, labels, weights):
    """-log p of each label, and its weight; [batch, classes, ...] and [batch, ...]."""
    labels, ignored = tf.cast(as_tensor(labels), tf.int64), node.get("ignore_index")
    classes = shape_of(log_probabilities)[1]
    counted = tf.ones_like(labels, dtype=log_probabilities.dtype)
    if ignored is not None:
        counted = tf.cast(labels != ignored, log_probabilities.dtype)
        labels = tf.where(labels == ignored, tf.zeros_like(labels), labels)
    hits = tf.one_hot(labels, classes, axis=1, dtype=log_probabilities.dtype)
    weight = counted if weights is None else counted * tf.gather(as_tensor(weights), labels)
    return -tf.reduce_sum(hits * log_probabilities, 1) * weight, weight


def _reduced(node, losses, weight):
    how = node.get("reduction", "mean")
    if how == "none":
        return losses
    return tf.reduce_sum(losses) if how == "sum" else tf.reduce_sum(losses) / tf.reduce_sum(weight)


@op("NegativeLogLikelihoodLoss")
def negative_log_likelihood(node, x, labels, weights=None):
    return _reduced(node, *_picked_losses(node, as_tensor(x), labels, weights))


@op("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy(node, x, labels, weights=None):
    logs = tf.nn.log_softmax(as_tensor(x), 1)
    return _reduced(node, *_picked_losses(node, logs, labels, weights)), logs
