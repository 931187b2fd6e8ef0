"""Losses as metrics: their mean over all batches."""
from ..losses import probabilistic, regression
from .reduction import MeanMetricWrapper


class MeanSquaredError(MeanMetricWrapper):
    """mean((y_true - y_pred)^2)"""

    def __init__(self, name="mean_squared_error", dtype=None):
        super().__init__(regression.mean_squared_error, name, dtype)


class MeanAbsoluteError(MeanMetricWrapper):
    """mean(|y_true - y_pred|)"""

    def __init__(self, name="mean_absolute_error", dtype=None):
        super().__init__(regression.mean_absolute_error, name, dtype)


class MeanAbsolutePercentageError(MeanMetricWrapper):
    """100 * mean(|(y_true - y_pred) / y_true|)"""

    def __init__(self, name="mean_absolute_percentage_error", dtype=None):
        super().__init__(regression.mean_absolute_percentage_error, name, dtype)


class MeanSquaredLogarithmicError(MeanMetricWrapper):
    """mean((log(y_true + 1) - log(y_pred + 1))^2)"""

    def __init__(self, name="mean_squared_logarithmic_error", dtype=None):
        super().__init__(regression.mean_squared_logarithmic_error, name, dtype)


class LogCoshError(MeanMetricWrapper):
    """mean(log(cosh(y_pred - y_true)))"""

    def __init__(self, name="logcosh", dtype=None):
        super().__init__(regression.log_cosh, name, dtype)


class Hinge(MeanMetricWrapper):
    """mean(max(1 - y_true * y_pred, 0)) for labels -1 and 1, or 0 and 1."""

    def __init__(self, name="hinge", dtype=None):
        super().__init__(regression.hinge, name, dtype)


class SquaredHinge(MeanMetricWrapper):
    """mean(max(1 - y_true * y_pred, 0)^2) for labels -1 and 1, or 0 and 1."""

    def __init__(self, name="squared_hinge", dtype=None):
        super().__init__(regression.squared_hinge, name, dtype)


class CategoricalHinge(MeanMetricWrapper):
    """max(largest wrong score - right score + 1, 0)"""

    def __init__(self, name="categorical_hinge", dtype=None):
        super().__init__(regression.categorical_hinge, name, dtype)


class KLDivergence(MeanMetricWrapper):
    """sum(y_true * log(y_true / y_pred))"""

    def __init__(self, name="kl_divergence", dtype=None):
        super().__init__(probabilistic.kl_divergence, name, dtype)


class Poisson(MeanMetricWrapper):
    """mean(y_pred - y_true * log(y_pred))"""

    def __init__(self, name="poisson", dtype=None):
        super().__init__(regression.poisson, name, dtype)


class _Configured(MeanMetricWrapper):
    """Has its function's arguments as attributes."""

    def __init__(self, fn, name, dtype, **kwargs):
        super().__init__(fn, name, dtype, **kwargs)
        self.__dict__.update(kwargs)


class BinaryCrossentropy(_Configured):
    """The cross entropy of 0/1 targets and probabilities, or logits."""

    def __init__(self, name="binary_crossentropy", dtype=None, from_logits=False, label_smoothing=0):
        super().__init__(
            probabilistic.binary_crossentropy, name, dtype, from_logits=from_logits, label_smoothing=label_smoothing
        )


class CategoricalCrossentropy(_Configured):
    """The cross entropy of one-hot targets and class probabilities, or logits."""

    def __init__(
        self, name="categorical_crossentropy", dtype=None, from_logits=False, label_smoothing=0, axis=-1
    ):
        super().__init__(
            probabilistic.categorical_crossentropy, name, dtype,
            from_logits=from_logits, label_smoothing=label_smoothing, axis=axis,
        )  # fmt: skip


class SparseCategoricalCrossentropy(_Configured):
    """The cross entropy of class numbers and class probabilities, or logits."""

    def __init__(
        self, name="sparse_categorical_crossentropy", dtype=None, from_logits=False, ignore_class=None, axis=-1
    ):
        super().__init__(
            probabilistic.sparse_categorical_crossentropy, name, dtype,
            from_logits=from_logits, ignore_class=ignore_class, axis=axis,
        )  # fmt: skip
