"""The mean of precision and recall."""
from ... import _ops
from .._engine.floats import epsilon
from ..losses._pairs import as_tensor
from .metric import Metric


class FBetaScore(Metric):
    """(1 + beta^2) * precision * recall / (beta^2 * precision + recall), a class or on average."""

    _direction = "up"

    def __init__(self, average=None, beta=1.0, threshold=None, name="fbeta_score", dtype=None):
        super().__init__(dtype, name)
        if average not in (None, "micro", "macro", "weighted"):
            raise ValueError(
                "Invalid `average` argument value. Expected one of: {None, 'micro', 'macro', 'weighted'}. "
                f"Received: average={average}"
            )
        if not isinstance(beta, float) or beta <= 0:
            raise ValueError(f"Invalid `beta` argument value. It should be a Python float > 0. Received: beta={beta}")
        if threshold is not None and (not isinstance(threshold, float) or not 0 < threshold <= 1):
            raise ValueError(
                "Invalid `threshold` argument value. It should be a Python float with 0 < threshold <= 1. "
                f"Received: threshold={threshold}"
            )
        self.average, self.beta, self.threshold = average, beta, threshold
        self._built = False

    def _build(self, y_true, y_pred):
        if y_pred.ndim != 2 or y_true.ndim != 2:
            raise ValueError(
                "FBetaScore expects 2D inputs with shape (batch_size, output_dim). Received input shapes: "
                f"y_pred.shape={y_pred.shape} and y_true.shape={y_true.shape}."
            )
        shape = () if self.average == "micro" else (y_pred.shape[1],)
        names = ("true_positives", "false_positives", "false_negatives", "intermediate_weights")
        for name in names:
            setattr(self, name, self.add_variable(shape, name=name))
        self._built = True

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred = as_tensor(y_true, self.dtype), as_tensor(y_pred, self.dtype)
        if not self._built:
            self._build(y_true, y_pred)
        if self.threshold is None:
            highest = y_pred >= _ops.reduce_max(y_pred, -1, True)
            chosen = _ops.logical_and(highest, _ops.abs(y_pred) > 1e-9)  # a row of zeros chooses nothing
        else:
            chosen = y_pred > self.threshold
        chosen = _ops.cast(chosen, self.dtype)
        weight = None if sample_weight is None else _ops.expand_dims(as_tensor(sample_weight, self.dtype), 1)

        def summed(values):
            values = values if weight is None else values * weight
            return _ops.reduce_sum(values, None if self.average == "micro" else 0)

        self.true_positives.assign_add(summed(chosen * y_true))
        self.false_positives.assign_add(summed(chosen * (1.0 - y_true)))
        self.false_negatives.assign_add(summed((1.0 - chosen) * y_true))
        self.intermediate_weights.assign_add(summed(y_true))

    def result(self):
        right, square = self.true_positives.value(), self.beta**2
        precision = right / (right + self.false_positives + epsilon())
        recall = right / (right + self.false_negatives + epsilon())
        score = precision * recall / (square * precision + recall + epsilon()) * (1.0 + square)
        if self.average == "weighted":
            weights = self.intermediate_weights.value()
            return _ops.reduce_sum(score * (weights / (_ops.reduce_sum(weights) + epsilon())))
        return score if self.average is None else _ops.reduce_mean(score)

    def get_config(self):
        return {**super().get_config(), "average": self.average, "beta": self.beta, "threshold": self.threshold}


class F1Score(FBetaScore):
    """2 * precision * recall / (precision + recall), a class or on average."""

    def __init__(self, average=None, threshold=None, name="f1_score", dtype=None):
        super().__init__(average, 1.0, threshold, name, dtype)

    def get_config(self):
        config = super().get_config()
        del config["beta"]
        return config
