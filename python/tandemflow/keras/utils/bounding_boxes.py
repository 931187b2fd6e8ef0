"""keras.utils.bounding_boxes: rectangles in pictures, in the formats that data sets use."""
import math

from ... import _ops, _tandem
from .._engine.floats import epsilon

_FORMATS = ("xyxy", "yxyx", "xywh", "center_xywh", "center_yxhw", "rel_xyxy", "rel_yxyx", "rel_xywh", "rel_center_xywh")


def _columns(boxes):
    return [boxes[..., i : i + 1] for i in range(4)]


def _to_xyxy(boxes, source):
    a, b, c, d = _columns(boxes)
    if source == "yxyx":
        return [b, a, d, c]
    if source == "xywh":
        return [a, b, a + c, b + d]
    if source == "center_xywh":
        return [a - c / 2.0, b - d / 2.0, a + c / 2.0, b + d / 2.0]
    if source == "center_yxhw":
        return [b - d / 2.0, a - c / 2.0, b + d / 2.0, a + c / 2.0]
    return [a, b, c, d]


def _from_xyxy(left, top, right, bottom, target):
    width, height = right - left, bottom - top
    parts = {
        "xyxy": [left, top, right, bottom],
        "yxyx": [top, left, bottom, right],
        "xywh": [left, top, width, height],
        "center_xywh": [left + width / 2.0, top + height / 2.0, width, height],
        "center_yxhw": [top + height / 2.0, left + width / 2.0, height, width],
    }
    return _ops.concat(parts[target], -1)


def convert_format(boxes, source, target, height=None, width=None, dtype="float32"):
    """Boxes […, 4] in another format; those that begin with "rel_" are shares of the picture's height and width."""
    if isinstance(boxes, dict):
        return {**boxes, "boxes": convert_format(boxes["boxes"], source, target, height, width, dtype)}
    boxes = _ops.cast(_tandem.to_tensor(boxes), dtype)
    if boxes.shape[-1] != 4:
        raise ValueError(f"`boxes` must be a tensor with the last dimension of 4. Received: boxes.shape={tuple(boxes.shape)}")
    source, target = source.lower(), target.lower()
    if source not in _FORMATS or target not in _FORMATS:
        raise ValueError(f"Invalid source or target format. Supported formats: {_FORMATS}")
    relative = [name.startswith("rel_") for name in (source, target)]
    if any(relative) and (height is None or width is None):
        raise ValueError(f"convert_format() must receive `height` and `width` transforming between relative and absolute formats. It received source={source}, target={target}, but height={height} and width={width}.")
    if source == target:
        return boxes
    sides = _to_xyxy(boxes, source.removeprefix("rel_"))
    if relative[0] != relative[1]:
        scales = [float(size) if relative[0] else 1.0 / float(size) for size in (width, height)]
        sides = [side * scales[i % 2] for i, side in enumerate(sides)]
    return _from_xyxy(*sides, target.removeprefix("rel_"))


def _only_xyxy(name, bounding_box_format):
    if bounding_box_format != "xyxy":
        raise NotImplementedError(f"{name}: bounding_box_format must be 'xyxy', got '{bounding_box_format}'; see convert_format")


def _cut(boxes, width, height):
    sides = _columns(boxes)
    return _ops.concat([_ops.clip_by_value(side, 0.0, float((width, height)[i % 2])) for i, side in enumerate(sides)], -1)


def clip_to_image_size(bounding_boxes, height=None, width=None, bounding_box_format="xyxy"):
    """{"boxes", "labels"} with what stands out of the picture cut off; boxes that are left without an area get the label -1."""
    if bounding_box_format not in ("xyxy", "rel_xyxy"):
        raise NotImplementedError(f"clip_to_image_size: bounding_box_format must be 'xyxy' or 'rel_xyxy', got '{bounding_box_format}'")
    if bounding_box_format == "xyxy" and (height is None or width is None):
        raise ValueError("`height` and `width` must be set if `format='xyxy'`.")
    ends = (1.0, 1.0) if bounding_box_format == "rel_xyxy" else (width, height)
    out = {**bounding_boxes, "boxes": _cut(_tandem.to_tensor(bounding_boxes["boxes"]), *ends)}
    if bounding_boxes.get("labels") is not None:
        left, top, right, bottom = _columns(out["boxes"])
        labels = _tandem.to_tensor(bounding_boxes["labels"])
        seen = _ops.squeeze((right - left) * (bottom - top), [-1]) > 0.0
        out["labels"] = _ops.where(seen, labels, _ops.cast(_ops.ones_like(labels) * -1, labels.dtype))
    return out


def crop(boxes, top, left, height, width, bounding_box_format="xyxy"):
    """Boxes as they lie in a cut-out of this size that begins at (top, left)."""
    _only_xyxy("crop", bounding_box_format)
    return _cut(_moved(boxes, -left, -top), width, height)


def pad(boxes, top, left, height=None, width=None, bounding_box_format="xyxy"):
    """Boxes as they lie in a picture with a margin above and at the left."""
    _only_xyxy("pad", bounding_box_format)
    return _moved(boxes, left, top)


def _moved(boxes, x, y):
    sides = _columns(_tandem.to_tensor(boxes))
    return _ops.concat([side + _ops.cast((x, y)[i % 2], side.dtype) for i, side in enumerate(sides)], -1)


# --- How much boxes overlap ---


def _sizes(image_shape):
    return (None, None) if image_shape is None else tuple(image_shape)[:2]


def compute_iou(boxes1, boxes2, bounding_box_format, use_masking=False, mask_val=-1, image_shape=None):
    """[…, n, m]: the common area of each pair by that of both; with masking mask_val for boxes whose numbers are all negative."""
    if "rel" in bounding_box_format and image_shape is None:
        raise ValueError(f"When using relative bounding box formats (e.g. `rel_yxyx`) the `image_shape` argument must be provided. Received `image_shape`: {image_shape}")
    height, width = _sizes(image_shape)
    first, second = (convert_format(boxes, bounding_box_format, "xyxy", height, width) for boxes in (boxes1, boxes2))
    for name, boxes in (("boxes1", first), ("boxes2", second)):
        if boxes.ndim not in (2, 3):
            raise ValueError(f"compute_iou() expects {name} to be batched, or to be unbatched: rank 2 or 3. Received len({name}.shape)={boxes.ndim}")
    rows = _columns(first)
    columns = [_ops.reshape(side, [*side.shape.as_list()[:-2], 1, side.shape[-2]]) for side in _columns(second)]
    common = [_ops.maximum(_ops.minimum(rows[i + 2], columns[i + 2]) - _ops.maximum(rows[i], columns[i]), 0.0) for i in (0, 1)]
    shared = common[0] * common[1]
    both = (rows[2] - rows[0]) * (rows[3] - rows[1]) + (columns[2] - columns[0]) * (columns[3] - columns[1]) - shared
    out = shared / (both + epsilon())
    if not use_masking:
        return out
    empty = [_ops.reduce_max(first, -1, True) < 0.0, _ops.expand_dims(_ops.reduce_max(second, -1), -2) < 0.0]
    return _ops.where(_ops.logical_or(*empty), _ops.ones_like(out) * float(mask_val), out)


def compute_ciou(boxes1, boxes2, bounding_box_format, image_shape=None):
    """The overlap of each box with its partner, less for middles that lie apart and for other proportions; Zheng and others, 2020."""
    height, width = _sizes(image_shape)
    (l1, t1, r1, b1), (l2, t2, r2, b2) = (_columns(convert_format(boxes, bounding_box_format, "xyxy", height, width)) for boxes in (boxes1, boxes2))
    tiny = epsilon()
    width1, height1, width2, height2 = r1 - l1, b1 - t1 + tiny, r2 - l2, b2 - t2 + tiny
    shared = _ops.maximum(_ops.minimum(r1, r2) - _ops.maximum(l1, l2), 0.0) * _ops.maximum(_ops.minimum(b1, b2) - _ops.maximum(t1, t2), 0.0)
    overlap = shared / (width1 * height1 + width2 * height2 - shared + 2 * tiny)
    around = _ops.square(_ops.maximum(r1, r2) - _ops.minimum(l1, l2)) + _ops.square(_ops.maximum(b1, b2) - _ops.minimum(t1, t2)) + tiny
    apart = (_ops.square(l1 + r1 - l2 - r2) + _ops.square(t1 + b1 - t2 - b2)) / 4.0
    unlike = 4 / math.pi**2 * _ops.square(_ops.atan(width2 / height2) - _ops.atan(width1 / height1))
    share = unlike / (unlike - overlap + (1 + tiny))
    return _ops.squeeze(overlap - (apart / around + unlike * share), [-1])


# --- Boxes as what a network learns: their distance from anchors ---


def _check_encoding(name, encoding, variance):
    if encoding not in ("center_xywh", "center_yxhw"):
        raise ValueError(f"`{name}` should be one of 'center_xywh' or 'center_yxhw', got {encoding}")
    variance = None if variance is None else _ops.cast(_tandem.to_tensor(variance), "float32")
    if variance is not None and variance.shape[-1] != 4:
        raise ValueError(f"`variance` must be length 4, got {variance}")
    return variance


def encode_box_to_deltas(anchors, boxes, anchor_format, box_format, encoding_format="center_yxhw", variance=None, image_shape=None):
    """The way from anchors to boxes: middles in sizes of the anchor, and logarithms of the proportions."""
    variance = _check_encoding("encoding_format", encoding_format, variance)
    height, width = _sizes(image_shape)
    anchors = convert_format(anchors, anchor_format, encoding_format, height, width)
    boxes = convert_format(boxes, box_format, encoding_format, height, width)
    sizes, wanted = (_ops.maximum(b[..., 2:], epsilon()) for b in (anchors, boxes))
    deltas = _ops.concat([(boxes[..., :2] - anchors[..., :2]) / sizes, _ops.log(wanted / sizes)], -1)
    return deltas if variance is None else deltas / variance


def decode_deltas_to_boxes(anchors, boxes_delta, anchor_format, box_format, encoded_format="center_yxhw", variance=None, image_shape=None):
    """The way back of encode_box_to_deltas; dicts by level are decoded level by level."""
    variance = _check_encoding("encoded_format", encoded_format, variance)
    if isinstance(anchors, dict) and isinstance(boxes_delta, dict):
        more = (anchor_format, box_format, encoded_format, variance, image_shape)
        return {level: decode_deltas_to_boxes(anchor, boxes_delta[level], *more) for level, anchor in anchors.items()}
    height, width = _sizes(image_shape)
    anchors = convert_format(anchors, anchor_format, encoded_format, height, width)
    deltas = _ops.cast(_tandem.to_tensor(boxes_delta), "float32")
    deltas = deltas if variance is None else deltas * variance
    sizes = anchors[..., 2:]
    boxes = _ops.concat([deltas[..., :2] * sizes + anchors[..., :2], _ops.exp(deltas[..., 2:]) * sizes], -1)
    return convert_format(boxes, encoded_format, box_format, height, width)
