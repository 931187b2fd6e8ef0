"""tf.distribute: one program on several devices at once. See docs/mirrored.md."""
from .. import _names
from ._context import (
    ReplicaContext,
    experimental_set_strategy,
    get_replica_context,
    get_strategy,
    has_strategy,
    in_cross_replica_context,
)
from ._cross_device_ops import CrossDeviceOps, HierarchicalCopyAllReduce, NcclAllReduce, ReductionToOneDevice
from ._dataset import DistributedDataset, DistributedIterator
from ._extended import StrategyExtended
from ._mirrored import MirroredStrategy
from ._one_device import OneDeviceStrategy
from ._one_worker import MultiWorkerMirroredStrategy
from ._reduce import ReduceOp
from ._strategy import Strategy
from ._values import DistributedValues, InputContext, InputOptions, InputReplicationMode, PerReplica, RunOptions

__all__ = [
    "CrossDeviceOps", "DistributedDataset", "DistributedIterator", "DistributedValues", "HierarchicalCopyAllReduce", "InputContext", "InputOptions",
    "InputReplicationMode", "MirroredStrategy", "MultiWorkerMirroredStrategy", "NcclAllReduce", "OneDeviceStrategy", "PerReplica", "ReduceOp", "ReductionToOneDevice",
    "ReplicaContext", "RunOptions", "Strategy", "StrategyExtended", "experimental_set_strategy", "get_replica_context", "get_strategy", "has_strategy",
    "in_cross_replica_context",
]  # fmt: skip

__getattr__, __dir__ = _names.lazy(__name__, submodules=["experimental"])
