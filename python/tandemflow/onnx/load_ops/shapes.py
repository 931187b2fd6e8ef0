"""Ops that move elements, and those that make arrays."""
import numpy as np

import tandemflow as tf

from ..support import as_tensor, axes_of, known_ints, known_scalar, op, shape_of
from ..tensors import dtype_of


@op("Shape")
def shape(node, x):
    sizes = shape_of(x)
    rank = len(sizes)
    start, end = (min(max(v + rank if v < 0 else v, 0), rank) for v in (node.get("start", 0), node.get("end", rank)))
    return np.array(sizes[start:end], np.int64)


@op("Size")
def size(node, x):
    return np.array(int(np.prod(shape_of(x))), np.int64)


@op("Reshape")
def reshape(node, x, target=None):
    x = as_tensor(x)
    sizes = known_ints(target, node, "the shape") if target is not None else node["shape"]
    if not node.get("allowzero", 0):
        sizes = [shape_of(x)[i] if size == 0 else size for i, size in enumerate(sizes)]
    return tf.reshape(x, sizes)


@op("Flatten")
def flatten(node, x):
    x, axis = as_tensor(x), node.get("axis", 1)
    axis += len(x.shape) if axis < 0 else 0
    return tf.reshape(x, [int(np.prod(shape_of(x)[:axis])), int(np.prod(shape_of(x)[axis:]))])


@op("Transpose")
def transpose(node, x):
    return tf.transpose(as_tensor(x), node.get("perm"))


@op("Squeeze")
def squeeze(node, x, axes=None):
    return tf.squeeze(as_tensor(x), axes_of(node, axes))


@op("Unsqueeze")
def unsqueeze(node, x, axes=None):
    x = as_tensor(x)
    axes = axes_of(node, axes)
    for axis in sorted(axis % (len(x.shape) + len(axes)) for axis in axes):
        x = tf.expand_dims(x, axis)
    return x


@op("Concat")
def concat(node, *values):
    return tf.concat([as_tensor(value) for value in values], node["axis"])


@op("Split")
def split(node, x, sizes=None):
    x, axis = as_tensor(x), node.get("axis", 0)
    if sizes is not None or "split" in node:
        parts = known_ints(sizes, node, "the sizes") if sizes is not None else node["split"]
    else:
        count, length = node.get("num_outputs", len(node.outputs)), shape_of(x)[axis]
        part = -(-length // count)
        parts = [part] * (count - 1) + [length - part * (count - 1)]
    return tuple(tf.split(x, parts, axis))


@op("Slice")
def slice_(node, x, starts=None, ends=None, axes=None, steps=None):
    x = as_tensor(x)
    starts = known_ints(starts, node, "starts") if starts is not None else node["starts"]
    ends = known_ints(ends, node, "ends") if ends is not None else node["ends"]
    axes = axes_of(node, axes, list(range(len(starts))), len(x.shape))
    steps = known_ints(steps, node, "steps") if steps is not None else [1] * len(starts)
    index = [slice(None)] * len(x.shape)
    for start, end, axis, step in zip(starts, ends, axes, steps):
        index[axis] = slice(*slice(start, None if step < 0 and end < -shape_of(x)[axis] else end, step).indices(shape_of(x)[axis]))
        if step < 0 and index[axis].stop < 0:
            index[axis] = slice(index[axis].start, None, step)
    return x[tuple(index)]


@op("Expand")
def expand(node, x, target):
    x = as_tensor(x)
    sizes = np.broadcast_shapes(tuple(shape_of(x)), tuple(known_ints(target, node, "the shape")))
    return tf.broadcast_to(x, list(sizes))


@op("Tile")
def tile(node, x, repeats):
    return tf.tile(as_tensor(x), known_ints(repeats, node, "repeats"))


@op("Pad")
def pad(node, x, pads=None, value=None, axes=None):
    x = as_tensor(x)
    pads = known_ints(pads, node, "pads") if pads is not None else node["pads"]
    axes = known_ints(axes, node, "axes") if axes is not None else range(len(x.shape))
    paddings = [[0, 0] for _ in x.shape]
    for i, axis in enumerate(axes):
        paddings[axis] = [pads[i], pads[i + len(pads) // 2]]
    index = tuple(slice(-min(a, 0), size + min(b, 0)) for (a, b), size in zip(paddings, shape_of(x)))  # negative: cut off
    x, paddings = x[index], [[max(a, 0), max(b, 0)] for a, b in paddings]
    mode = node.get("mode", "constant")
    if mode == "constant":
        fill = known_scalar(value, node, "the value") if value is not None else node.get("value", 0.0)
        return tf.pad(x, paddings, constant_values=fill) if x.dtype != tf.bool else tf.cast(tf.pad(tf.cast(x, tf.int32), paddings, constant_values=int(fill)), tf.bool)
    if mode == "reflect":
        return tf.pad(x, paddings, "REFLECT")
    for axis, (before, after) in enumerate(paddings):  # edge and wrap: by picking
        length = shape_of(x)[axis]
        places = np.arange(-before, length + after)
        places = np.clip(places, 0, length - 1) if mode == "edge" else places % length
        x = tf.gather(x, places.astype(np.int32), axis=axis)
    return x


@op("ConstantOfShape")
def constant_of_shape(node, sizes):
    value = np.asarray(node.get("value", np.zeros(1, np.float32)))
    return np.full(known_ints(sizes, node, "the shape"), value.ravel()[0], value.dtype)


@op("Constant")
def constant(node):
    for name in ("value", "value_float", "value_floats", "value_int", "value_ints", "value_string", "value_strings"):
        if name in node:
            value = node.get(name)
            kind = np.float32 if "float" in name else np.int64 if "int" in name else np.object_ if "string" in name else None
            return np.asarray(value) if kind is None else np.array(value, kind)
    raise NotImplementedError(f"node '{node.name}' (Constant): only tensors, numbers and strings are supported")


@op("Range")
def range_(node, start, limit, delta):
    values = [np.asarray(known_scalar(v, node, "the range")) for v in (start, limit, delta)]
    dtype = as_tensor(start).dtype
    return tf.range(*(v.item() for v in values), dtype=dtype)


@op("EyeLike")
def eye_like(node, x):
    rows, columns = shape_of(x)
    dtype = dtype_of(node["dtype"]) if "dtype" in node else np.asarray(x).dtype if isinstance(x, np.ndarray) else x.dtype.as_numpy_dtype
    return np.eye(rows, columns, node.get("k", 0), dtype)


@op("DepthToSpace")
def depth_to_space(node, x):
    x, block = as_tensor(x), node["blocksize"]
    n, c, h, w = shape_of(x)
    if node.get("mode", "DCR") == "DCR":
        parts, order = [n, block, block, c // block**2, h, w], [0, 3, 4, 1, 5, 2]
    else:
        parts, order = [n, c // block**2, block, block, h, w], [0, 1, 4, 2, 5, 3]
    return tf.reshape(tf.transpose(tf.reshape(x, parts), order), [n, c // block**2, h * block, w * block])


@op("SpaceToDepth")
def space_to_depth(node, x):
    x, block = as_tensor(x), node["blocksize"]
    n, c, h, w = shape_of(x)
    parts = tf.reshape(x, [n, c, h // block, block, w // block, block])
    order = [0, 3, 5, 1, 2, 4] if node.get("mode", "DCR") == "DCR" else [0, 1, 3, 5, 2, 4]
    return tf.reshape(tf.transpose(parts, order), [n, c * block**2, h // block, w // block])


@op("Trilu")
def trilu(node, x, k=None):
    x = as_tensor(x)
    offset = int(known_scalar(k, node, "k")) if k is not None else 0
    rows, columns = shape_of(x)[-2:]
    difference = np.arange(columns)[None, :] - np.arange(rows)[:, None]
    keep = difference >= offset if node.get("upper", 1) else difference <= offset
    return tf.where(keep, x, tf.zeros_like(x))


@op("ReverseSequence")
def reverse_sequence(node, x, lengths):
    return tf.reverse_sequence(as_tensor(x), as_tensor(lengths), node.get("time_axis", 0), node.get("batch_axis", 1))


@op("CenterCropPad")
def center_crop_pad(node, x, target):
    x = as_tensor(x)
    axes = axes_of(node, None, list(range(len(x.shape))), len(x.shape))
    for axis, wanted in zip(axes, known_ints(target, node, "the shape")):
        length = shape_of(x)[axis]
        if wanted < length:
            first = (length - wanted) // 2
            x = x[tuple(slice(first, first + wanted) if i == axis else slice(None) for i in range(len(x.shape)))]
        elif wanted > length:
            first = (wanted - length) // 2
            x = tf.pad(x, [[first, wanted - length - first] if i == axis else [0, 0] for i in range(len(x.shape))])
    return x
