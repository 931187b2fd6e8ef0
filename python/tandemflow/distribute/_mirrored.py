"""The same model on several devices, each with its part of every batch."""
from .. import _tandem, config
from .._logging import get_logger
from ._cross_device_ops import reduction_device
from ._shards import Shards, Tuner
from ._strategy import Strategy

_DEVICE_ERRORS = (404, 405)  # device_lost, device_failed


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
        raise ValueError(f"No duplicates allowed in `devices` argument: {doubled[0]} is given twice; a replica needs a device of its own")
    return names


class MirroredStrategy(Strategy):
    """A replica on each GPU, or on the devices given, the CPU among them if wanted; on the CPU where there is no GPU.

    A global batch is divided by the measured speed of the devices; gradients are weighted by the rows they come from, so
    that results are those of one device, for any division. A device that fails leaves the group, unless
    `on_failure="stop"`. With `sharded=True` each variable and its optimizer state live on one device, and the others
    borrow the variable while they compute with it: a model may be larger than one device.
    """

    def __init__(self, devices=None, cross_device_ops=None, on_failure="leave", sharded=False):
        if not devices:
            devices = config.list_logical_devices("GPU") or config.list_logical_devices("CPU")[:1]
        if on_failure not in ("leave", "stop"):
            raise ValueError(f'on_failure must be "leave" or "stop", got {on_failure!r}')
        super().__init__(check_devices(devices))
        self._shards = Shards(self.devices)
        self._home = reduction_device(cross_device_ops)
        self._on_failure = on_failure
        self._sharded = bool(sharded)

    @property
    def home(self):
        """The host, unless cross_device_ops says otherwise: what lies there survives the loss of a GPU."""
        return self._home if len(self.devices) > 1 else self.devices[0]

    def homes_of(self, variables):
        if not self._sharded or len(self.devices) == 1:
            return [self.home]
        return _tandem.spread([variable.dtype.size * _count(variable.shape) for variable in variables], self.devices)

    def sizes(self, rows):
        return self._shards.sizes(rows)

    def set_speeds(self, speeds):
        """Divides batches by these speeds from now on (rows a second, one a replica), whatever is measured."""
        if len(speeds) != len(self.devices) or min(speeds) < 0 or sum(speeds) <= 0:
            raise ValueError(f"set_speeds needs {len(self.devices)} numbers that are not all 0, got {list(speeds)}")
        self._shards.set(speeds, f"as set: {', '.join(self._shards.shares(speeds))}")
        self._shards.fixed = True

    def adapts(self):
        """Whether shards follow what is measured."""
        return len(self.devices) > 1 and not self._shards.fixed and not _tandem.is_op_determinism_enabled()

    def take_speeds(self, speeds):
        """Speeds as measured (rows a second, one a replica)."""
        return self._shards.measured(speeds)

    def tuner(self):
        return Tuner(self._shards) if self.adapts() else None

    def explain(self):
        """Why the shards are as they are."""
        return self._shards.reason

    def leave(self, error):
        """Takes the device that an error names out of the group; False when there is none, or when told to stop."""
        text = str(error)
        failed = [i for i, name in enumerate(self.devices) if _names(text, name)]
        by_device = getattr(error, "code", 0) in _DEVICE_ERRORS
        if not by_device or not failed or self._on_failure == "stop" or len(self.devices) == 1:
            return False
        if self._sharded or self.devices[failed[0]] == self.home:
            return False  # variables that lived there are lost
        name = self.devices[failed[0]]
        self._shards.leave(failed[0], "it failed")
        self.devices = list(self._shards.devices)
        get_logger().warning(
            "MirroredStrategy: %s failed and has left the group; its rows go to %s and the step is done again. %s",
            name, ", ".join(self.devices), text,
        )  # fmt: skip
        return True


def _names(text, device):
    """Does the text name this device, and not only one whose number begins with its?"""
    after = text.partition(device)[2]
    return device in text and not after[:1].isdigit()


def _count(shape):
    count = 1
    for size in shape:
        count *= int(size)
    return count
