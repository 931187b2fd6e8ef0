"""The base of all losses, and how the losses of rows become one number."""
from ... import _ops, _replica, _tandem
from ..._gradient import flatten, pack_like
from ..._replica import in_sum, share_of
from .._engine import floats
from .._engine.logits import logits_of, remember
from .._engine.naming import snake_case, unique_name
from .._engine.registry import serialize_keras_object
from ._pairs import as_tensor, same_rank
from .ctc import ctc
from .probabilistic import (
    categorical_generalized_cross_entropy,
    class_numbers,
    crossentropy,
    sparse_categorical_crossentropy,
)

_REDUCTIONS = ("sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", "none", None)
OF_CLASS_NUMBERS = (sparse_categorical_crossentropy, ctc, categorical_generalized_cross_entropy)


class Reduction:
    """The names of Keras 2 for ways to reduce."""

    AUTO = SUM_OVER_BATCH_SIZE = "sum_over_batch_size"
    SUM = "sum"
    NONE = "none"


def check_reduction(reduction):
    reduction = Reduction.AUTO if reduction == "auto" else reduction
    if reduction not in _REDUCTIONS:
        raise ValueError(
            f"Invalid value for argument `reduction`. Expected one of {_REDUCTIONS}. Received: reduction={reduction}"
        )
    return reduction


def _converted(x, dtype):
    """x in the loss's dtype; what is known about its logits goes along."""
    converted = as_tensor(x, dtype)
    if converted is not x and isinstance(x, _tandem.Tensor):
        for kind in ("softmax", "sigmoid"):
            logits = logits_of(x, kind)
            if logits is not None:
                remember(converted, as_tensor(logits, dtype), kind)
    return converted


class Loss:
    """Subclasses write call(y_true, y_pred), which gives a value a row (or element).

    class MeanAbsolute(keras.losses.Loss):
        def call(self, y_true, y_pred):
            return tf.reduce_mean(tf.abs(y_true - y_pred), -1)
    """

    _keras_module = "keras.losses"

    def __init__(self, name=None, reduction="sum_over_batch_size", dtype=None):
        self.name = name or unique_name(snake_case(type(self).__name__))
        self.reduction = check_reduction(reduction)
        self._dtype = getattr(dtype, "compute_dtype", dtype)

    @property
    def dtype(self):
        return self._dtype or floats.floatx()

    def __call__(self, y_true, y_pred, sample_weight=None):
        mask = getattr(y_pred, "_keras_mask", None)
        dtype = self.dtype
        y_pred = _map(lambda x: _converted(x, dtype), y_pred)
        y_true = self._targets(y_true)
        values = self.call(y_true, y_pred)
        own = self.mask_of(y_true, values)
        if own is not None:
            mask = own if mask is None else _ops.logical_and(_ops.cast(mask, "bool"), own)
        return reduce_weighted_values(values, sample_weight, mask, self.reduction, dtype)

    def _targets(self, y_true):
        return _map(lambda x: as_tensor(x, self.dtype), y_true)

    def call(self, y_true, y_pred):
        raise NotImplementedError

    def mask_of(self, y_true, values):
        """Which of the values count; None for all."""
        return None

    def get_config(self):
        return {"name": self.name, "reduction": self.reduction}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


def _map(function, structure):
    if isinstance(structure, (list, tuple, dict)) and _has_tensors(structure):
        return pack_like(structure, iter([function(leaf) for leaf in flatten(structure)]))
    return function(structure)


def _has_tensors(structure):
    return any(isinstance(leaf, _tandem.Tensor) or _tandem.is_numpy(leaf) for leaf in flatten(structure))


class LossFunctionWrapper(Loss):
    """A function of (y_true, y_pred) as a loss; further keyword arguments are passed to it."""

    _unlisted = {}  # arguments that Keras leaves out of configurations; here only where they are these

    def __init__(self, fn, reduction="sum_over_batch_size", name=None, dtype=None, **kwargs):
        super().__init__(name=name, reduction=reduction, dtype=dtype)
        self.fn = fn
        self._fn_kwargs = kwargs

    def _targets(self, y_true):
        # Class numbers stay integers: not all are floats, and it spares two casts.
        if self.fn in OF_CLASS_NUMBERS:
            return class_numbers(y_true)
        return as_tensor(y_true) if self.fn is crossentropy else super()._targets(y_true)

    def call(self, y_true, y_pred):
        if isinstance(y_true, _tandem.Tensor) and isinstance(y_pred, _tandem.Tensor):
            y_true, y_pred = same_rank(y_true, y_pred)
        return self.fn(y_true, y_pred, **self._fn_kwargs)

    def get_config(self):
        own = {"fn": serialize_keras_object(self.fn)} if type(self) is LossFunctionWrapper else {}
        listed = {name: value for name, value in self._fn_kwargs.items() if self._unlisted.get(name, ...) != value}
        return {**super().get_config(), **own, **serialize_keras_object(listed)}

    @classmethod
    def from_config(cls, config):
        if isinstance(config.get("fn"), (str, dict)):
            from . import family

            config = {**config, "fn": family.deserialize(config["fn"])}
        return cls(**config)

    def __repr__(self):
        return f"<LossFunctionWrapper({self.fn}, kwargs={self._fn_kwargs})>"


def reduce_weighted_values(values, sample_weight=None, mask=None, reduction="sum_over_batch_size", dtype=None):
    """The values times weights and mask, reduced."""
    reduction, values = check_reduction(reduction), as_tensor(values, dtype)
    weight = None if sample_weight is None else as_tensor(sample_weight, values.dtype)
    if mask is not None:
        weight = masked_weight(weight, as_tensor(mask), reduction, values.dtype)
    if weight is not None:
        values, weight = same_rank(values, weight)
        values = values * weight
    return _reduced(values, weight, reduction)


def masked_weight(weight, mask, reduction, dtype):
    """The weights, zero where the mask is; a mean is over the others."""
    counts = _ops.cast(mask, dtype)
    if reduction in ("sum_over_batch_size", "mean"):
        # The mean is over what counts: the others' share is given to those.
        total, replica = mask.shape.num_elements(), _divided_step()
        if replica is not None:
            total = total // replica.rows * replica.total
        counts = counts * _ops.divide_no_nan(_tandem.to_tensor(total, dtype), _in_all_replicas(_ops.reduce_sum(counts)))
    if weight is None:
        return counts
    counts, weight = same_rank(counts, weight)
    return weight * counts


def _reduced(values, weight, reduction):
    if reduction in (None, "none") or values.ndim == 0 or tuple(values.shape) == (0,):
        return values
    if reduction == "sum":
        return in_sum(_ops.reduce_sum(values))
    if reduction == "mean_with_sample_weight" and weight is not None:
        mean = _ops.divide_no_nan(_ops.reduce_sum(values), _in_all_replicas(_ops.reduce_sum(weight)))
        return share_of(mean) if _divided_step() is None else in_sum(mean)
    return share_of(_ops.reduce_mean(values))


def _divided_step():
    """The replica of a model's step, whose losses are those of the whole batch, or None."""
    replica = _replica.current()
    return replica if replica is not None and replica.in_step else None


def _in_all_replicas(count):
    """The sum over the replicas of a step: a mean is that of the whole batch."""
    replica = _divided_step()
    return count if replica is None else replica.all_reduce("SUM", count)
