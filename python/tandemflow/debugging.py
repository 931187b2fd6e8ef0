"""tf.debugging."""
from . import _tandem


def enable_check_numerics(stack_height_limit=30, path_length_limit=50):
    """From now on the first op that produces NaN or Inf is an error that names it (E0703)."""
    _tandem.check_numerics(True)


def disable_check_numerics():
    """NaN and Inf are values like others again."""
    _tandem.check_numerics(False)
