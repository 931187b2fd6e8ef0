"""tf.config: what devices there are, and how ops find theirs."""
from collections import namedtuple

from . import _tandem

PhysicalDevice = namedtuple("PhysicalDevice", ["name", "device_type"])
LogicalDevice = namedtuple("LogicalDevice", ["name", "device_type"])


def _devices(make, prefix, device_type):
    wanted = None if device_type is None else device_type.upper()
    return [
        make(f"/{prefix}:{kind}:{index}", kind)
        for kind, index, _, _ in _tandem.devices()
        if wanted is None or kind == wanted
    ]


def list_physical_devices(device_type=None):
    """The devices of this machine, of one type if one is named."""
    return _devices(PhysicalDevice, "physical_device", device_type)


def list_logical_devices(device_type=None):
    """The devices as ops see them."""
    return _devices(LogicalDevice, "device", device_type)


def set_soft_device_placement(enabled):
    """On: an op asked for a device that is missing or cannot run it runs elsewhere. Off: it is an error."""
    _tandem.set_soft_device_placement(bool(enabled))


def get_soft_device_placement():
    """Whether soft placement is on."""
    return _tandem.get_soft_device_placement()


def run_functions_eagerly(run_eagerly):
    """On: functions made by tf.function run op by op, so that one can look inside."""
    _tandem.run_functions_eagerly(bool(run_eagerly))


def functions_run_eagerly():
    """Whether functions made by tf.function run op by op."""
    return _tandem.functions_run_eagerly()
