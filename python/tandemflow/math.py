"""tf.math: arithmetic, comparisons and reductions."""
from ._ops import exported as _exported

globals().update(_exported)
truediv = _exported["divide"]
mod = _exported["floormod"]
