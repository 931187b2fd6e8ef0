"""tf.distribute: one program on several devices at once. See docs/mirrored.md."""
from ._context import (
    ReplicaContext,
    experimental_set_strategy,
    get_replica_context,
    get_strategy,
    has_strategy,
    in_cross_replica_context,
)
from ._mirrored import MirroredStrategy
from ._one_device import OneDeviceStrategy
from ._strategy import ReduceOp, Strategy
from ._values import DistributedValues, InputContext, InputOptions, PerReplica


class CrossDeviceOps:
    """How gradients are added up; here the plan of the step does it, whatever is given."""

    def __init__(self, *args, **kwargs):
        pass


class HierarchicalCopyAllReduce(CrossDeviceOps):
    pass


class NcclAllReduce(CrossDeviceOps):
    pass


class ReductionToOneDevice(CrossDeviceOps):
    pass


__all__ = [
    "CrossDeviceOps", "DistributedValues", "HierarchicalCopyAllReduce", "InputContext", "InputOptions",
    "MirroredStrategy", "NcclAllReduce", "OneDeviceStrategy", "PerReplica", "ReduceOp", "ReductionToOneDevice",
    "ReplicaContext", "Strategy", "experimental_set_strategy", "get_replica_context", "get_strategy", "has_strategy",
    "in_cross_replica_context",
]  # fmt: skip
