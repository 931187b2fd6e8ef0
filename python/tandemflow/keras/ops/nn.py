"""keras.ops.nn: what neural networks are made of."""
from .ctc import ctc_decode, ctc_loss  # noqa: F401
from .neural import *  # noqa: F401, F403
from .products import normalize  # noqa: F401
from .reductions import moments  # noqa: F401
from .seldom import polar  # noqa: F401
from .windows import fold, unfold  # noqa: F401
