"""tf.math: arithmetic, comparisons and reductions."""
from . import _names
from ._arrays import exported as _composed
from ._ops import exported as _exported

globals().update(_exported)
globals().update(_composed)
truediv = _exported["divide"]
mod = _exported["floormod"]

__getattr__, __dir__ = _names.lazy(__name__, _names.places_of(_extras="confusion_matrix"))
