"""keras.ops.linalg: matrices."""
from .products import *  # noqa: F401, F403
from .seldom import cholesky_inverse, eig, jvp, lu_factor  # noqa: F401
