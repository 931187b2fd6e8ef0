"""Convolution and pooling: ONNX has channels first, the kernels have them last."""
import math

import numpy as np

import tandemflow as tf

from ..support import as_tensor, op, shape_of


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
    count = len(shape_of(w)) - 2
    if count > 3:
        raise NotImplementedError(f"node '{node.name}' (ConvTranspose): more than three axes are not supported")
    strides = node.get("strides", [1] * count)
    w = _spread(w, node.get("dilations", [1] * count))
    kernel, extra = shape_of(w)[2:], node.get("output_padding", [0] * count)
    full = [(size - 1) * s + k for size, s, k in zip(shape_of(x)[2:], strides, kernel)]
    if "output_shape" in node:  # what is missing is added behind
        extra = [max(e, size - f) for e, size, f in zip(extra, node["output_shape"][-count:], full)]
    pads = _transposed_pads(node, full, extra, strides, shape_of(x)[2:])
    if count == 1:  # as a picture of height one
        x, w, strides, full, extra, pads = tf.expand_dims(x, 2), tf.expand_dims(w, 2), [1, *strides], [1, *full], [0, *extra], [[0, 0], *pads]
    y = _transposed_groups(_channels_last(x), w, full, strides, node.get("group", 1))
    y = tf.pad(y, [[0, 0], *[[0, e] for e in extra], [0, 0]])
    y = y[(slice(None), *[slice(a, size + e - b) for (a, b), size, e in zip(pads, full, extra)])]
    if bias is not None:
        y = tf.nn.bias_add(y, as_tensor(bias))
    y = _channels_first(y)
    return tf.squeeze(y, [2]) if count == 1 else y


def _spread(w, dilations):
    """Filters with zeros between their elements."""
    for axis, d in enumerate(dilations, 2):
        if d > 1:
            sizes = shape_of(w)
            w = tf.pad(tf.expand_dims(w, axis + 1), [[0, d - 1 if i == axis + 1 else 0] for i in range(len(sizes) + 1)])
            w = tf.reshape(w, [*sizes[:axis], sizes[axis] * d, *sizes[axis + 1 :]])
            w = tf.gather(w, np.arange((sizes[axis] - 1) * d + 1, dtype=np.int32), axis=axis)
    return w


def _transposed_groups(x, w, full, strides, groups):
    """x with channels last, w [channels, outputs of a group, sizes...]."""
    transposed = tf.nn.conv2d_transpose if len(full) == 2 else tf.nn.conv3d_transpose
    channels, results = shape_of(w)[0] // groups, []
    for g in range(groups):
        of_group = slice(g * channels, (g + 1) * channels)
        filters = tf.transpose(w[of_group], [*range(2, len(w.shape)), 1, 0])
        results.append(transposed(x[..., of_group], filters, [shape_of(x)[0], *full, shape_of(w)[1]], strides, "VALID"))
    return tf.concat(results, -1) if groups > 1 else results[0]


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
    strides, dilations = node.get("strides", [1] * len(kernel)), node.get("dilations", [1] * len(kernel))
    _, reach = _pool_pads(node, x, kernel, strides, dilations)
    floating = x.dtype.is_floating
    padded = _padded(x, reach, -np.inf if floating else np.iinfo(x.dtype.as_numpy_dtype).min)
    if len(node.outputs) > 1:
        return _max_with_places(padded, _padded(_places(node, x), reach, -1), kernel, strides, dilations)
    if len(kernel) == 2 and floating and all(d == 1 for d in dilations):
        return _channels_first(tf.nn.max_pool2d(_channels_last(padded), kernel, strides, "VALID"))
    largest = None
    for part in _windows(padded, kernel, strides, dilations):
        largest = part if largest is None else tf.maximum(largest, part)
    return largest


def _places(node, x):
    """The number of each element; with storage_order the axes of a picture count the other way round."""
    sizes = shape_of(x)
    numbers = np.arange(math.prod(sizes), dtype=np.int64)
    if node.get("storage_order", 0):
        return tf.constant(numbers.reshape([*sizes[:2], *sizes[:1:-1]]).transpose([0, 1, *range(len(sizes) - 1, 1, -1)]))
    return tf.constant(numbers.reshape(sizes))


def _max_with_places(x, places, kernel, strides, dilations):
    """The largest element of each window and its number; of equal ones the first."""
    largest = chosen = None
    for part, place in zip(_windows(x, kernel, strides, dilations), _windows(places, kernel, strides, dilations)):
        if largest is None:
            largest, chosen = part, place + tf.zeros(shape_of(part), tf.int64)
        else:
            is_larger = part > largest
            largest, chosen = tf.where(is_larger, part, largest), tf.where(is_larger, place, chosen)
    return largest, chosen


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
