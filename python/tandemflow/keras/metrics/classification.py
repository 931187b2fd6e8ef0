"""Counts of right and wrong decisions, precision and recall, and one of two at a given value of the other."""
from ... import _ops
from .confusion import Counts, check_thresholds
from .metric import Metric

_NAMES = {"tp": "true_positives", "fp": "false_positives", "tn": "true_negatives", "fn": "false_negatives"}


class _Counting(Metric):
    """Adds up some of the four counts at each threshold."""

    def _add_counts(self, kinds, shape):
        self._kinds = kinds
        for kind in kinds:
            setattr(self, _NAMES[kind], self.add_variable(shape, name=_NAMES[kind]))

    def _update(self, y_true, y_pred, sample_weight, **options):
        counts = Counts(y_true, y_pred, self.thresholds, self.dtype, sample_weight, **options)
        for kind in self._kinds:
            getattr(self, _NAMES[kind]).assign_add(getattr(counts, kind))

    def _share(self, one, other):
        """one / (one + other) of two counts."""
        part, rest = getattr(self, _NAMES[one]), getattr(self, _NAMES[other])
        return _ops.divide_no_nan(part, part + rest)


class _ConditionCount(Metric):
    _kind = None

    def __init__(self, thresholds=None, name=None, dtype=None):
        super().__init__(dtype, name)
        self.init_thresholds, self.thresholds = thresholds, check_thresholds(thresholds, 0.5)
        self.accumulator = self.add_variable((len(self.thresholds),), name="accumulator")

    def update_state(self, y_true, y_pred, sample_weight=None):
        counts = Counts(y_true, y_pred, self.thresholds, self.dtype, sample_weight)
        self.accumulator.assign_add(getattr(counts, self._kind))

    def result(self):
        return self.accumulator[0] if len(self.thresholds) == 1 else self.accumulator.value()

    def get_config(self):
        return {**super().get_config(), "thresholds": self.init_thresholds}


class FalsePositives(_ConditionCount):
    """How often a prediction is above the threshold and the label is 0."""

    _kind = "fp"


class FalseNegatives(_ConditionCount):
    """How often a prediction is not above the threshold and the label is 1."""

    _kind = "fn"


class TrueNegatives(_ConditionCount):
    """How often a prediction is not above the threshold and the label is 0."""

    _kind = "tn"


class TruePositives(_ConditionCount):
    """How often a prediction is above the threshold and the label is 1."""

    _kind = "tp"


class _ShareOfPositives(_Counting):
    _direction = "up"
    _other = None

    def __init__(self, thresholds=None, top_k=None, class_id=None, name=None, dtype=None):
        super().__init__(dtype, name)
        self.init_thresholds, self.top_k, self.class_id = thresholds, top_k, class_id
        self.thresholds = check_thresholds(thresholds, 0.5 if top_k is None else -1e9)
        self._add_counts(("tp", self._other), (len(self.thresholds),))

    def update_state(self, y_true, y_pred, sample_weight=None):
        self._update(y_true, y_pred, sample_weight, top_k=self.top_k, class_id=self.class_id)

    def result(self):
        share = self._share("tp", self._other)
        return share[0] if len(self.thresholds) == 1 else share

    def get_config(self):
        config = {"thresholds": self.init_thresholds, "top_k": self.top_k, "class_id": self.class_id}
        return {**super().get_config(), **config}


class Precision(_ShareOfPositives):
    """How many of those above the threshold have the label 1."""

    _other = "fp"


class Recall(_ShareOfPositives):
    """How many of those with the label 1 are above the threshold."""

    _other = "fn"


class _BestUnderConstraint(_Counting):
    """The most of one share at the thresholds where another share is at least `value`."""

    _direction = "up"
    _argument = None

    def __init__(self, value, num_thresholds, class_id, name, dtype):
        if not 0 <= value <= 1:
            raise ValueError(
                f"Argument `{self._argument}` must be in the range [0, 1]. Received: {self._argument}={value}"
            )
        if num_thresholds <= 0:
            raise ValueError(
                f"Argument `num_thresholds` must be an integer > 0. Received: num_thresholds={num_thresholds}"
            )
        super().__init__(dtype, name)
        setattr(self, self._argument, value)
        self.value, self.num_thresholds, self.class_id = value, num_thresholds, class_id
        last = num_thresholds - 1
        self.thresholds = [i / last for i in range(num_thresholds)] if last else [0.5]
        self._add_counts(("tp", "fp", "tn", "fn"), (num_thresholds,))

    def update_state(self, y_true, y_pred, sample_weight=None):
        self._update(y_true, y_pred, sample_weight, class_id=self.class_id)

    def _most(self, share, constrained):
        return _ops.reduce_max(_ops.where(constrained >= float(self.value), share, 0.0 * share))

    def get_config(self):
        config = {"class_id": self.class_id, "num_thresholds": self.num_thresholds, self._argument: self.value}
        return {**super().get_config(), **config}


class SensitivityAtSpecificity(_BestUnderConstraint):
    """The best tp / (tp + fn) where tn / (tn + fp) is at least `specificity`."""

    _argument = "specificity"

    def __init__(self, specificity, num_thresholds=200, class_id=None, name=None, dtype=None):
        super().__init__(specificity, num_thresholds, class_id, name, dtype)

    def result(self):
        return self._most(self._share("tp", "fn"), self._share("tn", "fp"))


class SpecificityAtSensitivity(_BestUnderConstraint):
    """The best tn / (tn + fp) where tp / (tp + fn) is at least `sensitivity`."""

    _argument = "sensitivity"

    def __init__(self, sensitivity, num_thresholds=200, class_id=None, name=None, dtype=None):
        super().__init__(sensitivity, num_thresholds, class_id, name, dtype)

    def result(self):
        return self._most(self._share("tn", "fp"), self._share("tp", "fn"))


class PrecisionAtRecall(_BestUnderConstraint):
    """The best precision where the recall is at least `recall`."""

    _argument = "recall"

    def __init__(self, recall, num_thresholds=200, class_id=None, name=None, dtype=None):
        super().__init__(recall, num_thresholds, class_id, name, dtype)

    def result(self):
        return self._most(self._share("tp", "fp"), self._share("tp", "fn"))


class RecallAtPrecision(_BestUnderConstraint):
    """The best recall where the precision is at least `precision`."""

    _argument = "precision"

    def __init__(self, precision, num_thresholds=200, class_id=None, name=None, dtype=None):
        super().__init__(precision, num_thresholds, class_id, name, dtype)

    def result(self):
        return self._most(self._share("tp", "fn"), self._share("tp", "fp"))
