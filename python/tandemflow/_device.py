"""with tf.device(name)."""
import atexit

from . import _tandem
from ._device_spec import DeviceSpec

atexit.register(_tandem.finish_work)


class device:
    """Ops inside ask for this device; the innermost scope wins. None hides the scopes outside: nothing is asked for."""

    def __init__(self, device_name):
        if callable(device_name):
            raise RuntimeError(
                "tf.device does not support functions when eager execution is enabled; "
                "name the device, for example tf.device('/GPU:0')"
            )
        # A logical device of tf.config knows its name; anything else must be one.
        name = device_name.to_string() if isinstance(device_name, DeviceSpec) else getattr(device_name, "name", device_name)
        if name is not None and not isinstance(name, str):
            raise ValueError(f"tf.device takes a device name such as '/GPU:0', or None; got {device_name!r}")
        self._scope = _tandem.DeviceScope(name)

    def __enter__(self):
        self._scope.enter()

    def __exit__(self, *exception):
        self._scope.exit()
