"""keras.ops.linalg: matrices."""
from .products import *  # noqa: F401, F403
