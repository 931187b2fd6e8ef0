"""tf.math: arithmetic, comparisons and reductions."""
from ._ops import *  # noqa: F401,F403
from ._ops import add_n, argmax, argmin, floordiv, floormod, reduce_all, reduce_any, reduce_min  # noqa: F401
from ._ops import public as _public

globals().update({name: function for name, function in _public.items()})
truediv = _public["divide"]
mod = floormod
floor_div = floordiv
