"""keras.regularizers: penalties for large weights."""
import math

from .. import _names, _ops, _tandem
from ._engine.naming import snake_case
from ._engine.registry import Family


class Regularizer:
    """A function of a tensor whose value is added to the loss."""

    _keras_module = "keras.regularizers"

    def __call__(self, x):
        return 0.0

    def get_config(self):
        raise NotImplementedError(f"{self} does not implement get_config()")

    @classmethod
    def from_config(cls, config):
        return cls(**config)


def _factor(value, name, default):
    value = default if value is None else value
    if not isinstance(value, (float, int)) or not math.isfinite(value) or value < 0:
        raise ValueError(
            f"Invalid value for argument {name}: expected a non-negative float. Received: {name}={value}"
        )
    return float(value)


def _absolute_sum(factor, x):
    return factor * _ops.reduce_sum(_ops.abs(x))


def _square_sum(factor, x):
    return factor * _ops.reduce_sum(_ops.square(x))


class L1L2(Regularizer):
    """l1 * sum(|x|) + l2 * sum(x^2)"""

    def __init__(self, l1=0.0, l2=0.0):
        self.l1, self.l2 = _factor(l1, "l1", 0.0), _factor(l2, "l2", 0.0)

    def __call__(self, x):
        x = _tandem.to_tensor(x)
        if not self.l1:
            return _square_sum(self.l2, x)
        total = _absolute_sum(self.l1, x)
        return total + _square_sum(self.l2, x) if self.l2 else total

    def get_config(self):
        return {"l1": self.l1, "l2": self.l2}


class L1(Regularizer):
    """l1 * sum(|x|)"""

    def __init__(self, l1=0.01):
        self.l1 = _factor(l1, "l1", 0.01)

    def __call__(self, x):
        return _absolute_sum(self.l1, _tandem.to_tensor(x))

    def get_config(self):
        return {"l1": self.l1}


class L2(Regularizer):
    """l2 * sum(x^2)"""

    def __init__(self, l2=0.01):
        self.l2 = _factor(l2, "l2", 0.01)

    def __call__(self, x):
        return _square_sum(self.l2, _tandem.to_tensor(x))

    def get_config(self):
        return {"l2": self.l2}


class OrthogonalRegularizer(Regularizer):
    """factor * mean(|cosine|) of the pairs of different rows, or columns."""

    def __init__(self, factor=0.01, mode="rows"):
        self.factor = _factor(factor, "factor", 0.01)
        if mode not in ("rows", "columns"):
            raise ValueError(
                f"Invalid value for argument `mode`. Expected one of {{'rows', 'columns'}}. Received: mode={mode}"
            )
        self.mode = mode

    def __call__(self, inputs):
        inputs = _tandem.to_tensor(inputs)
        if inputs.ndim != 2:
            raise ValueError(f"Inputs to OrthogonalRegularizer must have rank 2. Received: inputs.shape={inputs.shape}")
        axis = 1 if self.mode == "rows" else 0
        unit = inputs * _ops.rsqrt(_ops.maximum(_ops.reduce_sum(_ops.square(inputs), axis, True), 1e-12))
        product = _ops.matmul(unit, unit, transpose_a=axis == 0, transpose_b=axis == 1)
        size = product.shape[0]
        between = product * (1.0 - _ops.eye(size, dtype=inputs.dtype))
        pairs = size * (size - 1.0) / 2.0
        return _absolute_sum(self.factor * 0.5, between) / pairs

    def get_config(self):
        return {"factor": self.factor, "mode": self.mode}


l1_l2, l1, l2 = L1L2, L1, L2
orthogonal_regularizer = OrthogonalRegularizer
_CLASSES = [Regularizer, L1L2, L1, L2, OrthogonalRegularizer]
family = Family(
    "regularizer", "keras.regularizers", _CLASSES, {snake_case(c.__name__): c for c in _CLASSES} | {"l1_l2": L1L2}
)
get, serialize, deserialize = family.get, family.serialize, family.deserialize


__getattr__, __dir__ = _names.lazy(__name__)
