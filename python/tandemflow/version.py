"""tf.version: which version this is."""
from . import _names
from . import _tandem

VERSION = _tandem.version
GIT_VERSION = "unknown"
COMPILER_VERSION = "unknown"
GRAPH_DEF_VERSION = 0
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0


__getattr__, __dir__ = _names.lazy(__name__)
