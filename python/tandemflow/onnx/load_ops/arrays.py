"""Picking, scattering, counting."""
import math

import numpy as np

import tandemflow as tf

from ..support import as_tensor, known, known_scalar, op, shape_of
from ..tensors import dtype_of


def _wrapped(indices, length):
    """Negative indices count from the end."""
    indices = as_tensor(indices)
    return tf.where(indices < 0, indices + tf.cast(length, indices.dtype), indices)


@op("Gather")
def gather(node, x, indices):
    x, axis = as_tensor(x), node.get("axis", 0)
    return tf.gather(x, _wrapped(indices, shape_of(x)[axis]), axis=axis)


@op("GatherND")
def gather_nd(node, x, indices):
    x, batch = as_tensor(x), node.get("batch_dims", 0)
    sizes = shape_of(x)[batch : batch + shape_of(indices)[-1]]
    return tf.gather_nd(x, _wrapped(indices, np.array(sizes)), batch_dims=batch)


def _places(indices, axis, sizes):
    """Where elements picked along one axis stand in the whole array: [..., rank]."""
    shape = shape_of(indices)
    axis %= len(sizes)
    wrapped = tf.cast(_wrapped(indices, sizes[axis]), tf.int32)
    grid = [np.broadcast_to(np.arange(size).reshape([-1 if k == i else 1 for k in range(len(shape))]), shape).astype(np.int32) for i, size in enumerate(shape)]
    return tf.stack([wrapped if i == axis else tf.constant(grid[i]) for i in range(len(shape))], axis=-1)


@op("GatherElements")
def gather_elements(node, x, indices):
    x = as_tensor(x)
    return tf.gather_nd(x, _places(indices, node.get("axis", 0), shape_of(x)))


_SCATTERS = {"none": tf.tensor_scatter_nd_update, "add": tf.tensor_scatter_nd_add, "max": tf.tensor_scatter_nd_max, "min": tf.tensor_scatter_nd_min}


def _scatter(node, x, places, updates):
    how = node.get("reduction", "none")
    return _multiplied(x, places, updates) if how == "mul" else _SCATTERS[how](x, places, updates)


def _multiplied(x, places, updates):
    """x times the product of the updates of each place."""
    sizes, depth = shape_of(x), shape_of(places)[-1]
    rows = math.prod(sizes[:depth])
    flat = tf.zeros([], places.dtype)
    for k in range(depth):
        flat = flat * sizes[k] + places[..., k]
    factors = tf.math.unsorted_segment_prod(tf.reshape(updates, [-1, math.prod(sizes[depth:])]), tf.reshape(flat, [-1]), rows)
    return x * tf.reshape(factors, sizes)


@op("ScatterElements", "Scatter")
def scatter_elements(node, x, indices, updates):
    x = as_tensor(x)
    return _scatter(node, x, _places(indices, node.get("axis", 0), shape_of(x)), as_tensor(updates))


@op("ScatterND")
def scatter_nd(node, x, indices, updates):
    x = as_tensor(x)
    return _scatter(node, x, _wrapped(indices, np.array(shape_of(x)[: shape_of(indices)[-1]])), as_tensor(updates))


@op("OneHot")
def one_hot(node, indices, depth, values):
    depth, values = int(known_scalar(depth, node, "depth")), as_tensor(values)
    picked = tf.one_hot(tf.cast(_wrapped(indices, depth), tf.int32), depth, axis=node.get("axis", -1), dtype=tf.int32)
    return tf.gather(values, picked)


@op("NonZero")
def non_zero(node, x):
    return np.array(np.nonzero(known(x, node, "the input")), np.int64)


@op("Compress")
def compress(node, x, condition):
    x = as_tensor(x)
    if "axis" not in node:
        x = tf.reshape(x, [-1])
    keep = np.flatnonzero(known(condition, node, "the condition"))
    return tf.gather(x, keep.astype(np.int32), axis=node.get("axis", 0))


@op("Einsum")
def einsum(node, *values):
    return tf.einsum(node["equation"], *(as_tensor(value) for value in values))


@op("BitCast")
def bit_cast(node, x):
    return tf.bitcast(as_tensor(x), tf.as_dtype(dtype_of(node["to"])))


@op("Unique")
def unique(node, x):
    """The values (or slices of an axis), where each stood first, which each element is, and how often each occurs."""
    x, axis = known(x, node, "the input"), node.get("axis")
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    if not node.get("sorted", 1):
        order = np.argsort(first, kind="stable")
        values, first, counts = np.take(values, order, axis=axis or 0), first[order], counts[order]
        inverse = np.argsort(order)[inverse]
    return values, *(part.reshape(-1).astype(np.int64) for part in (first, inverse, counts))


@op("Binarizer")
def binarizer(node, x):
    x = as_tensor(x)
    return tf.cast(x > node.get("threshold", 0.0), x.dtype)


@op("ArrayFeatureExtractor")
def array_feature_extractor(node, x, indices):
    x = as_tensor(x)
    picked = tf.gather(x, tf.reshape(as_tensor(indices), [-1]), axis=len(x.shape) - 1)
    return tf.expand_dims(picked, 0) if len(x.shape) == 1 else picked
