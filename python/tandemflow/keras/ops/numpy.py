"""keras.ops.numpy: what NumPy has as well."""
from ... import _names
from .creation import *  # noqa: F401, F403
from .elementwise import *  # noqa: F401, F403
from .products import *  # noqa: F401, F403
from .reductions import *  # noqa: F401, F403
from .search import *  # noqa: F401, F403
from .shapes import *  # noqa: F401, F403
from .numbers import *  # noqa: F401, F403
from .seldom import i0, nextafter, vectorize, view  # noqa: F401


__getattr__, __dir__ = _names.lazy(__name__)
