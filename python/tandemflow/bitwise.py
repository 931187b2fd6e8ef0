"""tf.bitwise: the bits of integers."""
from . import _names
from ._ops import bitwise_and, bitwise_or, bitwise_xor, invert, left_shift, right_shift  # noqa: F401

__getattr__, __dir__ = _names.lazy(__name__)
