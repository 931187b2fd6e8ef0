"""tf.types: names for annotations."""
from .. import _names
from . import experimental  # noqa: F401


__getattr__, __dir__ = _names.lazy(__name__)
