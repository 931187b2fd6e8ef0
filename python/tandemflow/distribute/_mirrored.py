"""The same model on several devices, each with its part of every batch."""
import math

from .. import _tandem, config
from .._gradient import flatten
from ..errors import OpError
from ._cross_device_ops import reduction_device
from ._strategy import Strategy


def _short(name):
    """ "/GPU:0" for every spelling."""
    text = str(getattr(name, "name", name))
    kind, _, index = text.rpartition("/")[2].replace("device:", "").replace("physical_", "").partition(":")
    return f"/{kind.upper()}:{index or 0}"


class DuplicateDevices(ValueError, AssertionError):
    """TensorFlow asserts that there are none."""


def check_devices(devices):
    """Short names of devices that exist; raises ValueError, naming those that do, else."""
    if isinstance(devices, str):
        raise ValueError(f"devices must be a list of device names, got the text {devices!r}; [{devices!r}] is a list of one")
    for device in devices:
        if not isinstance(getattr(device, "name", device), str):
            raise ValueError(f'devices must be a list of device names such as "/GPU:0", got {device!r} in it')
    names = [_short(device) for device in devices]
    known = [_short(device.name) for device in config.list_logical_devices()]
    for name in names:
        if name not in known:
            raise ValueError(f"Device {name} is not available; the devices are {', '.join(known)}")
    doubled = [name for name in names if names.count(name) > 1]
    if doubled:
        raise DuplicateDevices(f"No duplicates allowed in `devices` argument: {doubled[0]} is given twice; a replica needs a device of its own")
    return names


class MirroredStrategy(Strategy):
    """A replica on each GPU, or on the devices given, the CPU among them if wanted; on the CPU where there is no GPU,
    or on all the logical CPUs that were asked for.

    A global batch is divided by the measured speed of the devices; gradients are weighted by the rows they come from, so
    that results are those of one device, for any division. A device that fails leaves the group, unless
    `on_failure="stop"`. With `sharded=True` each variable and its optimizer state live on one device, and the others
    borrow the variable while they compute with it: a model may be larger than one device.
    """

    def __init__(self, devices=None, cross_device_ops=None, on_failure="leave", sharded=False):
        if not devices:
            devices = config.list_logical_devices("GPU") or config.list_logical_devices("CPU")
        if on_failure not in ("leave", "stop"):
            raise ValueError(f'on_failure must be "leave" or "stop", got {on_failure!r}')
        names = check_devices(devices)
        super().__init__(names)
        self._group = _tandem.MirroredGroup(names, on_failure == "stop", bool(sharded), reduction_device(cross_device_ops))

    @property
    def devices(self):
        """The group: without those that have left."""
        return self._group.devices

    @property
    def replica_devices(self):
        """One a replica: its own, or the one that stands in for it."""
        return self._group.replica_devices

    @property
    def home(self):
        """The host, unless cross_device_ops says otherwise: what lies there survives the loss of a GPU."""
        return self._group.home

    def homes_of(self, variables):
        return self._group.homes([variable.dtype.size * _count(variable.shape) for variable in variables])

    def sizes(self, rows):
        return self._group.sizes(rows)

    def even_sizes(self, rows):
        return self._group.even_sizes(rows)

    def set_speeds(self, speeds):
        """Divides batches by these speeds from now on (rows a second, one a replica), whatever is measured."""
        speeds = [float(speed) for speed in speeds]
        if len(speeds) != len(self.devices) or not all(speed >= 0 for speed in speeds) or not 0 < sum(speeds) < math.inf:
            raise ValueError(f"set_speeds needs {len(self.devices)} numbers that are not all 0 and have a finite sum, got {speeds}")
        self._group.set_speeds(speeds)

    def adapts(self):
        """Whether shards follow what is measured."""
        return self._group.adapts()

    def take_seconds(self, seconds, rows):
        """What a step of so many rows takes on each device alone, as measured."""
        self._group.division.note_alone(min(seconds))
        return self._group.division.take_measured([rows / s for s in seconds])

    def tuner(self, stretch):
        """Finds the shards with which steps are fastest; judges stretches of so many seconds."""
        return _tandem.Tuner(self._group.division, stretch) if self.adapts() else None

    def tell_slower(self, line):
        """Tells people that one device is faster than all together, unless they know it already; nothing for an empty line."""
        self._group.tell_slower(line)

    def explain(self):
        """Why the shards are as they are."""
        return self._group.explain()

    def attempts(self, run, devices):
        if not _tandem.executing_eagerly():
            self._group.note_in_trace()  # whoever runs the graph repeats what a device has failed in
            return run(devices)
        while True:
            attempt = self._group.attempt()
            if attempt is None:
                return run(devices)
            devices = [attempt.stand_in(name) for name in devices]
            try:
                with attempt:
                    results = run(devices)
                    attempt.keep([leaf for leaf in flatten(results) if isinstance(leaf, _tandem.Tensor)])
                return results
            except OpError as error:
                if not attempt.repeats(error.code, str(error)):
                    raise


def _count(shape):
    count = 1
    for size in shape:
        count *= int(size)
    return count
