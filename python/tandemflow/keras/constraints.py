"""keras.constraints: what weights are made to obey after each step."""
from .. import _names, _ops, _tandem
from ._engine.floats import epsilon
from ._engine.naming import snake_case
from ._engine.registry import Family


class Constraint:
    """A function of a weight that gives the weight as it may be."""

    _keras_module = "keras.constraints"

    def __call__(self, w):
        return w

    def get_config(self):
        return {}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


def _norms(w, axis):
    axis = list(axis) if isinstance(axis, (tuple, list)) else axis
    return _ops.sqrt(_ops.reduce_sum(_ops.square(w), axis, True))


class MaxNorm(Constraint):
    """Vectors along the axis are not longer than max_value."""

    def __init__(self, max_value=2, axis=0):
        self.max_value, self.axis = max_value, axis

    def __call__(self, w):
        w = _tandem.to_tensor(w)
        norms = _norms(w, self.axis)
        return w * (_ops.minimum(norms, float(self.max_value)) / (epsilon() + norms))

    def get_config(self):
        return {"max_value": self.max_value, "axis": self.axis}


class NonNeg(Constraint):
    """Nothing below zero."""

    def __call__(self, w):
        return _ops.maximum(_tandem.to_tensor(w), 0.0)


class UnitNorm(Constraint):
    """Vectors along the axis have length 1."""

    def __init__(self, axis=0):
        self.axis = axis

    def __call__(self, w):
        w = _tandem.to_tensor(w)
        return w / (epsilon() + _norms(w, self.axis))

    def get_config(self):
        return {"axis": self.axis}


class MinMaxNorm(Constraint):
    """The lengths of vectors along the axis go towards [min_value, max_value], all the way at rate 1."""

    def __init__(self, min_value=0.0, max_value=1.0, rate=1.0, axis=0):
        self.min_value, self.max_value, self.rate, self.axis = min_value, max_value, rate, axis

    def __call__(self, w):
        w = _tandem.to_tensor(w)
        norms = _norms(w, self.axis)
        inside = _ops.clip_by_value(norms, float(self.min_value), float(self.max_value))
        wanted = float(self.rate) * inside + (1.0 - self.rate) * norms
        return w * (wanted / (epsilon() + norms))

    def get_config(self):
        return {"min_value": self.min_value, "max_value": self.max_value, "rate": self.rate, "axis": self.axis}


max_norm, non_neg, unit_norm, min_max_norm = MaxNorm, NonNeg, UnitNorm, MinMaxNorm
_CLASSES = [Constraint, MaxNorm, NonNeg, UnitNorm, MinMaxNorm]
family = Family("constraint", "keras.constraints", _CLASSES, {snake_case(c.__name__): c for c in _CLASSES})
get, serialize, deserialize = family.get, family.serialize, family.deserialize


__getattr__, __dir__ = _names.lazy(__name__)
