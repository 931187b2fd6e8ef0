"""tf.bitwise: the bits of integers."""
from ._ops import bitwise_and, bitwise_or, bitwise_xor, invert, left_shift, right_shift  # noqa: F401
