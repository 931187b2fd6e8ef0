"""tf.profiler: what ran when, on which device and for how long."""
from .. import _names

__getattr__, __dir__ = _names.lazy(__name__, {}, ["experimental"])
