"""tf.experimental: what is there of it."""
from .. import _names

__getattr__, __dir__ = _names.lazy(__name__, {}, ["dlpack"])
