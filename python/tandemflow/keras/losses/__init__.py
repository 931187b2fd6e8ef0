"""keras.losses: what training makes smaller, as functions of rows and as classes that reduce them."""
from ... import _names
from .._engine.naming import snake_case
from .._engine.registry import Family
from ._pairs import kind_of_targets
from .classes import CLASSES
from .ctc import ctc
from .loss import Loss, LossFunctionWrapper, Reduction
from .overlap import circle, dice, tversky
from .probabilistic import (
    binary_crossentropy,
    binary_focal_crossentropy,
    categorical_crossentropy,
    categorical_focal_crossentropy,
    categorical_generalized_cross_entropy,
    crossentropy,
    kl_divergence,
    sparse_categorical_crossentropy,
)
from .regression import (
    categorical_hinge,
    cosine_similarity,
    hinge,
    huber,
    log_cosh,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    mean_squared_logarithmic_error,
    poisson,
    squared_hinge,
)

globals().update({cls.__name__: cls for cls in CLASSES})
FUNCTIONS = [
    kl_divergence, poisson, binary_crossentropy, binary_focal_crossentropy, categorical_crossentropy,
    categorical_focal_crossentropy, sparse_categorical_crossentropy, mean_squared_error, mean_absolute_error,
    mean_absolute_percentage_error, mean_squared_logarithmic_error, cosine_similarity, log_cosh, huber, hinge,
    squared_hinge, categorical_hinge, dice, tversky, circle, ctc, categorical_generalized_cross_entropy,
]  # fmt: skip

mse = MSE = mean_squared_error
mae = MAE = mean_absolute_error
mape = MAPE = mean_absolute_percentage_error
msle = MSLE = mean_squared_logarithmic_error
kld = KLD = kullback_leibler_divergence = kl_divergence
bce = BCE = binary_crossentropy
logcosh = log_cosh

family = Family(
    "loss",
    "keras.losses",
    CLASSES + FUNCTIONS,
    {
        "bce": bce, "BCE": bce, "kld": kld, "KLD": kld, "mae": mae, "MAE": mae, "mse": mse, "MSE": mse, "mape": mape,
        "MAPE": mape, "msle": msle, "MSLE": msle, "logcosh": log_cosh, "huber_loss": huber,
        "kullback_leibler_divergence": kl_divergence, "crossentropy": crossentropy, "ce": crossentropy,
    },
)  # fmt: skip
get, serialize, deserialize = family.get, family.serialize, family.deserialize


def resolve(identifier, y_true, y_pred):
    """The loss that `compile` means: as an object, and "crossentropy" as the one that fits the shapes."""
    name = identifier if isinstance(identifier, str) else None
    if name is not None and name.lower() in ("crossentropy", "ce"):
        identifier = f"{kind_of_targets(y_true, y_pred)}_crossentropy"
    loss = get(identifier)
    if loss is None or isinstance(loss, Loss):
        return loss
    return LossFunctionWrapper(loss, name=name or snake_case(getattr(loss, "__name__", type(loss).__name__)))


__getattr__, __dir__ = _names.lazy(__name__)
