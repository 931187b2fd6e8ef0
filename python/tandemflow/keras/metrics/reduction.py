"""Sums and means over all batches."""
import math

from ... import _ops, _tandem
from .._engine.registry import serialize_keras_object
from ..losses import family as loss_family
from ..losses._pairs import as_tensor, same_rank
from ..losses.loss import masked_weight
from .metric import Metric


def _rows(values, weight, reduce):
    """One value a row, times its weight; and the weights, one a row."""
    values, weight = same_rank(values, weight)
    if values.ndim > weight.ndim:
        values = reduce(values, list(range(weight.ndim, values.ndim)))
    if weight.shape != values.shape:
        weight = _ops.broadcast_to(weight, values.shape)
    values = values * weight
    if weight.ndim > 1:
        weight = reduce(weight, list(range(1, weight.ndim)))
    if values.ndim > 1:
        values = reduce(values, list(range(1, values.ndim)))
    return values, weight


class Sum(Metric):
    """The sum of all values."""

    def __init__(self, name="sum", dtype=None):
        super().__init__(dtype, name)
        self.total = self.add_variable(name="total")

    def update_state(self, values, sample_weight=None):
        values = as_tensor(values, self.dtype)
        if sample_weight is not None:
            values, _ = _rows(values, as_tensor(sample_weight, self.dtype), _ops.reduce_sum)
        self.total.assign_add(_ops.reduce_sum(values))

    def result(self):
        return self.total.value()


class Mean(Metric):
    """The mean of all values, or of rows of values."""

    def __init__(self, name="mean", dtype=None):
        super().__init__(dtype, name)
        self.total = self.add_variable(name="total")
        self.count = self.add_variable(name="count")

    def update_state(self, values, sample_weight=None):
        values = as_tensor(values, self.dtype)
        if sample_weight is None:
            self._add_rows(values)
        elif values.ndim == 0 and isinstance(sample_weight, (int, float)):
            # A number of rows: a batch of one row is multiplied by 1 as others are by theirs, or its step would be compiled anew.
            weight = _tandem.size_tensor(sample_weight, self.dtype) if isinstance(sample_weight, int) else float(sample_weight)
            self.total.assign_add(values * weight)
            self.count.assign_add(weight)
        else:
            values, weight = _rows(values, as_tensor(sample_weight, self.dtype), _ops.reduce_mean)
            self.total.assign_add(_ops.reduce_sum(values))
            self.count.assign_add(_ops.reduce_sum(weight))

    def _add_rows(self, values):
        sizes = values.shape.as_list()
        total = _ops.reduce_sum(values) if sizes else values
        if len(sizes) > 1 and sizes[0]:
            total = total * (1.0 / max(math.prod(sizes[1:]), 1))
        self.total.assign_add(total)
        self.count.assign_add(_tandem.to_tensor(sizes[0] if sizes else 1, self.count.dtype))

    def result(self):
        return _ops.divide_no_nan(self.total, self.count)


class MeanMetricWrapper(Mean):
    """The mean of a function of (y_true, y_pred); further keyword arguments are passed to it."""

    _unlisted = {}  # arguments that Keras leaves out of configurations; here only where they are these

    def __init__(self, fn, name=None, dtype=None, **kwargs):
        super().__init__(name, dtype)
        self._fn, self._fn_kwargs = fn, kwargs
        if self._direction is None and fn in loss_family.members.values():
            self._direction = "down"

    def update_state(self, y_true, y_pred, sample_weight=None):
        mask = getattr(y_pred, "_keras_mask", None)
        values = self._fn(y_true, y_pred, **self._fn_kwargs)
        if mask is not None:
            weight = None if sample_weight is None else as_tensor(sample_weight, self.dtype)
            sample_weight = masked_weight(weight, _tandem.to_tensor(mask), "sum", _tandem.as_dtype(self.dtype))
        super().update_state(values, sample_weight)

    def get_config(self):
        own = {"fn": serialize_keras_object(self._fn)} if type(self) is MeanMetricWrapper else {}
        listed = {name: value for name, value in self._fn_kwargs.items() if self._unlisted.get(name, ...) != value}
        return {**super().get_config(), **own, **serialize_keras_object(listed)}

    @classmethod
    def from_config(cls, config):
        if isinstance(config.get("fn"), (str, dict)):
            from . import functions

            config = {**config, "fn": functions.deserialize(config["fn"])}
        return cls(**config)
