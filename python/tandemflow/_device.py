"""with tf.device(name)."""
from . import _tandem


class device:
    """Ops inside ask for this device; the innermost scope wins. None asks for nothing."""

    def __init__(self, device_name):
        self._scope = None if device_name is None else _tandem.DeviceScope(str(device_name))

    def __enter__(self):
        if self._scope:
            self._scope.enter()

    def __exit__(self, *exception):
        if self._scope:
            self._scope.exit()
