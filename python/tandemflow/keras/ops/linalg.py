"""keras.ops.linalg: matrices."""
from ... import _names
from .products import *  # noqa: F401, F403
from .seldom import cholesky_inverse, eig, jvp, lu_factor  # noqa: F401


__getattr__, __dir__ = _names.lazy(__name__)
