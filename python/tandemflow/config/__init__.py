"""tf.config: what devices there are, how they are set up, and how ops find theirs.

What says how devices are made is settled by the first tensor or the first look at the logical devices. A call that comes
later and would change it raises a RuntimeError.
"""
import os

from .. import _names, _tandem
from . import _devices, experimental, optimizer, threading
from ._devices import LogicalDevice, LogicalDeviceConfiguration, PhysicalDevice

__all__ = [
    "LogicalDevice", "LogicalDeviceConfiguration", "PhysicalDevice", "experimental", "functions_run_eagerly",
    "get_dedicated_cores",
    "get_logical_device_configuration", "get_placement_lock", "get_placement_policy", "get_soft_device_placement", "get_visible_devices", "list_logical_devices",
    "list_physical_devices", "optimizer", "placement_drift", "run_functions_eagerly", "set_dedicated_cores", "set_logical_device_configuration",
    "set_placement_lock", "set_placement_policy", "set_soft_device_placement", "set_visible_devices", "threading",
]  # fmt: skip


def list_physical_devices(device_type=None):
    """The devices of this machine, of one type if one is named."""
    return _devices.physical(_tandem.list_physical_devices(_devices.kind(device_type)))


def list_logical_devices(device_type=None):
    """The devices as ops see them; how they are set up is settled by this."""
    return _devices.logical(_tandem.list_logical_devices(_devices.kind(device_type)))


def set_visible_devices(devices, device_type=None):
    """The physical devices (of one type, if one is named) that may be used; others are hidden."""
    if isinstance(devices, (str, PhysicalDevice)) or not hasattr(devices, "__iter__"):
        devices = [devices]
    _tandem.set_visible_devices([_devices.known(device) for device in devices], _devices.kind(device_type))


def get_visible_devices(device_type=None):
    """The physical devices that may be used."""
    return _devices.physical(_tandem.get_visible_devices(_devices.kind(device_type)))


def set_logical_device_configuration(device, logical_devices):
    """Makes several logical devices of a physical one, each with a memory limit of its own."""
    _devices.set_logical(device, logical_devices)


def get_logical_device_configuration(device):
    """What was set; None if nothing was."""
    return _devices.get_logical(device)


def set_soft_device_placement(enabled):
    """On: an op asked for a device that is missing or cannot run it runs elsewhere. Off: it is an error."""
    _tandem.set_soft_device_placement(bool(enabled))


def get_soft_device_placement():
    """Whether soft placement is on."""
    return _tandem.get_soft_device_placement()


def set_placement_policy(policy):
    """How ops without a scope find their device.

    "auto": where they finish first, as measured while they run; "planned": where they should, as predicted, and there
    they stay; "first_gpu": TensorFlow's rule.
    """
    _tandem.set_placement_policy(_devices.word(policy, "policy", "auto"))


def get_placement_policy():
    """The rule by which ops without a scope find their device."""
    return _tandem.get_placement_policy()


def set_placement_lock(path):
    """Functions that the lock file lists run exactly where it says, from now on; None: no lock. TANDEM_PLACEMENT_LOCK does the same."""
    _tandem.set_placement_lock("" if path is None else os.fspath(path))


def get_placement_lock():
    """The lock file in use; None without one."""
    return _tandem.get_placement_lock() or None


def placement_drift():
    """What was found to differ from the lock so far: ops that would be placed elsewhere now, graphs and predictions that changed."""
    return _tandem.placement_drift()


def set_dedicated_cores(compute=(), driver=(), data=()):
    """Which cores compute, which drive GPUs, which prepare data: numbers of cores. An empty list: any core."""
    _tandem.set_dedicated_cores(_devices.cores(compute, "compute"), _devices.cores(driver, "driver"), _devices.cores(data, "data"))


def get_dedicated_cores():
    """The cores of each role, empty for any."""
    return dict(zip(("compute", "driver", "data"), _tandem.get_dedicated_cores()))


def run_functions_eagerly(run_eagerly):
    """On: functions made by tf.function run op by op, so that one can look inside."""
    _tandem.run_functions_eagerly(bool(run_eagerly))


def functions_run_eagerly():
    """Whether functions made by tf.function run op by op."""
    return _tandem.functions_run_eagerly()


experimental_run_functions_eagerly, experimental_functions_run_eagerly = run_functions_eagerly, functions_run_eagerly

__getattr__, __dir__ = _names.lazy(__name__)
