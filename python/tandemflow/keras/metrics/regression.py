"""Metrics of numbers that are more than the mean of a loss."""
from ... import _arrays, _ops
from .._engine.floats import epsilon
from ..losses import regression
from ..losses._pairs import as_tensor, pair, same_rank
from .metric import Metric
from .reduction import Mean, MeanMetricWrapper


class RootMeanSquaredError(Mean):
    """sqrt(mean((y_true - y_pred)^2))"""

    _direction = "down"

    def __init__(self, name="root_mean_squared_error", dtype=None):
        super().__init__(name, dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred = same_rank(as_tensor(y_true, self.dtype), as_tensor(y_pred, self.dtype))
        super().update_state(_ops.squared_difference(y_pred, y_true), sample_weight)

    def result(self):
        return _ops.sqrt(super().result())


def cosine_similarity(y_true, y_pred, axis=-1):
    """1 for the same direction, -1 for the opposite one."""
    return -regression.cosine_similarity(y_true, y_pred, axis)


class CosineSimilarity(MeanMetricWrapper):
    """1 for the same direction, -1 for the opposite one."""

    _direction = "up"
    _unlisted = {"axis": -1}

    def __init__(self, name="cosine_similarity", dtype=None, axis=-1):
        super().__init__(cosine_similarity, name, dtype, axis=axis)


def pearson_correlation(y_true, y_pred, axis=-1):
    """1 where one is a rising straight function of the other, -1 where it is a falling one."""

    def standard(x):
        centred = x - _ops.reduce_mean(x, axis, True)
        return centred / _arrays.reduce_std(centred, axis, True)

    y_true, y_pred = pair(y_true, y_pred)
    return _ops.reduce_mean(standard(y_true) * standard(y_pred), axis)


def concordance_correlation(y_true, y_pred, axis=-1):
    """1 where both are the same; less than the correlation where mean or spread differ."""
    y_true, y_pred = pair(y_true, y_pred)
    true_mean, pred_mean = _ops.reduce_mean(y_true, axis, True), _ops.reduce_mean(y_pred, axis, True)
    true_variance = _arrays.reduce_variance(y_true - true_mean, axis, True)
    pred_variance = _arrays.reduce_variance(y_pred - pred_mean, axis, True)
    together = (y_true - pred_mean) * (y_pred - pred_mean)
    spread = true_variance + pred_variance + _ops.square(true_mean - pred_mean)
    return _ops.reduce_mean(2.0 * together / (spread + epsilon()), axis)


class PearsonCorrelation(MeanMetricWrapper):
    """The correlation along an axis."""

    _direction = "up"

    def __init__(self, name="pearson_correlation", dtype=None, axis=-1):
        super().__init__(pearson_correlation, name, dtype, axis=axis)
        self.axis = axis


class ConcordanceCorrelation(MeanMetricWrapper):
    """The agreement along an axis."""

    _direction = "up"

    def __init__(self, name="concordance_correlation", dtype=None, axis=-1):
        super().__init__(concordance_correlation, name, dtype, axis=axis)
        self.axis = axis


class R2Score(Metric):
    """The share of the variance of y_true that y_pred explains: 1 for all of it."""

    _direction = "up"

    def __init__(self, class_aggregation="uniform_average", num_regressors=0, name="r2_score", dtype=None):
        super().__init__(dtype, name)
        known = (None, "uniform_average", "variance_weighted_average")
        if class_aggregation not in known:
            raise ValueError(
                f"Invalid value for argument `class_aggregation`. Expected one of {known}. "
                f"Received: class_aggregation={class_aggregation}"
            )
        if num_regressors < 0:
            raise ValueError(
                "Invalid value for argument `num_regressors`. Expected a value >= 0. "
                f"Received: num_regressors={num_regressors}"
            )
        self.class_aggregation, self.num_regressors = class_aggregation, num_regressors
        self.num_samples = self.add_variable(name="num_samples")
        self._built = False

    def _build(self, y_true, y_pred):
        if y_pred.ndim != 2 or y_true.ndim != 2:
            raise ValueError(
                "R2Score expects 2D inputs with shape (batch_size, output_dim). Received input shapes: "
                f"y_pred.shape={y_pred.shape} and y_true.shape={y_true.shape}."
            )
        names = ("squared_sum", "sum", "residual", "count")
        self.squared_sum, self.sum, self.total_mse, self.count = (
            self.add_variable([y_pred.shape[1]], name=name) for name in names
        )
        self._built = True

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred = same_rank(as_tensor(y_true, self.dtype), as_tensor(y_pred, self.dtype))
        if not self._built:
            self._build(y_true, y_pred)
        weight = as_tensor(1.0 if sample_weight is None else sample_weight, self.dtype)
        weight = _ops.broadcast_to(_ops.expand_dims(weight, 1) if weight.ndim == 1 else weight, y_true.shape)
        weighted = y_true * weight
        self.sum.assign_add(_ops.reduce_sum(weighted, 0))
        self.squared_sum.assign_add(_ops.reduce_sum(y_true * weighted, 0))
        self.total_mse.assign_add(_ops.reduce_sum(_ops.square(y_true - y_pred) * weight, 0))
        self.count.assign_add(_ops.reduce_sum(weight, 0))
        self.num_samples.assign_add(float(y_true.shape.num_elements()))

    def result(self):
        total = self.squared_sum - self.sum * (self.sum / self.count)
        scores = 1.0 - self.total_mse / total
        scores = _ops.where(_ops.is_inf(scores), 0.0 * total, scores)
        if self.class_aggregation == "uniform_average":
            scores = _ops.reduce_mean(scores)
        elif self.class_aggregation == "variance_weighted_average":
            scores = _ops.reduce_sum(total * scores) / _ops.reduce_sum(total)
        return self._adjusted(scores) if self.num_regressors else scores

    def _adjusted(self, scores):
        """For the number of regressors, where there are more samples than they are."""
        spare = self.num_samples - float(self.num_regressors) - 1.0
        adjusted = 1.0 - (1.0 - scores) * (self.num_samples - 1.0) / spare
        return _ops.where(spare > 0, adjusted, scores)

    def get_config(self):
        config = {"class_aggregation": self.class_aggregation, "num_regressors": self.num_regressors}
        return {**super().get_config(), **config}
