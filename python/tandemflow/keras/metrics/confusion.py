"""True and false, positive and negative: the counts that classification metrics are made of."""
from ... import _ops, _tandem
from ..._ops import records
from ..losses._pairs import as_tensor, same_rank

_LOWEST = -1e10  # below every threshold


def check_thresholds(thresholds, default):
    """The thresholds as a list."""
    given = default if thresholds is None else thresholds
    listed = list(given) if isinstance(given, (list, tuple)) or hasattr(given, "__len__") else [given]
    wrong = [t for t in listed if t is None or not 0 <= t <= 1] if thresholds is not None else []
    if wrong:
        raise ValueError(f"Threshold values must be in [0, 1]. Received: {wrong}")
    return listed


def are_even(thresholds):
    """Whether they are 0, 1/n, 2/n, …, 1; the ends may be a little beyond."""
    last = len(thresholds) - 1
    return last >= 2 and all(abs(t - i / last) <= 1e-5 * i / last + 1.1e-7 for i, t in enumerate(thresholds))


class Counts:
    """tp, fp, tn and fn at every threshold, of one batch: [thresholds], or with multi_label [thresholds, labels]."""

    def __init__(
        self, y_true, y_pred, thresholds, dtype, sample_weight=None, top_k=None, class_id=None, multi_label=False,
        label_weights=None,
    ):  # fmt: skip
        y_pred, y_true = same_rank(as_tensor(y_pred, dtype), as_tensor(y_true, dtype))
        weight = None if sample_weight is None else _row_weight(as_tensor(sample_weight, dtype), y_true)
        if top_k is not None:
            y_pred = _only_top_k(y_pred, int(top_k))
        if class_id is not None:
            if y_pred.ndim == 1:
                raise ValueError(
                    "When class_id is provided, y_pred must be a 2D array with shape (num_samples, num_classes), found "
                    f"shape: {y_pred.shape}"
                )
            y_true, y_pred = y_true[..., class_id, None], y_pred[..., class_id, None]
        shape = y_pred.shape
        if label_weights is not None:
            weight = label_weights if weight is None else weight * label_weights
        positive = _ops.cast(_ops.cast(y_true, "bool"), dtype)
        self.true, self.false = positive, 1.0 - positive
        if weight is not None:
            weight = _ops.broadcast_to(weight, shape)
            self.true, self.false = self.true * weight, self.false * weight
        if not multi_label:
            self.true, self.false, y_pred = (_ops.reshape(x, [-1]) for x in (self.true, self.false, y_pred))
        if are_even(thresholds):
            self._count_by_buckets(y_pred, thresholds)
        else:
            self._count_by_comparing(y_pred, _tandem.to_tensor(thresholds, dtype))

    def _count_by_comparing(self, y_pred, thresholds):
        column = _ops.reshape(thresholds, [-1] + [1] * y_pred.ndim)
        above = _ops.cast(y_pred > column, y_pred.dtype)
        below = 1.0 - above
        self.tp, self.fp = (_ops.reduce_sum(above * x, 1) for x in (self.true, self.false))
        self.fn, self.tn = (_ops.reduce_sum(below * x, 1) for x in (self.true, self.false))

    def _count_by_buckets(self, y_pred, thresholds):
        """Each prediction is counted once, between two thresholds; what is above each of them is a running sum."""
        count = len(thresholds)
        buckets = _ops.ceil(_ops.clip_by_value(y_pred, 0.0, 1.0) * float(count - 1)) - 1.0
        if thresholds[0] < 0:
            buckets = _ops.maximum(buckets, 0.0)  # 0 is above the first threshold
        buckets = _ops.cast(buckets, "int32")
        self.tp, self.fp = (_above(x, buckets, count) for x in (self.true, self.false))
        self.fn = _ops.reduce_sum(self.true, 0) - self.tp
        self.tn = _ops.reduce_sum(self.false, 0) - self.fp


def _above(values, buckets, count):
    if values.ndim == 1:
        return records["cumsum"](records["unsorted_segment_sum"](values, buckets, count), 0, reverse=True)
    labels = values.shape[1]
    places = _ops.reshape(buckets * labels + _ops.range(labels), [-1])
    sums = records["unsorted_segment_sum"](_ops.reshape(values, [-1]), places, count * labels)
    return records["cumsum"](_ops.reshape(sums, [count, labels]), 0, reverse=True)


def _row_weight(weight, y_true):
    """With an axis for the labels of a row, where they have one."""
    return _tandem.expand_dims(weight, -1) if weight.ndim < y_true.ndim else weight


def _only_top_k(scores, k):
    _, places = records["top_k"](scores, k)
    kept = _ops.reduce_sum(_ops.one_hot(places, scores.shape[-1], dtype=scores.dtype), -2)
    return scores * kept + _LOWEST * (1.0 - kept)
