"""Where gradients are added up."""


class CrossDeviceOps:
    """How gradients are added up: a plan does it, on the host unless a device is named."""

    def __init__(self, *args, **kwargs):
        self._device = None


class HierarchicalCopyAllReduce(CrossDeviceOps):
    pass


class NcclAllReduce(CrossDeviceOps):
    pass


class ReductionToOneDevice(CrossDeviceOps):
    """On `reduce_to_device`, where the variables are then updated."""

    def __init__(self, reduce_to_device=None, accumulation_fn=None):
        super().__init__()
        self._device = reduce_to_device


def reduction_device(ops):
    """The device that such an object names; the host without one."""
    if ops is not None and not isinstance(ops, CrossDeviceOps):
        raise ValueError(f"cross_device_ops must be a tf.distribute.CrossDeviceOps, got {ops!r}")
    named = ops._device if ops is not None else None
    if named is None:
        return "/CPU:0"
    from ._mirrored import check_devices

    return check_devices([named])[0]
