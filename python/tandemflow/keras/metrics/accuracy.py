"""How often predictions are right."""
from ... import _arrays, _dtypes, _ops
from ..._ops import records
from .._engine.floats import floatx
from .._engine.logits import logits_of
from ..losses._pairs import as_tensor, pair, same_rank
from .reduction import MeanMetricWrapper


def _as_numbers(matches):
    return _ops.cast(matches, floatx())


def accuracy(y_true, y_pred):
    """1 where both are equal."""
    return _as_numbers(_ops.equal(*pair(y_true, y_pred)))


def binary_accuracy(y_true, y_pred, threshold=0.5):
    """1 where y_pred is above the threshold and y_true is 1, or neither."""
    y_true, y_pred = same_rank(as_tensor(y_true), as_tensor(y_pred))
    return _as_numbers(_ops.equal(y_true, _ops.cast(y_pred > float(threshold), y_true.dtype)))


def _scores(y_pred):
    """What ranks the classes as y_pred does: where it is known, what went into the softmax, which then need not run."""
    y_pred = as_tensor(y_pred)
    logits = logits_of(y_pred, "softmax")
    return y_pred if logits is None else logits


def _classes(scores, dtype):
    """The class with the highest score, as numbers of a dtype."""
    places = dtype if dtype.name in ("int32", "int64") else _dtypes.int64
    classes = records["argmax"](scores, -1, places)
    return classes if places is dtype else _ops.cast(classes, dtype)


def categorical_accuracy(y_true, y_pred):
    """1 where the highest score belongs to the class that is 1."""
    return _as_numbers(_ops.equal(_ops.argmax(as_tensor(y_true), -1), _ops.argmax(_scores(y_pred), -1)))


def sparse_categorical_accuracy(y_true, y_pred):
    """1 where the highest score belongs to the class of this number."""
    y_true, y_pred = as_tensor(y_true), _scores(y_pred)
    if y_true.ndim == y_pred.ndim and y_true.shape[-1] == 1:
        y_true = _ops.squeeze(y_true, -1)
    matches = _as_numbers(_ops.equal(y_true, _classes(y_pred, y_true.dtype)))
    return _ops.squeeze(matches, -1) if matches.ndim > 1 and matches.shape[-1] == 1 else matches


def _in_top_k(classes, scores, k):
    """Whether the class is among the k with the highest scores, for any number of leading axes."""
    flat = _ops.reshape(scores, [-1, scores.shape[-1]]) if scores.ndim > 2 else scores
    rows = _ops.reshape(classes, [-1]) if classes.ndim > 1 else classes
    matches = _as_numbers(_arrays.in_top_k(_ops.cast(rows, "int32"), flat, int(k)))
    return _ops.reshape(matches, classes.shape) if classes.ndim > 1 else matches


def top_k_categorical_accuracy(y_true, y_pred, k=5):
    """1 where the class that is 1 is among the k highest scores."""
    return _in_top_k(_ops.argmax(as_tensor(y_true), -1), _scores(y_pred), k)


def sparse_top_k_categorical_accuracy(y_true, y_pred, k=5, from_sorted_ids=False):
    """1 where the class of this number is among the k highest scores, or first k numbers."""
    y_true, y_pred = as_tensor(y_true), as_tensor(y_pred)
    if not from_sorted_ids:
        return _in_top_k(y_true, _scores(y_pred), k)
    ids = _ops.reshape(y_pred, [-1, y_pred.shape[-1]])[:, : int(k)]
    wanted = _ops.reshape(_ops.cast(y_true, ids.dtype), [-1, 1])
    return _ops.reshape(_as_numbers(_ops.reduce_any(_ops.equal(wanted, ids), 1)), y_true.shape)


class Accuracy(MeanMetricWrapper):
    """How often predictions equal labels."""

    _direction = "up"

    def __init__(self, name="accuracy", dtype=None):
        super().__init__(accuracy, name, dtype)


class BinaryAccuracy(MeanMetricWrapper):
    """How often a prediction is on the right side of the threshold."""

    _direction = "up"

    def __init__(self, name="binary_accuracy", dtype=None, threshold=0.5):
        super().__init__(binary_accuracy, name, dtype, threshold=threshold)
        self.threshold = threshold


class CategoricalAccuracy(MeanMetricWrapper):
    """How often the highest score belongs to the one-hot label."""

    _direction = "up"

    def __init__(self, name="categorical_accuracy", dtype=None):
        super().__init__(categorical_accuracy, name, dtype)


class SparseCategoricalAccuracy(MeanMetricWrapper):
    """How often the highest score belongs to the label."""

    _direction = "up"

    def __init__(self, name="sparse_categorical_accuracy", dtype=None):
        super().__init__(sparse_categorical_accuracy, name, dtype)


class TopKCategoricalAccuracy(MeanMetricWrapper):
    """How often the one-hot label is among the k highest scores."""

    _direction = "up"

    def __init__(self, k=5, name="top_k_categorical_accuracy", dtype=None):
        super().__init__(top_k_categorical_accuracy, name, dtype, k=k)
        self.k = k


class SparseTopKCategoricalAccuracy(MeanMetricWrapper):
    """How often the label is among the k highest scores."""

    _direction = "up"

    def __init__(self, k=5, name="sparse_top_k_categorical_accuracy", dtype=None, from_sorted_ids=False):
        super().__init__(
            sparse_top_k_categorical_accuracy, name, dtype, k=k, **({"from_sorted_ids": True} if from_sorted_ids else {})
        )
        self.k, self.from_sorted_ids = k, from_sorted_ids
