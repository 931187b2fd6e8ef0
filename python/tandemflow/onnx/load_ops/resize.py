"""Resize: each axis by itself, as a gather or a product with weights."""
import math

import numpy as np

import tandemflow as tf

from ..support import as_tensor, known, known_ints, op, shape_of


def _is_given(value):
    return value is not None and not (isinstance(value, np.ndarray) and value.size == 0)


def _sizes_and_factors(node, before, scales, sizes):
    """The new size of each axis, and how much larger it is."""
    if not _is_given(sizes):
        factors = [float(f) for f in known(scales, node, "scales").ravel()]
        return [int(math.floor(b * f)) for b, f in zip(before, factors)], factors
    after = known_ints(sizes, node, "sizes")
    policy = node.get("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return after, [a / b for a, b in zip(after, before)]
    factor = (min if policy == "not_larger" else max)(a / b for a, b in zip(after, before))
    return [int(math.floor(factor * b + 0.5)) for b in before], [factor] * len(before)


@op("Resize", "Upsample")
def resize(node, x, *rest):
    x, roi = as_tensor(x), None
    if node.op == "Upsample":
        scales, sizes = (rest[0] if rest else np.array(node["scales"])), None
    else:
        roi, scales, sizes = (*rest, None, None, None)[:3] if node.opset > 10 else (None, rest[0], None)
    rank = len(x.shape)
    axes = [axis % rank for axis in node.get("axes", range(rank))]
    before = [shape_of(x)[axis] for axis in axes]
    after, factors = _sizes_and_factors(node, before, scales, sizes)
    edges = known(roi, node, "roi").ravel() if _is_given(roi) else np.array([0.0] * len(axes) + [1.0] * len(axes))
    is_crop = node.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    for i, (axis, old, new, factor) in enumerate(zip(axes, before, after, factors)):
        if old != new or factor != 1 or is_crop:
            x = _resized_axis(node, x, axis, _source_places(node, old, new, factor, edges[[i, i + len(axes)]]), old, factor, is_crop)
    return x


def _source_places(node, old, new, factor, edges):
    """Where each new element lies among the old ones."""
    how = node.get("coordinate_transformation_mode", "half_pixel" if node.op == "Resize" and node.opset > 10 else "asymmetric")
    i, length = np.arange(new, dtype=np.float64), factor * old  # not rounded
    if how == "half_pixel":
        return (i + 0.5) / factor - 0.5
    if how == "pytorch_half_pixel":
        return (i + 0.5) / factor - 0.5 if new > 1 else np.zeros(1)
    if how == "align_corners":
        return i * (old - 1) / (length - 1) if length != 1 else np.zeros(new)
    if how == "asymmetric":
        return i / factor
    if how == "half_pixel_symmetric":
        return old / 2 * (1 - new / length) + (i + 0.5) / factor - 0.5
    if how == "tf_crop_and_resize":
        begin, end = (float(edge) for edge in edges)
        share = i / (length - 1) if length != 1 else np.full(new, 0.5)
        return (begin + share * (end - begin)) * (old - 1)
    raise NotImplementedError(f"node '{node.name}' ({node.op}): coordinate_transformation_mode {how} is not supported")


def _resized_axis(node, x, axis, places, old, factor, is_crop):
    mode, rank = node.get("mode", "nearest"), len(x.shape)
    if mode == "nearest":
        rounding = {"round_prefer_floor": lambda p: np.ceil(p - 0.5), "round_prefer_ceil": lambda p: np.floor(p + 0.5), "floor": np.floor, "ceil": np.ceil}
        chosen = rounding[node.get("nearest_mode", "round_prefer_floor" if node.op == "Resize" and node.opset > 10 else "floor")](places)
        y = tf.gather(x, np.clip(chosen, 0, old - 1).astype(np.int32), axis=axis)
    else:
        weights = _weights(node, places, old, min(factor, 1.0) if node.get("antialias", 0) else 1.0, mode)
        y = tf.tensordot(x, tf.constant(weights.T.astype(np.float32), x.dtype), [[axis], [0]])
        y = tf.transpose(y, [*range(axis), rank - 1, *range(axis, rank - 1)])
    outside = (places < 0) | (places > old - 1)
    if is_crop and outside.any():
        there = tf.constant(outside.reshape([-1 if i == axis else 1 for i in range(rank)]))
        y = tf.where(there, tf.constant(node.get("extrapolation_value", 0.0), y.dtype), y)
    return y


def _weights(node, places, old, shrunk, mode):
    """[new, old]; antialiasing widens what counts by as much as the axis gets shorter."""
    a, reach, weights = node.get("cubic_coeff_a", -0.75), 1 if mode == "linear" else 2, np.zeros((len(places), old))
    for row, place in zip(weights, places):
        at = np.arange(math.floor(place - reach / shrunk), math.ceil(place + reach / shrunk) + 1)
        d = np.abs(at - place) * shrunk
        if mode == "linear":
            parts = np.maximum(1 - d, 0)
        else:
            parts = np.where(d <= 1, ((a + 2) * d - (a + 3)) * d * d + 1, np.where(d < 2, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a, 0))
        if node.get("exclude_outside", 0):
            parts = np.where((at >= 0) & (at < old), parts, 0)
        np.add.at(row, np.clip(at, 0, old - 1), parts / parts.sum())
    return weights
