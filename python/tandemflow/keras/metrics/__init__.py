"""keras.metrics: what is watched while training, added up over batches."""
from ... import _names
from .._engine.naming import snake_case
from .._engine.registry import Family
from ..losses import FUNCTIONS as LOSS_FUNCTIONS
from ..losses import (
    KLD,
    MAE,
    MAPE,
    MSE,
    MSLE,
    binary_crossentropy,
    binary_focal_crossentropy,
    categorical_crossentropy,
    categorical_focal_crossentropy,
    categorical_hinge,
    hinge,
    huber,
    kl_divergence,
    kld,
    kullback_leibler_divergence,
    log_cosh,
    logcosh,
    mae,
    mape,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    mean_squared_logarithmic_error,
    mse,
    msle,
    poisson,
    sparse_categorical_crossentropy,
    squared_hinge,
)
from ..losses._pairs import kind_of_targets
from .accuracy import (
    Accuracy,
    BinaryAccuracy,
    CategoricalAccuracy,
    SparseCategoricalAccuracy,
    SparseTopKCategoricalAccuracy,
    TopKCategoricalAccuracy,
    accuracy,
    binary_accuracy,
    categorical_accuracy,
    sparse_categorical_accuracy,
    sparse_top_k_categorical_accuracy,
    top_k_categorical_accuracy,
)
from .auc import AUC
from .classification import (
    FalseNegatives,
    FalsePositives,
    Precision,
    PrecisionAtRecall,
    Recall,
    RecallAtPrecision,
    SensitivityAtSpecificity,
    SpecificityAtSensitivity,
    TrueNegatives,
    TruePositives,
)
from .f_score import F1Score, FBetaScore
from .iou import BinaryIoU, IoU, MeanIoU, OneHotIoU, OneHotMeanIoU
from .metric import Metric
from .of_losses import (
    BinaryCrossentropy,
    CategoricalCrossentropy,
    CategoricalHinge,
    Hinge,
    KLDivergence,
    LogCoshError,
    MeanAbsoluteError,
    MeanAbsolutePercentageError,
    MeanSquaredError,
    MeanSquaredLogarithmicError,
    Poisson,
    SparseCategoricalCrossentropy,
    SquaredHinge,
)
from .reduction import Mean, MeanMetricWrapper, Sum
from .regression import (
    ConcordanceCorrelation,
    CosineSimilarity,
    PearsonCorrelation,
    R2Score,
    RootMeanSquaredError,
    concordance_correlation,
    cosine_similarity,
    pearson_correlation,
)

_CLASSES = [
    Metric, Mean, Sum, MeanMetricWrapper, MeanSquaredError, RootMeanSquaredError, MeanAbsoluteError,
    MeanAbsolutePercentageError, MeanSquaredLogarithmicError, CosineSimilarity, LogCoshError, R2Score, AUC, FalseNegatives,
    FalsePositives, Precision, PrecisionAtRecall, Recall, RecallAtPrecision, SensitivityAtSpecificity,
    SpecificityAtSensitivity, TrueNegatives, TruePositives, ConcordanceCorrelation, PearsonCorrelation, Hinge, SquaredHinge,
    CategoricalHinge, KLDivergence, Poisson, BinaryCrossentropy, CategoricalCrossentropy, SparseCategoricalCrossentropy,
    Accuracy, BinaryAccuracy, CategoricalAccuracy, SparseCategoricalAccuracy, TopKCategoricalAccuracy,
    SparseTopKCategoricalAccuracy, F1Score, FBetaScore, IoU, BinaryIoU, MeanIoU, OneHotIoU, OneHotMeanIoU,
]  # fmt: skip
_SHORT = {
    "bce": BinaryCrossentropy, "mse": MeanSquaredError, "mae": MeanAbsoluteError, "mape": MeanAbsolutePercentageError,
    "msle": MeanSquaredLogarithmicError,
}  # fmt: skip

family = Family(
    "metric",
    "keras.metrics",
    _CLASSES,
    {snake_case(cls.__name__): cls for cls in _CLASSES}
    | _SHORT
    | {name.upper(): cls for name, cls in _SHORT.items()}
    | {"cosine_proximity": CosineSimilarity, "huber": huber, "log_cosh": log_cosh},
)
# Those that MeanMetricWrapper may wrap.
functions = Family(
    "metric function",
    "keras.metrics",
    [
        accuracy, binary_accuracy, categorical_accuracy, sparse_categorical_accuracy, top_k_categorical_accuracy,
        sparse_top_k_categorical_accuracy, pearson_correlation, concordance_correlation, *LOSS_FUNCTIONS, cosine_similarity,
    ],
)  # fmt: skip
get, serialize, deserialize = family.get, family.serialize, family.deserialize


def resolve(identifier, y_true, y_pred):
    """The metric that `compile` means: as an object, and "accuracy" and "crossentropy" as those that fit the shapes."""
    if identifier is None:
        raise ValueError("Expected metric, received `None`")
    name = identifier if isinstance(identifier, str) else None
    if name is not None and name.lower() in ("accuracy", "acc"):
        identifier = f"{kind_of_targets(y_true, y_pred)}_accuracy"
    elif name is not None and name.lower() in ("crossentropy", "ce"):
        identifier = f"{kind_of_targets(y_true, y_pred)}_crossentropy"
    metric = get(identifier)
    name = name or getattr(metric, "name", None) or snake_case(getattr(metric, "__name__", type(metric).__name__))
    if not isinstance(metric, Metric):
        metric = MeanMetricWrapper(metric, name=name)
    metric.name = name
    return metric


__getattr__, __dir__ = _names.lazy(__name__)
