"""keras.ops.nn: what neural networks are made of."""
from ... import _names
from .ctc import ctc_decode, ctc_loss  # noqa: F401
from .neural import *  # noqa: F401, F403
from .products import normalize  # noqa: F401
from .reductions import moments  # noqa: F401
from .seldom import polar  # noqa: F401
from .windows import fold, unfold  # noqa: F401


__getattr__, __dir__ = _names.lazy(__name__)
