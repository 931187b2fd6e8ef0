"""keras.ops.nn: what neural networks are made of."""
from .neural import *  # noqa: F401, F403
from .products import normalize  # noqa: F401
from .reductions import moments  # noqa: F401
