"""Reading images at places between their elements, and putting patches back."""
import math

import numpy as np

import tandemflow as tf

from ..support import as_tensor, is_known, known, known_ints, known_scalar, op, shape_of


def _mirrored(place, low, high):
    """Places beyond [low, high] thrown back at the edges, as often as needed."""
    span = high - low
    if span <= 0:
        return tf.zeros_like(place)
    away = tf.math.floormod(place - low, 2.0 * span)
    return low + tf.minimum(away, 2.0 * span - away)


def _within(place, size, padding, align_corners):
    if padding == "border":
        return tf.clip_by_value(place, 0.0, size - 1.0)
    if padding == "reflection":
        edges = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
        return tf.clip_by_value(_mirrored(place, *edges), 0.0, size - 1.0)
    return place


def _cubic_share(offset, a=-0.75):
    """What an element at this distance counts for, in Keys' interpolation."""
    x = tf.abs(offset)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return tf.where(x <= 1.0, near, tf.where(x < 2.0, far, tf.zeros_like(x)))


def _linear_share(offset):
    return tf.maximum(1.0 - tf.abs(offset), 0.0)


def _taps(place, mode):
    """[(element, share)] along one axis; a share of None counts fully."""
    if mode == "nearest":
        return [(tf.math.rint(place), None)]
    first = tf.floor(place)
    steps, share = (range(2), _linear_share) if mode == "linear" else (range(-1, 3), _cubic_share)
    return [(first + float(step), share(place - first - float(step))) for step in steps]


def _read(flat, taps, sizes, padding, align_corners):
    """The elements [batch, places, channels] at one element of each axis; 0 outside if the padding says so."""
    index, weight = 0, None
    for (element, share), size in zip(taps, sizes):
        inside = tf.logical_and(element >= 0.0, element <= size - 1.0) if padding == "zeros" else None
        element = tf.clip_by_value(_within(element, size, padding, align_corners), 0.0, size - 1.0)
        index = index * size + tf.cast(element, tf.int32)
        for factor in (share, None if inside is None else tf.cast(inside, flat.dtype)):
            weight = factor if weight is None else weight if factor is None else weight * factor
    values = tf.gather(flat, index, batch_dims=1)
    return values if weight is None else values * tf.expand_dims(weight, -1)


def _product(lists):
    """All ways to take one of each list."""
    ways = [[]]
    for choices in lists:
        ways = [[*way, choice] for way in ways for choice in choices]
    return ways


@op("GridSample")
def grid_sample(node, x, grid):
    """x [batch, channels, sizes...] at grid [batch, outputs..., axes], from -1 to 1, the last axis first."""
    x, grid = as_tensor(x), as_tensor(grid)
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(node.get("mode", "linear"), node.get("mode", "linear"))
    padding, align_corners = node.get("padding_mode", "zeros"), node.get("align_corners", 0)
    (batch, channels, *sizes), outputs = shape_of(x), shape_of(grid)[1:-1]
    flat = tf.transpose(tf.reshape(x, [batch, channels, -1]), [0, 2, 1])
    axes = []
    for axis, size in enumerate(sizes):
        place = tf.reshape(grid[..., len(sizes) - 1 - axis], [batch, -1])
        place = (place + 1.0) * ((size - 1) / 2) if align_corners else ((place + 1.0) * float(size) - 1.0) / 2.0
        if mode != "cubic":  # whose elements are kept within, one by one
            place = _within(place, size, padding, align_corners)
        axes.append(_taps(place, mode))
    total = None
    for taps in _product(axes):
        part = _read(flat, taps, sizes, padding, align_corners)
        total = part if total is None else total + part
    return tf.reshape(tf.transpose(total, [0, 2, 1]), [batch, channels, *outputs])


@op("AffineGrid")
def affine_grid(node, theta, size):
    theta = as_tensor(theta)
    sizes = known_ints(size, node, "size")[2:]
    steps = []
    for n in sizes:
        steps.append(np.linspace(-1, 1, n) if node.get("align_corners", 0) else (np.arange(n) * 2 + 1) / n - 1)
    places = np.stack([*reversed(np.meshgrid(*steps, indexing="ij")), np.ones(sizes)], -1).reshape(-1, len(sizes) + 1)
    turned = tf.matmul(tf.constant(places, theta.dtype), theta, transpose_b=True)  # broadcasts over the batch
    return tf.reshape(turned, [shape_of(theta)[0], *sizes, len(sizes)])


@op("NonMaxSuppression")
def non_max_suppression(node, boxes, scores, most=None, overlap=None, least=None):
    """[batch, class, box] of boxes that overlap with no better one of their class."""
    boxes, scores = known(boxes, node, "the boxes"), known(scores, node, "the scores")
    most = 0 if most is None else int(known_scalar(most, node, "max_output_boxes_per_class"))
    overlap = 0.0 if overlap is None else float(known_scalar(overlap, node, "iou_threshold"))
    least = -math.inf if least is None else float(known_scalar(least, node, "score_threshold"))
    if node.get("center_point_box", 0):
        x, y, width, height = np.moveaxis(boxes, -1, 0)
        boxes = np.stack([y - height / 2, x - width / 2, y + height / 2, x + width / 2], -1)
    chosen = []
    for batch, classes in enumerate(scores):
        for number, of_class in enumerate(classes):
            kept = tf.image.non_max_suppression(boxes[batch], of_class, most, overlap, least).numpy() if most else ()
            chosen += [(batch, number, int(box)) for box in kept]
    return np.array(chosen, np.int64).reshape(-1, 3)


@op("Col2Im")
def col2im(node, x, image, block):
    """Patches added up where they lie in the image."""
    x, image, block = as_tensor(x), known_ints(image, node, "image_shape"), known_ints(block, node, "block_shape")
    count = len(image)
    strides, dilations = node.get("strides", [1] * count), node.get("dilations", [1] * count)
    given = node.get("pads", [0] * 2 * count)
    padded = [size + given[i] + given[i + count] for i, size in enumerate(image)]
    outputs = [(size - (k - 1) * d - 1) // s + 1 for size, k, d, s in zip(padded, block, dilations, strides)]
    first = np.indices(outputs).reshape(count, -1) * np.array(strides)[:, None]
    inner = np.indices(block).reshape(count, -1) * np.array(dilations)[:, None]
    places = np.ravel_multi_index(tuple(inner[:, :, None] + first[:, None, :]), padded).reshape(-1)
    batch, channels = shape_of(x)[0], shape_of(x)[1] // math.prod(block)
    columns = tf.reshape(tf.transpose(tf.reshape(x, [batch, channels, -1]), [2, 0, 1]), [len(places), -1])
    whole = tf.scatter_nd(places[:, None].astype(np.int32), columns, [math.prod(padded), batch * channels])
    whole = tf.reshape(tf.transpose(whole), [batch, channels, *padded])
    return whole[(slice(None), slice(None), *[slice(given[i], given[i] + size) for i, size in enumerate(image)])]


@op("MaxUnpool")
def max_unpool(node, x, indices, output=None):
    x, kernel = as_tensor(x), node["kernel_shape"]
    count, before = len(kernel), shape_of(x)
    strides, given = node.get("strides", [1] * count), node.get("pads", [0] * 2 * count)
    sizes = [(n - 1) * s + k - given[i] - given[i + count] for i, (n, s, k) in enumerate(zip(before[2:], strides, kernel))]
    plain = [*before[:2], *sizes]
    wanted = plain if output is None else known_ints(output, node, "output_shape")
    # Indices count in the plain shape; a larger one holds it in its corner.
    flat = tf.scatter_nd(tf.reshape(as_tensor(indices), [-1, 1]), tf.reshape(x, [-1]), [math.prod(plain)])
    return tf.pad(tf.reshape(flat, plain), [[0, w - p] for w, p in zip(wanted, plain)])


@op("RoiAlign")
def roi_align(node, x, rois, batches):
    x, rois = as_tensor(x), as_tensor(rois)
    height, width, ratio = node.get("output_height", 1), node.get("output_width", 1), node.get("sampling_ratio", 0)
    half = node.get("coordinate_transformation_mode", "half_pixel" if node.opset >= 16 else "output_half_pixel") == "half_pixel"
    corners = rois * node.get("spatial_scale", 1.0) - (0.5 if half else 0.0)
    _, channels, rows, columns = shape_of(x)
    count = shape_of(rois)[0]
    lengths = corners[:, 2:] - corners[:, :2]
    if not half:
        lengths = tf.maximum(lengths, 1.0)
    if not ratio and not is_known(lengths):
        lengths_known = known(lengths, node, "rois (without a sampling_ratio)")
        ratios = [math.ceil(float(np.max(lengths_known[:, axis], initial=0)) / bins) for axis, bins in ((1, height), (0, width))]
        if len({(math.ceil(h / height), math.ceil(w / width)) for w, h in lengths_known}) > 1:
            raise NotImplementedError(f"node '{node.name}' (RoiAlign): regions that need different numbers of samples are not supported; give a sampling_ratio")
    else:
        ratios = [ratio, ratio]
    flat = tf.gather(tf.transpose(tf.reshape(x, [shape_of(x)[0], channels, -1]), [0, 2, 1]), as_tensor(batches))
    places = []
    for axis, bins, samples, size in ((1, height, ratios[0], rows), (0, width, ratios[1], columns)):
        steps = (np.arange(bins * samples) + 0.5) / samples / bins
        place = corners[:, axis : axis + 1] + lengths[:, axis : axis + 1] * tf.constant(steps[None], x.dtype)
        places.append((place, size, bins, samples))
    (down, _, _, per_row), (across, _, _, per_column) = places
    grid = [tf.expand_dims(down, 2) + tf.zeros_like(tf.expand_dims(across, 1)), tf.expand_dims(across, 1) + tf.zeros_like(tf.expand_dims(down, 2))]
    outside = tf.zeros_like(grid[0], tf.bool)
    axes = []
    for place, size in zip(grid, (rows, columns)):
        outside = tf.logical_or(outside, tf.logical_or(place < -1.0, place > float(size)))
        axes.append(_taps(tf.reshape(tf.clip_by_value(place, 0.0, size - 1.0), [count, -1]), "linear"))
    parts = [_read(flat, taps, (rows, columns), "border", 0) for taps in _product(axes)]
    is_max = node.get("mode", "avg") == "max"
    total = parts[0]
    for part in parts[1:]:
        total = tf.maximum(total, part) if is_max else total + part
    total = tf.where(tf.reshape(outside, [count, -1, 1]), tf.zeros_like(total), total)
    cells = tf.reshape(total, [count, height, per_row, width, per_column, channels])
    joined = tf.reduce_max(cells, [2, 4]) if is_max else tf.reduce_mean(cells, [2, 4])
    return tf.transpose(joined, [0, 3, 1, 2])


@op("DeformConv")
def deform_conv(node, x, w, offset, bias=None, mask=None):
    """Each place of the window is read at a distance of its own."""
    x, w, offset = as_tensor(x), as_tensor(w), as_tensor(offset)
    kernel = node.get("kernel_shape", shape_of(w)[2:])
    if len(kernel) != 2:
        raise NotImplementedError(f"node '{node.name}' (DeformConv): only two axes are supported")
    strides, dilations, pads = node.get("strides", [1, 1]), node.get("dilations", [1, 1]), node.get("pads", [0] * 4)
    groups, offset_groups = node.get("group", 1), node.get("offset_group", 1)
    batch, channels, *sizes = shape_of(x)
    outputs, places = shape_of(offset)[2:], math.prod(kernel)
    offset = tf.reshape(offset, [batch, offset_groups, places, 2, *outputs])
    taken = []
    for group in range(offset_groups):
        part = x[:, group * channels // offset_groups : (group + 1) * channels // offset_groups]
        flat = tf.transpose(tf.reshape(part, [batch, shape_of(part)[1], -1]), [0, 2, 1])
        axes = []
        for axis in range(2):
            inner = (np.indices(kernel)[axis].ravel() * dilations[axis] - pads[axis])[:, None, None]
            first = np.indices(outputs)[axis] * strides[axis]
            place = offset[:, group, :, axis] + tf.constant(inner + first[None], x.dtype)
            axes.append(_taps(tf.reshape(place, [batch, -1]), "linear"))
        values = None
        for taps in _product(axes):
            read = _read(flat, taps, sizes, "zeros", 0)
            values = read if values is None else values + read
        values = tf.reshape(values, [batch, places, *outputs, shape_of(part)[1]])
        if mask is not None:
            values = values * tf.expand_dims(tf.reshape(as_tensor(mask), [batch, offset_groups, places, *outputs])[:, group], -1)
        taken.append(values)
    columns = tf.concat(taken, -1)  # [batch, places, outputs..., channels]
    filters, results = shape_of(w)[0] // groups, []
    for group in range(groups):
        part = columns[..., group * channels // groups : (group + 1) * channels // groups]
        weights = tf.reshape(w[group * filters : (group + 1) * filters], [filters, channels // groups, places])
        results.append(tf.einsum("bkhwc,fck->bfhw", part, weights))
    y = tf.concat(results, 1)
    return y if bias is None else y + tf.reshape(as_tensor(bias), [1, -1, 1, 1])
