"""tf.config.experimental: memory, transfers, details of devices; and switches for tests and study."""
from .. import _tandem
from . import _devices
from ._devices import LogicalDeviceConfiguration as VirtualDeviceConfiguration  # noqa: F401  TensorFlow's older name

_tensor_float_32 = True


def set_memory_growth(device, enable):
    """On: a GPU takes memory as it is needed, which it also does when nothing is set. Off: all it may use, at once."""
    _tandem.set_memory_growth(_devices.known(device), bool(enable))


def get_memory_growth(device):
    """What was set; None if nothing was."""
    return _tandem.get_memory_growth(_devices.known(device))


def get_memory_info(device):
    """{'current': bytes in use, 'peak': most bytes in use so far} of a logical device, such as 'GPU:0'."""
    current, peak = _tandem.get_memory_info(_devices.word(device, "device", "GPU:0"))
    return {"current": current, "peak": peak}


def get_memory_usage(device):
    """Bytes in use; get_memory_info() tells more."""
    return get_memory_info(device)["current"]


def reset_memory_stats(device):
    """The peak starts anew at what is in use now."""
    _tandem.reset_memory_stats(_devices.word(device, "device", "GPU:0"))


def get_transfer_stats():
    """What has crossed between the host and devices: {'h2d': {'bytes', 'count', 'seconds'}, 'd2h': {...}}."""
    return _tandem.get_transfer_stats()


def get_device_details(device):
    """What is known about a physical device: 'device_name' and more for GPUs, nothing for the CPU."""
    return _tandem.get_device_details(_devices.known(device))


def set_synchronous_execution(enable):
    """Ops on the CPU have ended when they return, ops on a GPU are under way, whatever is set: mistakes are reported by
    the op itself in either case. Kept so that programs that ask for it run."""
    _tandem.set_synchronous_execution(bool(enable))


def get_synchronous_execution():
    """What was set; True at first."""
    return _tandem.get_synchronous_execution()


def enable_op_determinism():
    """The same bits in every run: random ops now need a seed. Everything else gives the same bits anyway."""
    _tandem.enable_op_determinism()


def is_op_determinism_enabled():
    """Whether it is on."""
    return _tandem.is_op_determinism_enabled()


def enable_tensor_float_32_execution(enabled):
    """No kernel rounds float32 to TensorFloat-32, whatever is set. Kept so that programs that ask for it run."""
    global _tensor_float_32
    _tensor_float_32 = bool(enabled)


def tensor_float_32_execution_enabled():
    """What was set; True at first, as in TensorFlow."""
    return _tensor_float_32


def set_opencl_cpu_as_gpu(parts):
    """A CPU-type OpenCL device, split into so many parts, serves as GPUs (TANDEM_OPENCL_CPU_AS_GPU)."""
    _tandem.set_opencl_cpu_as_gpu(_devices.whole(parts, "parts"))


def get_opencl_cpu_as_gpu():
    """Parts, 0 for none."""
    return _tandem.get_opencl_cpu_as_gpu()


def set_opencl_hide_fp64(hide):
    """Devices report no float64, to see the fallback (TANDEM_OPENCL_HIDE_FP64)."""
    _tandem.set_opencl_hide_fp64(bool(hide))


def get_opencl_hide_fp64():
    """Whether they do."""
    return _tandem.get_opencl_hide_fp64()


def set_opencl_shared_memory(shared):
    """A CPU-type device works on the host's memory, as an integrated GPU does (TANDEM_OPENCL_SHARED_MEMORY)."""
    _tandem.set_opencl_shared_memory(bool(shared))


def get_opencl_shared_memory():
    """Whether it does."""
    return _tandem.get_opencl_shared_memory()


def set_links(links):
    """Copies take at least so long, as over a bus: "/CPU:0>/GPU:0:latency_us=10,gb_per_s=2"; "" for none (TANDEM_LINK)."""
    _tandem.set_links(_devices.word(links, "links", "/CPU:0>/GPU:0:gb_per_s=2"))


def get_links():
    """What was set."""
    return _tandem.get_links()


def set_spill(enabled):
    """On: what does not fit a device moves what was used longest ago to the host. Off: it is an error (TANDEM_SPILL)."""
    _tandem.set_spill(bool(enabled))


def get_spill():
    """Whether it is on."""
    return _tandem.get_spill()


# Names these functions had before they left this module.
def list_physical_devices(device_type=None):
    """See tf.config.list_physical_devices."""
    return _devices.physical(_tandem.list_physical_devices(_devices.kind(device_type)))


def list_logical_devices(device_type=None):
    """See tf.config.list_logical_devices."""
    return _devices.logical(_tandem.list_logical_devices(_devices.kind(device_type)))


def set_visible_devices(devices, device_type=None):
    """See tf.config.set_visible_devices."""
    from . import set_visible_devices

    set_visible_devices(devices, device_type)


def get_visible_devices(device_type=None):
    """See tf.config.get_visible_devices."""
    return _devices.physical(_tandem.get_visible_devices(_devices.kind(device_type)))


def set_virtual_device_configuration(device, logical_devices):
    """See tf.config.set_logical_device_configuration."""
    _devices.set_logical(device, logical_devices)


def get_virtual_device_configuration(device):
    """See tf.config.get_logical_device_configuration."""
    return _devices.get_logical(device)
