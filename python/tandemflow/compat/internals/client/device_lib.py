"""tensorflow.python.client.device_lib: the devices there are, as programs of TensorFlow 1 ask for them."""
from collections import namedtuple

from ... import v1  # noqa: F401 - what imports this expects TensorFlow's module to be loaded

DeviceAttributes = namedtuple("DeviceAttributes", "name device_type memory_limit locality incarnation physical_device_desc")

def list_local_devices(session_config=None):
    """CPU and GPUs: name, device_type, memory_limit in bytes."""
    from tandemflow import config

    found = []
    for i, device in enumerate(config.list_logical_devices()):
        details = f"device: {i}, name: {device.name}" if device.device_type == "GPU" else ""
        found.append(DeviceAttributes(device.name, device.device_type, _memory(device), "", i, details))
    return found

def _memory(device):
    """TensorFlow says 256 MiB of a CPU."""
    if device.device_type == "CPU":
        return 268435456
    from tandemflow import config

    return config.experimental.get_memory_info(device.name.removeprefix("/device:")).get("limit", 0)
