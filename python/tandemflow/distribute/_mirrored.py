"""The same model on several devices, each with its part of every batch."""
from .. import config
from ._shards import Shards
from ._strategy import Strategy


def _short(name):
    """ "/GPU:0" for every spelling."""
    text = str(getattr(name, "name", name))
    kind, _, index = text.rpartition("/")[2].replace("device:", "").replace("physical_", "").partition(":")
    return f"/{kind.upper()}:{index or 0}"


def check_devices(devices):
    """Short names of devices that exist; raises ValueError, naming those that do, else."""
    names = [_short(device) for device in devices]
    known = [_short(device.name) for device in config.list_logical_devices()]
    for name in names:
        if name not in known:
            raise ValueError(f"Device {name} is not available; the devices are {', '.join(known)}")
    doubled = [name for name in names if names.count(name) > 1]
    if doubled:
        raise ValueError(f"Device {doubled[0]} is given twice: a replica needs a device of its own")
    if not names:
        raise ValueError("a strategy needs at least one device, got an empty list")
    return names


class MirroredStrategy(Strategy):
    """A replica on each GPU, or on the devices given, the CPU among them if wanted; on the CPU where there is no GPU.

    A global batch is divided by the measured speed of the devices; gradients are weighted by the rows they come from, so
    that results are those of one device, for any division.
    """

    def __init__(self, devices=None, cross_device_ops=None):
        if devices is None:
            devices = config.list_logical_devices("GPU") or config.list_logical_devices("CPU")[:1]
        super().__init__(check_devices(devices))
        self._shards = Shards(self.devices)

    def sizes(self, rows):
        return self._shards.sizes(rows)

    def set_speeds(self, speeds):
        """Divides batches by these speeds from now on (rows a second, one a replica)."""
        if len(speeds) != len(self.devices) or min(speeds) < 0 or sum(speeds) <= 0:
            raise ValueError(f"set_speeds needs {len(self.devices)} numbers that are not all 0, got {list(speeds)}")
        return self._shards.measured(list(speeds))

    def explain(self):
        """Why the shards are as they are."""
        return self._shards.reason
