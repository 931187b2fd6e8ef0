"""tf.distribute.experimental."""
from .. import _names
from ._one_worker import (  # noqa: F401
    CentralStorageStrategy,
    CollectiveCommunication,
    CommunicationImplementation,
    CommunicationOptions,
    MultiWorkerMirroredStrategy,
)

__getattr__, __dir__ = _names.lazy(__name__)
