"""Everything on one device."""
import contextlib

from .._device import device as device_scope
from ._context import entered
from ._mirrored import check_devices
from ._strategy import Strategy


class OneDeviceStrategy(Strategy):
    """One replica on a device of the user's choice."""

    def __init__(self, device):
        super().__init__(check_devices([device]))

    @contextlib.contextmanager
    def scope(self):
        with entered(self), device_scope(self.devices[0]):
            yield self
