"""tf.queue: queues of tensors."""
from . import _names
from ._queues import FIFOQueue, PaddingFIFOQueue, PriorityQueue, QueueBase, RandomShuffleQueue  # noqa: F401

__getattr__, __dir__ = _names.lazy(__name__)
