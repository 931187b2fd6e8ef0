"""The losses as classes: their arguments, and how the rows are reduced."""
from ... import _ops
from . import overlap, probabilistic, regression
from .ctc import ctc as _ctc
from .loss import Loss, LossFunctionWrapper


class MeanSquaredError(LossFunctionWrapper):
    """mean((y_true - y_pred)^2)"""

    def __init__(self, reduction="sum_over_batch_size", name="mean_squared_error", dtype=None):
        super().__init__(regression.mean_squared_error, reduction, name, dtype)


class MeanAbsoluteError(LossFunctionWrapper):
    """mean(|y_true - y_pred|)"""

    def __init__(self, reduction="sum_over_batch_size", name="mean_absolute_error", dtype=None):
        super().__init__(regression.mean_absolute_error, reduction, name, dtype)


class MeanAbsolutePercentageError(LossFunctionWrapper):
    """100 * mean(|(y_true - y_pred) / y_true|)"""

    def __init__(self, reduction="sum_over_batch_size", name="mean_absolute_percentage_error", dtype=None):
        super().__init__(regression.mean_absolute_percentage_error, reduction, name, dtype)


class MeanSquaredLogarithmicError(LossFunctionWrapper):
    """mean((log(y_true + 1) - log(y_pred + 1))^2)"""

    def __init__(self, reduction="sum_over_batch_size", name="mean_squared_logarithmic_error", dtype=None):
        super().__init__(regression.mean_squared_logarithmic_error, reduction, name, dtype)


class CosineSimilarity(LossFunctionWrapper):
    """-1 for the same direction, 1 for the opposite one."""

    _unlisted = {"axis": -1}

    def __init__(self, axis=-1, reduction="sum_over_batch_size", name="cosine_similarity", dtype=None):
        super().__init__(regression.cosine_similarity, reduction, name, dtype, axis=axis)


class Huber(LossFunctionWrapper):
    """e^2 / 2 for errors e up to delta, and straight beyond."""

    _unlisted = {"delta": 1.0}

    def __init__(self, delta=1.0, reduction="sum_over_batch_size", name="huber_loss", dtype=None):
        super().__init__(regression.huber, reduction, name, dtype, delta=delta)


class LogCosh(LossFunctionWrapper):
    """mean(log(cosh(y_pred - y_true)))"""

    def __init__(self, reduction="sum_over_batch_size", name="log_cosh", dtype=None):
        super().__init__(regression.log_cosh, reduction, name, dtype)


class Hinge(LossFunctionWrapper):
    """mean(max(1 - y_true * y_pred, 0)) for labels -1 and 1, or 0 and 1."""

    def __init__(self, reduction="sum_over_batch_size", name="hinge", dtype=None):
        super().__init__(regression.hinge, reduction, name, dtype)


class SquaredHinge(LossFunctionWrapper):
    """mean(max(1 - y_true * y_pred, 0)^2) for labels -1 and 1, or 0 and 1."""

    def __init__(self, reduction="sum_over_batch_size", name="squared_hinge", dtype=None):
        super().__init__(regression.squared_hinge, reduction, name, dtype)


class CategoricalHinge(LossFunctionWrapper):
    """max(largest wrong score - right score + 1, 0)"""

    def __init__(self, reduction="sum_over_batch_size", name="categorical_hinge", dtype=None):
        super().__init__(regression.categorical_hinge, reduction, name, dtype)


class KLDivergence(LossFunctionWrapper):
    """sum(y_true * log(y_true / y_pred))"""

    def __init__(self, reduction="sum_over_batch_size", name="kl_divergence", dtype=None):
        super().__init__(probabilistic.kl_divergence, reduction, name, dtype)


class Poisson(LossFunctionWrapper):
    """mean(y_pred - y_true * log(y_pred))"""

    def __init__(self, reduction="sum_over_batch_size", name="poisson", dtype=None):
        super().__init__(regression.poisson, reduction, name, dtype)


class _Configured(LossFunctionWrapper):
    """Has its function's arguments as attributes."""

    def __init__(self, fn, reduction, name, dtype, **kwargs):
        super().__init__(fn, reduction, name, dtype, **kwargs)
        self.__dict__.update(kwargs)


class BinaryCrossentropy(_Configured):
    """The cross entropy of 0/1 targets and probabilities, or logits."""

    def __init__(
        self, from_logits=False, label_smoothing=0.0, axis=-1, reduction="sum_over_batch_size",
        name="binary_crossentropy", dtype=None,
    ):  # fmt: skip
        super().__init__(
            probabilistic.binary_crossentropy, reduction, name, dtype,
            from_logits=from_logits, label_smoothing=label_smoothing, axis=axis,
        )  # fmt: skip


class BinaryFocalCrossentropy(_Configured):
    """Binary cross entropy that counts what is right already less."""

    def __init__(
        self, apply_class_balancing=False, alpha=0.25, gamma=2.0, from_logits=False, label_smoothing=0.0, axis=-1,
        reduction="sum_over_batch_size", name="binary_focal_crossentropy", dtype=None,
    ):  # fmt: skip
        super().__init__(
            probabilistic.binary_focal_crossentropy, reduction, name, dtype, apply_class_balancing=apply_class_balancing,
            alpha=alpha, gamma=gamma, from_logits=from_logits, label_smoothing=label_smoothing, axis=axis,
        )  # fmt: skip


class CategoricalCrossentropy(_Configured):
    """The cross entropy of one-hot targets and class probabilities, or logits."""

    def __init__(
        self, from_logits=False, label_smoothing=0.0, axis=-1, reduction="sum_over_batch_size",
        name="categorical_crossentropy", dtype=None,
    ):  # fmt: skip
        super().__init__(
            probabilistic.categorical_crossentropy, reduction, name, dtype,
            from_logits=from_logits, label_smoothing=label_smoothing, axis=axis,
        )  # fmt: skip


class CategoricalFocalCrossentropy(_Configured):
    """Categorical cross entropy that counts what is right already less."""

    def __init__(
        self, alpha=0.25, gamma=2.0, from_logits=False, label_smoothing=0.0, axis=-1,
        reduction="sum_over_batch_size", name="categorical_focal_crossentropy", dtype=None,
    ):  # fmt: skip
        super().__init__(
            probabilistic.categorical_focal_crossentropy, reduction, name, dtype,
            alpha=alpha, gamma=gamma, from_logits=from_logits, label_smoothing=label_smoothing, axis=axis,
        )  # fmt: skip


class SparseCategoricalCrossentropy(_Configured):
    """The cross entropy of class numbers and class probabilities, or logits."""

    _unlisted = {"axis": -1}

    def __init__(
        self, from_logits=False, ignore_class=None, reduction="sum_over_batch_size", axis=-1,
        name="sparse_categorical_crossentropy", dtype=None,
    ):  # fmt: skip
        super().__init__(
            probabilistic.sparse_categorical_crossentropy, reduction, name, dtype,
            from_logits=from_logits, ignore_class=ignore_class, axis=axis,
        )  # fmt: skip

    def mask_of(self, y_true, values):
        return None if self.ignore_class is None else _ops.reshape(y_true, values.shape) != int(self.ignore_class)


class CTC(_Configured):
    """Connectionist temporal classification: labels for a longer sequence of logits."""

    def __init__(self, reduction="sum_over_batch_size", name="ctc", dtype=None):
        super().__init__(_ctc, reduction, name, dtype)


class Dice(_Configured):
    """1 - 2 * |both| / (|one| + |other|) of masks."""

    def __init__(self, reduction="sum_over_batch_size", name="dice", axis=None, dtype=None):
        super().__init__(overlap.dice, reduction, name, dtype, axis=axis)


class Tversky(_Configured):
    """1 - |both| / (|both| + alpha * |only true| + beta * |only predicted|) of masks."""

    def __init__(
        self, alpha=0.5, beta=0.5, reduction="sum_over_batch_size", name="tversky", axis=None, dtype=None
    ):
        super().__init__(overlap.tversky, reduction, name, dtype, alpha=alpha, beta=beta, axis=axis)


class Circle(_Configured):
    """Embeddings of one class near each other, those of different ones apart."""

    def __init__(
        self, gamma=80.0, margin=0.4, remove_diagonal=True, reduction="sum_over_batch_size", name="circle", dtype=None
    ):
        super().__init__(
            overlap.circle, reduction, name, dtype, gamma=gamma, margin=margin, remove_diagonal=remove_diagonal
        )

    def mask_of(self, y_true, values):
        return values > 0


class CategoricalGeneralizedCrossEntropy(_Configured):
    """(1 - p^q) / q of the probability of the right class."""

    def __init__(
        self, q=0.5, reduction="sum_over_batch_size", name="categorical_generalized_cross_entropy", dtype=None
    ):
        if not 0 < q < 1:
            raise ValueError(f"q must be in the interval (0, 1), got {q}")
        super().__init__(probabilistic.categorical_generalized_cross_entropy, reduction, name, dtype, q=q)


CLASSES = [
    Loss, LossFunctionWrapper, KLDivergence, Poisson, BinaryCrossentropy, BinaryFocalCrossentropy,
    CategoricalCrossentropy, CategoricalFocalCrossentropy, SparseCategoricalCrossentropy, MeanSquaredError,
    MeanAbsoluteError, MeanAbsolutePercentageError, MeanSquaredLogarithmicError, CosineSimilarity, LogCosh, Huber, Hinge,
    SquaredHinge, CategoricalHinge, Dice, Tversky, Circle, CTC, CategoricalGeneralizedCrossEntropy,
]  # fmt: skip
