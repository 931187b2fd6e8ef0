"""Convolution, pooling, resizing: ONNX has channels first, the kernels have them last."""
import math

import numpy as np

import tandemflow as tf

from ..support import as_tensor, known, known_ints, op, shape_of


def _channels_last(x):
    return tf.transpose(x, [0, *range(2, len(x.shape)), 1])


def _channels_first(x):
    return tf.transpose(x, [0, len(x.shape) - 1, *range(1, len(x.shape) - 1)])


def _pads(node, sizes, kernel, strides, dilations):
    """[before, after] for each axis."""
    auto, count = node.get("auto_pad", "NOTSET"), len(kernel)
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        pads = []
        for size, k, s, d in zip(sizes, kernel, strides, dilations):
            total = max((math.ceil(size / s) - 1) * s + (k - 1) * d + 1 - size, 0)
            pads.append([total // 2, total - total // 2] if auto == "SAME_UPPER" else [total - total // 2, total // 2])
        return pads
    given = node.get("pads", [0] * 2 * count) if auto == "NOTSET" else [0] * 2 * count
    return [[given[i], given[i + count]] for i in range(count)]


def _window(node, x, kernel):
    count = len(kernel)
    strides, dilations = node.get("strides", [1] * count), node.get("dilations", [1] * count)
    return strides, dilations, _pads(node, shape_of(x)[2:], kernel, strides, dilations)


@op("Conv")
def conv(node, x, w, bias=None):
    x, w = as_tensor(x), as_tensor(w)
    kernel = node.get("kernel_shape", shape_of(w)[2:])
    strides, dilations, pads = _window(node, x, kernel)
    y = _channels_last(tf.pad(x, [[0, 0], [0, 0], *pads])) if any(map(any, pads)) else _channels_last(x)
    filters = tf.transpose(w, [*range(2, len(w.shape)), 1, 0])
    y = tf.nn.convolution(y, filters, strides=strides, padding="VALID", dilations=dilations)
    if bias is not None:
        y = tf.nn.bias_add(y, as_tensor(bias))
    return _channels_first(y)


@op("ConvTranspose")
def conv_transpose(node, x, w, bias=None):
    x, w = as_tensor(x), as_tensor(w)
    kernel, groups = node.get("kernel_shape", shape_of(w)[2:]), node.get("group", 1)
    count = len(kernel)
    strides, dilations = node.get("strides", [1] * count), node.get("dilations", [1] * count)
    extra = node.get("output_padding", [0] * count)
    if groups != 1 or any(d != 1 for d in dilations) or count > 2:
        raise NotImplementedError(f"node '{node.name}' (ConvTranspose): groups, dilations and more than two axes are not supported")
    full = [(size - 1) * s + k for size, s, k in zip(shape_of(x)[2:], strides, kernel)]
    if "output_shape" in node:  # what is missing is added behind
        extra = [max(e, size - f) for e, size, f in zip(extra, node["output_shape"][-count:], full)]
    pads = _transposed_pads(node, full, extra, strides, shape_of(x)[2:])
    if count == 1:  # as a picture of height one
        x, w, kernel, strides, full, extra, pads = (
            tf.expand_dims(x, 2), tf.expand_dims(w, 2), [1, *kernel], [1, *strides], [1, *full], [0, *extra], [[0, 0], *pads],
        )  # fmt: skip
    y = tf.nn.conv2d_transpose(_channels_last(x), tf.transpose(w, [2, 3, 1, 0]), [shape_of(x)[0], *full, shape_of(w)[1]], strides, "VALID")
    y = tf.pad(y, [[0, 0], *[[0, e] for e in extra], [0, 0]])
    y = y[(slice(None), *[slice(a, size + e - b) for (a, b), size, e in zip(pads, full, extra)])]
    if bias is not None:
        y = tf.nn.bias_add(y, as_tensor(bias))
    y = _channels_first(y)
    return tf.squeeze(y, [2]) if count == 1 else y


def _transposed_pads(node, full, extra, strides, sizes):
    """What is cut off on both sides of each axis."""
    auto, count = node.get("auto_pad", "NOTSET"), len(full)
    if "output_shape" in node or auto in ("SAME_UPPER", "SAME_LOWER"):
        wanted = node.get("output_shape", [size * s for size, s in zip(sizes, strides)])[-count:]
        totals = [f + e - size for f, e, size in zip(full, extra, wanted)]
        return [[t - t // 2, t // 2] if auto == "SAME_LOWER" else [t // 2, t - t // 2] for t in totals]
    given = node.get("pads", [0] * 2 * count) if auto == "NOTSET" else [0] * 2 * count
    return [[given[i], given[i + count]] for i in range(count)]


def _pool_pads(node, x, kernel, strides, dilations):
    """With ceil_mode the last window may reach over the edge, if it begins within it."""
    pads = _pads(node, shape_of(x)[2:], kernel, strides, dilations)
    reach = [list(p) for p in pads]
    if node.get("ceil_mode", 0):
        for i, size in enumerate(shape_of(x)[2:]):
            span = (kernel[i] - 1) * dilations[i] + 1
            outputs = math.ceil((size + sum(pads[i]) - span) / strides[i]) + 1
            if (outputs - 1) * strides[i] >= size + pads[i][0]:
                outputs -= 1
            reach[i][1] = max((outputs - 1) * strides[i] + span - size - pads[i][0], pads[i][1])
    return pads, reach


def _windows(x, kernel, strides, dilations):
    """The elements under each place of the window, one array a place: [batch, channels, outputs...]."""
    sizes = shape_of(x)[2:]
    outputs = [(size - (k - 1) * d - 1) // s + 1 for size, k, s, d in zip(sizes, kernel, strides, dilations)]
    for place in np.ndindex(*kernel):
        index = [slice(p * d, p * d + (o - 1) * s + 1, s) for p, d, o, s in zip(place, dilations, outputs, strides)]
        yield x[(slice(None), slice(None), *index)]


def _padded(x, pads, value):
    return tf.pad(x, [[0, 0], [0, 0], *pads], constant_values=value) if any(map(any, pads)) else x


@op("MaxPool")
def max_pool(node, x):
    x, kernel = as_tensor(x), node["kernel_shape"]
    if len(node.outputs) > 1:
        raise NotImplementedError(f"node '{node.name}' (MaxPool): the indices of the largest elements are not supported")
    strides, dilations = node.get("strides", [1] * len(kernel)), node.get("dilations", [1] * len(kernel))
    _, reach = _pool_pads(node, x, kernel, strides, dilations)
    floating = x.dtype.is_floating
    padded = _padded(x, reach, -np.inf if floating else np.iinfo(x.dtype.as_numpy_dtype).min)
    if len(kernel) == 2 and floating and all(d == 1 for d in dilations):
        return _channels_first(tf.nn.max_pool2d(_channels_last(padded), kernel, strides, "VALID"))
    largest = None
    for part in _windows(padded, kernel, strides, dilations):
        largest = part if largest is None else tf.maximum(largest, part)
    return largest


def _window_sum(x, kernel, strides, dilations):
    total = None
    for part in _windows(x, kernel, strides, dilations):
        total = part if total is None else total + part
    return total


@op("AveragePool")
def average_pool(node, x):
    x, kernel = as_tensor(x), node["kernel_shape"]
    strides, dilations = node.get("strides", [1] * len(kernel)), node.get("dilations", [1] * len(kernel))
    pads, reach = _pool_pads(node, x, kernel, strides, dilations)
    if len(kernel) == 2 and all(d == 1 for d in dilations) and not any(map(any, reach)):
        return _channels_first(tf.nn.avg_pool2d(_channels_last(x), kernel, strides, "VALID"))
    inside = np.ones([1, 1, *shape_of(x)[2:]], np.float32)
    if node.get("count_include_pad", 0):
        inside = np.pad(inside, [(0, 0), (0, 0), *map(tuple, pads)], constant_values=1)
        inside = np.pad(inside, [(0, 0), (0, 0), *[(0, r[1] - p[1]) for p, r in zip(pads, reach)]])
    else:
        inside = np.pad(inside, [(0, 0), (0, 0), *map(tuple, reach)])
    counts = _window_sum(inside, kernel, strides, dilations)
    return _window_sum(_padded(x, reach, 0.0), kernel, strides, dilations) / as_tensor(counts, x.dtype)


@op("LpPool")
def lp_pool(node, x):
    x, kernel, p = as_tensor(x), node["kernel_shape"], node.get("p", 2)
    strides, dilations = node.get("strides", [1] * len(kernel)), node.get("dilations", [1] * len(kernel))
    _, reach = _pool_pads(node, x, kernel, strides, dilations)
    powers = _window_sum(_padded(tf.pow(tf.abs(x), tf.constant(float(p), x.dtype)), reach, 0.0), kernel, strides, dilations)
    return tf.pow(powers, tf.constant(1.0 / p, x.dtype))


@op("GlobalAveragePool")
def global_average_pool(node, x):
    return tf.reduce_mean(as_tensor(x), list(range(2, len(x.shape))), True)


@op("GlobalMaxPool")
def global_max_pool(node, x):
    return tf.reduce_max(as_tensor(x), list(range(2, len(x.shape))), True)


@op("Resize", "Upsample")
def resize(node, x, *rest):
    x = as_tensor(x)
    if node.op == "Upsample":
        scales, sizes = (rest[0] if rest else np.array(node["scales"])), None
    else:
        scales, sizes = (*rest, None, None, None)[1:3] if node.opset > 10 else (rest[0], None)
    before = shape_of(x)
    if sizes is not None and not (isinstance(sizes, np.ndarray) and sizes.size == 0):
        after = known_ints(sizes, node, "sizes")
        factors = [a / b for a, b in zip(after, before)]
    else:
        factors = [float(f) for f in known(scales, node, "scales").ravel()]
        after = [int(math.floor(b * f)) for b, f in zip(before, factors)]
    if "axes" in node or node.get("keep_aspect_ratio_policy", "stretch") != "stretch" or node.get("antialias", 0):
        raise NotImplementedError(f"node '{node.name}' ({node.op}): axes, antialias and aspect policies are not supported")
    mode = node.get("mode", "nearest")
    for axis, (old, new, factor) in enumerate(zip(before, after, factors)):
        if old != new or factor != 1:
            x = _resized_axis(node, x, axis, old, new, factor, mode)
    return x


def _source_places(node, old, new, factor):
    """Where each new element lies among the old ones."""
    how = node.get("coordinate_transformation_mode", "half_pixel" if node.op == "Resize" and node.opset > 10 else "asymmetric")
    i = np.arange(new, dtype=np.float64)
    if how == "half_pixel":
        return (i + 0.5) / factor - 0.5
    if how == "pytorch_half_pixel":
        return (i + 0.5) / factor - 0.5 if new > 1 else np.zeros(1)
    if how == "align_corners":
        length = factor * old  # not rounded
        return i * (old - 1) / (length - 1) if length != 1 else np.zeros(new)
    if how == "asymmetric":
        return i / factor
    if how == "half_pixel_symmetric":
        return old / 2 * (1 - new / (factor * old)) + (i + 0.5) / factor - 0.5
    raise NotImplementedError(f"node '{node.name}' ({node.op}): coordinate_transformation_mode {how} is not supported")


def _resized_axis(node, x, axis, old, new, factor, mode):
    places = _source_places(node, old, new, factor)
    if mode == "nearest":
        rounding = {"round_prefer_floor": lambda p: np.ceil(p - 0.5), "round_prefer_ceil": lambda p: np.floor(p + 0.5), "floor": np.floor, "ceil": np.ceil}
        chosen = rounding[node.get("nearest_mode", "round_prefer_floor" if node.op == "Resize" and node.opset > 10 else "floor")](places)
        return tf.gather(x, np.clip(chosen, 0, old - 1).astype(np.int32), axis=axis)
    weights = _linear_weights(places, old) if mode == "linear" else _cubic_weights(places, old, node)
    y = tf.tensordot(x, tf.constant(weights.T.astype(np.float32), x.dtype), [[axis], [0]])
    rank = len(x.shape)
    return tf.transpose(y, [*range(axis), rank - 1, *range(axis, rank - 1)])


def _linear_weights(places, old):
    weights, clipped = np.zeros((len(places), old)), np.clip(places, 0, old - 1)
    for row, place in enumerate(clipped):
        low = min(int(math.floor(place)), old - 1)
        weights[row, low] += 1 - (place - low)
        weights[row, min(low + 1, old - 1)] += place - low
    return weights


def _cubic_weights(places, old, node):
    a, weights = node.get("cubic_coeff_a", -0.75), np.zeros((len(places), old))
    for row, place in enumerate(places):
        low = math.floor(place)
        t = place - low
        parts = [
            ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a,
            ((a + 2) * t - (a + 3)) * t * t + 1,
            ((a + 2) * (1 - t) - (a + 3)) * (1 - t) * (1 - t) + 1,
            ((a * (2 - t) - 5 * a) * (2 - t) + 8 * a) * (2 - t) - 4 * a,
        ]
        where = np.arange(low - 1, low + 3)
        if node.get("exclude_outside", 0):
            parts = [p if 0 <= w < old else 0.0 for p, w in zip(parts, where)]
            parts = [p / sum(parts) for p in parts]
        for part, at in zip(parts, where):
            weights[row, min(max(at, 0), old - 1)] += part
    return weights
