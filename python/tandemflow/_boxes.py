"""Boxes in pictures: which of them to keep, and how to draw them. [y1, x1, y2, x2]; computed on the host."""
from collections import namedtuple

import numpy as np

from . import _tandem
from ._ops import cast, gather
from .errors import InvalidArgumentError

_COLOURS = np.array([[1, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0.5, 0, 0.5], [0.5, 0.5, 0], [0.5, 0, 0], [0, 0, 0.5], [0, 1, 1], [1, 0, 1]])


def _overlaps(box, others):
    """How much of the union of a box and each of the others is common to both."""
    corners = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    common = np.prod(np.maximum(corners[1] - corners[0], 0), 1)
    areas = np.prod(others[:, 2:] - others[:, :2], 1)
    union = np.prod(box[2:] - box[:2]) + areas - common
    return np.where(union > 0, common / np.where(union > 0, union, 1), 0)


def _kept(boxes, scores, most, overlap, least):
    boxes, scores = np.asarray(boxes, "float64"), np.asarray(scores, "float64")
    if boxes.ndim != 2 or boxes.shape[1:] != (4,) or scores.shape != boxes.shape[:1]:
        raise ValueError(f"non_max_suppression: boxes of shape [n, 4] and scores of shape [n] are needed, got {boxes.shape} and {scores.shape}")
    boxes = np.concatenate([np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])], 1)
    order = [i for i in np.argsort(-scores, kind="stable") if scores[i] > least]
    kept = []
    while order and len(kept) < most:
        best, *order = order
        kept.append(best)
        far = _overlaps(boxes[best], boxes[order]) <= overlap if order else []
        order = [i for i, keep in zip(order, far) if keep]
    return np.array(kept, np.int32)


def non_max_suppression(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=float("-inf"), name=None):
    """The numbers of the boxes to keep, the best first: none that overlaps a better one by more than iou_threshold."""
    return _tandem.to_tensor(_kept(boxes, scores, int(max_output_size), float(iou_threshold), float(score_threshold)))


def non_max_suppression_padded(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=float("-inf"), pad_to_max_output_size=False,
                               name=None, **kwargs):  # fmt: skip
    """As non_max_suppression, filled up with zeros if asked for, and how many there are."""
    kept = _kept(boxes, scores, int(max_output_size), float(iou_threshold), float(score_threshold))
    count = _tandem.to_tensor(np.int32(len(kept)))
    return _tandem.to_tensor(np.pad(kept, (0, int(max_output_size) - len(kept))) if pad_to_max_output_size else kept), count


def non_max_suppression_with_scores(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=float("-inf"), soft_nms_sigma=0.0, name=None):
    """As non_max_suppression, and the scores of the boxes to keep; with soft_nms_sigma overlapping boxes lose score instead of their place."""
    scores = _tandem.to_tensor(scores)
    if not soft_nms_sigma:
        kept = _kept(boxes, scores, int(max_output_size), float(iou_threshold), float(score_threshold))
        return _tandem.to_tensor(kept), gather(scores, kept)
    boxes, left = np.asarray(boxes, "float64"), np.array(scores.numpy(), "float64")
    kept, values = [], []
    while len(kept) < int(max_output_size) and left.size and left.max() > score_threshold:
        best = int(left.argmax())
        kept.append(best)
        values.append(left[best])
        left[best] = -np.inf
        left = left * np.exp(-0.5 / soft_nms_sigma * _overlaps(boxes[best], boxes) ** 2)
    return _tandem.to_tensor(np.array(kept, np.int32)), _tandem.to_tensor(np.array(values), scores.dtype)


def draw_bounding_boxes(images, boxes, colors=None, name=None):
    """The pictures with a frame for each of their boxes, whose corners are shares of height and width."""
    images, boxes = _tandem.to_tensor(images), _tandem.to_tensor(boxes)
    if images.ndim != 4 or boxes.ndim != 3 or boxes.shape[0] != images.shape[0] or boxes.shape[2] != 4:
        raise InvalidArgumentError(f"draw_bounding_boxes: needs images [batch, height, width, channels] and boxes [batch, n, 4], got {images.shape} and {boxes.shape}")
    pixels = images.numpy().copy()
    colours = np.asarray(_COLOURS if colors is None else colors)
    height, width, channels = pixels.shape[1:]
    for picture, frames in zip(pixels, np.asarray(boxes)):
        for number, (y1, x1, y2, x2) in enumerate(frames):
            rows = np.clip([int(y1 * (height - 1)), int(y2 * (height - 1))], 0, height - 1)
            columns = np.clip([int(x1 * (width - 1)), int(x2 * (width - 1))], 0, width - 1)
            if y2 < y1 or x2 < x1 or y2 < 0 or x2 < 0 or y1 > 1 or x1 > 1:
                continue
            colour = np.resize(colours[number % len(colours)], channels)
            picture[rows, columns[0] : columns[1] + 1] = colour
            picture[rows[0] : rows[1] + 1, columns] = colour
    return cast(_tandem.to_tensor(pixels), images.dtype)


CombinedNonMaxSuppression = namedtuple("CombinedNonMaxSuppression", "nmsed_boxes nmsed_scores nmsed_classes valid_detections")


def combined_non_max_suppression(boxes, scores, max_output_size_per_class, max_total_size, iou_threshold=0.5, score_threshold=float("-inf"),
                                 pad_per_class=False, clip_boxes=True, name=None):  # fmt: skip
    """For each picture and class the boxes to keep; of all classes the best, filled up with zeros."""
    boxes, scores = np.asarray(boxes, "float32"), np.asarray(scores, "float32")
    most, classes = int(max_output_size_per_class), scores.shape[-1]
    total = min(int(max_total_size), most * classes) if pad_per_class else int(max_total_size)
    out_boxes, out_scores, out_classes = np.zeros((len(boxes), total, 4), "float32"), *(np.zeros((len(boxes), total), "float32") for _ in range(2))
    counts = np.zeros(len(boxes), "int32")
    for i, (own, marks) in enumerate(zip(boxes, scores)):
        found = [(marks[k, c], c, own[k, c if own.shape[1] > 1 else 0]) for c in range(classes)
                 for k in _kept(own[:, c if own.shape[1] > 1 else 0], marks[:, c], most, float(iou_threshold), float(score_threshold))]  # fmt: skip
        found = sorted(found, key=lambda one: -one[0])[:total]
        counts[i] = len(found)
        for k, (mark, kind, box) in enumerate(found):
            out_boxes[i, k] = np.clip(box, 0, 1) if clip_boxes else box
            out_scores[i, k], out_classes[i, k] = mark, kind
    return CombinedNonMaxSuppression(*map(_tandem.to_tensor, (out_boxes, out_scores, out_classes, counts)))
