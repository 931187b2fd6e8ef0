"""The area under a curve that a threshold draws."""
from ... import _ops
from .._engine.floats import epsilon
from .._engine.registry import deserialize_keras_object
from ..losses._pairs import as_tensor
from .classification import _NAMES, _Counting

_CURVES = {"roc": "ROC", "pr": "PR", "prgain": "PRGAIN"}
_SUMMATIONS = ("interpolation", "majoring", "minoring")


def _one_of(what, value, known):
    value = getattr(value, "value", value)
    if str(value).lower() not in known:
        raise ValueError(f'Invalid AUC {what} value: "{value}". Expected values are {list(known)}')
    return str(value).lower()


class AUC(_Counting):
    """Under the ROC curve (true against false positive rate), or the precision-recall curve (with or without gain)."""

    _direction = "up"

    def __init__(
        self, num_thresholds=200, curve="ROC", summation_method="interpolation", name=None, dtype=None, thresholds=None,
        multi_label=False, num_labels=None, label_weights=None, from_logits=False,
    ):  # fmt: skip
        super().__init__(dtype, name)
        self.curve = _CURVES[_one_of("curve", curve, _CURVES)]
        self.summation_method = _one_of("summation method", summation_method, _SUMMATIONS)
        self._given_thresholds = thresholds is not None
        if thresholds is None:
            if num_thresholds <= 1:
                raise ValueError(
                    f"Argument `num_thresholds` must be an integer > 1. Received: num_thresholds={num_thresholds}"
                )
            thresholds = [(i + 1) / (num_thresholds - 1) for i in range(num_thresholds - 2)]
        # The ends lie beyond 0 and 1: all predictions are above the first and below the last.
        self.thresholds = [-epsilon(), *sorted(map(float, thresholds)), 1 + epsilon()]
        self.num_thresholds = len(self.thresholds)
        self.multi_label, self.num_labels, self._from_logits = multi_label, num_labels, from_logits
        self.label_weights = None if label_weights is None else as_tensor(label_weights, self.dtype)
        if num_labels and not multi_label:
            raise ValueError("`num_labels` is needed only when `multi_label` is True.")
        self._built = False
        if not multi_label or num_labels:
            self._build([num_labels] if multi_label else [])

    def _build(self, labels):
        self._add_counts(tuple(_NAMES), [self.num_thresholds, *labels])
        self._built = True

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_pred = as_tensor(y_pred, self.dtype)
        if not self._built:
            if y_pred.ndim != 2:
                raise ValueError(
                    f"`y_pred` must have rank 2 when `multi_label=True`. Found rank {y_pred.ndim}. "
                    f"Full shape received for `y_pred`: {y_pred.shape}"
                )
            self._build([y_pred.shape[1]])
        if self._from_logits:
            y_pred = _ops.sigmoid(y_pred)
        of_counts = None if self.multi_label else self.label_weights
        self._update(y_true, y_pred, sample_weight, multi_label=self.multi_label, label_weights=of_counts)

    def result(self):
        if self.curve == "PR" and self.summation_method == "interpolation":
            areas = self._interpolated_areas()
        else:
            x, y = self._curve()
            areas = (x[:-1] - x[1:]) * self._heights(y[:-1], y[1:])
        by_label = _ops.reduce_sum(areas, 0)
        if not self.multi_label:
            return by_label
        if self.label_weights is None:
            return _ops.reduce_mean(by_label)
        weights = self.label_weights
        return _ops.divide_no_nan(_ops.reduce_sum(by_label * weights), _ops.reduce_sum(weights))

    def _heights(self, left, right):
        if self.summation_method == "interpolation":
            return (left + right) / 2.0
        return (_ops.minimum if self.summation_method == "minoring" else _ops.maximum)(left, right)

    def _curve(self):
        if self.curve == "ROC":
            return self._share("fp", "tn"), self._share("tp", "fn")
        if self.curve == "PR":
            return self._share("tp", "fn"), self._share("tp", "fp")
        return self._gains()

    def _gains(self):
        """Recall and precision gain. P. Flach, M. Kull: "Precision-Recall-Gain Curves"."""
        tp = self.true_positives.value()
        ratio = _ops.divide_no_nan(tp + self.false_negatives, self.true_negatives + self.false_positives)
        recall = 1.0 - ratio * _ops.divide_no_nan(self.false_negatives, tp)
        precision = 1.0 - ratio * _ops.divide_no_nan(self.false_positives, tp)
        none = _ops.equal(tp, 0.0)
        recall = _ops.maximum(_ops.where(none, 0.0 * recall, recall), 0.0)
        return recall, _ops.where(none, _ops.ones_like(precision), precision)

    def _interpolated_areas(self):
        """Between two points tp and fp change in step, which is no straight line of precision over recall.

        J. Davis, M. Goadrich: "The Relationship Between Precision-Recall and ROC Curves".
        """
        tp = self.true_positives.value()
        positives = tp + self.false_positives
        before, after = positives[:-1], positives[1:]
        change = tp[:-1] - tp[1:]
        slope = _ops.divide_no_nan(change, _ops.maximum(before - after, 0.0))
        intercept = tp[1:] - slope * after
        both = _ops.logical_and(before > 0, after > 0)
        ratio = _ops.where(both, _ops.divide_no_nan(before, _ops.maximum(after, 0.0)), _ops.ones_like(after))
        areas = slope * (change + intercept * _ops.log(ratio))
        return _ops.divide_no_nan(areas, _ops.maximum(tp[1:] + self.false_negatives[1:], 0.0))

    def get_config(self):
        config = {
            "num_thresholds": self.num_thresholds,
            "curve": self.curve,
            "summation_method": self.summation_method,
            "multi_label": self.multi_label,
            "num_labels": self.num_labels,
            # As a list: Keras cannot read the tensor that it writes.
            "label_weights": None if self.label_weights is None else self.label_weights.numpy().tolist(),
            "from_logits": self._from_logits,
        }
        if self._given_thresholds:
            config["thresholds"] = self.thresholds[1:-1]
        return {**super().get_config(), **config}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "label_weights": deserialize_keras_object(config.get("label_weights"))})
