"""keras.optimizers: how gradients change weights."""
from ... import _names
from .._engine.registry import Family
from . import legacy, schedules
from .adam import Adam, Adamax, AdamW, Lamb, Nadam
from .descent import SGD, Adadelta, Adagrad, Lion, RMSprop
from .factored import Adafactor, Ftrl
from .loss_scale import LossScaleOptimizer
from .multi import MultiOptimizer, OptimizerMap
from .optimizer import Optimizer
from .recent import Muon, ScheduleFreeAdamW

family = Family(
    "optimizer",
    "keras.optimizers",
    [
        Optimizer, SGD, RMSprop, Adam, AdamW, Adagrad, Adadelta, Adamax, Nadam, Lion, Ftrl, Lamb, Adafactor,
        LossScaleOptimizer, Muon, ScheduleFreeAdamW, MultiOptimizer, OptimizerMap,
    ],
)  # fmt: skip
serialize, deserialize = family.serialize, family.deserialize


def get(identifier):
    """An optimizer for a name, a configuration, a class or an optimizer."""
    found = family.get(identifier)
    if found is not None and not isinstance(found, Optimizer):
        raise ValueError(f"Could not interpret optimizer identifier: {identifier}")
    return found


__getattr__, __dir__ = _names.lazy(__name__)
