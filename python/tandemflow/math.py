"""tf.math: arithmetic, comparisons and reductions."""
from ._arrays import exported as _composed
from ._ops import exported as _exported

globals().update(_exported)
globals().update(_composed)
truediv = _exported["divide"]
mod = _exported["floormod"]
