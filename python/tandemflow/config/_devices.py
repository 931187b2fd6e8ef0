"""Physical and logical devices, as TensorFlow prints them."""
import numbers
import operator
from collections import namedtuple

from .. import _tandem

PhysicalDevice = namedtuple("PhysicalDevice", ["name", "device_type"])
LogicalDevice = namedtuple("LogicalDevice", ["name", "device_type"])


class LogicalDeviceConfiguration(
    namedtuple(
        "LogicalDeviceConfiguration",
        ["memory_limit", "experimental_priority", "experimental_device_ordinal"],
        defaults=[None, None, None],
    )
):
    """One logical device of a physical one. memory_limit is in MiB: GPUs need one, the CPU has none."""

    __slots__ = ()


def whole(value, name):
    """The number, which must be a whole one."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number; got {value!r}") from None
    if abs(number) >= 2**31:
        raise ValueError(f"{name}={number} is beyond all that makes sense")
    return number


def cores(numbers, name):
    """Numbers of cores, as a list."""
    if isinstance(numbers, (str, bytes)) or not hasattr(numbers, "__iter__"):
        raise TypeError(f"{name} must be a list of numbers of cores, such as [0, 1]; got {numbers!r}")
    return [whole(number, f"a core of {name}") for number in numbers]


def word(value, name, example):
    """The text, which must be one."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text such as {example!r}; got {value!r}")
    return value


def kind(device_type):
    if device_type is not None and not isinstance(device_type, str):
        raise TypeError(f"device_type must be a text such as 'GPU', or None; got {device_type!r}")
    return device_type or ""


def known(device):
    """The device, which must at least look like one."""
    if not isinstance(device, PhysicalDevice):
        raise ValueError(f"Unrecognized device: {device!r}")
    return device


def physical(pairs):
    return [PhysicalDevice(*pair) for pair in pairs]


def logical(pairs):
    return [LogicalDevice(*pair) for pair in pairs]


def _mebibytes(limit):
    try:
        return None if limit is None else float(limit)
    except OverflowError:
        return float("inf")  # refused as such


# What get_logical_device_configuration gives back, by physical device.
_configurations = {}


def set_logical(device, logical_devices):
    if not isinstance(logical_devices, (list, tuple)):
        raise TypeError(f"logical_devices must be a list of LogicalDeviceConfigurations; got {logical_devices!r}")
    logical_devices = list(logical_devices)
    for one in logical_devices:
        if not isinstance(one, LogicalDeviceConfiguration):
            raise TypeError(f"logical_devices must be LogicalDeviceConfigurations; got {one!r}")
        if not isinstance(one.memory_limit, (numbers.Real, type(None))):
            raise TypeError(f"memory_limit must be a number of MiB; got {one.memory_limit!r}")
        if known(device).device_type == "CPU":
            for name in ("experimental_priority", "experimental_device_ordinal"):
                if getattr(one, name) is not None:
                    raise ValueError(f"Setting {name} on CPU virtual devices is currently not supported")
    _tandem.set_logical_devices(known(device), [_mebibytes(one.memory_limit) for one in logical_devices])
    _configurations[device] = logical_devices


def get_logical(device):
    return list(_configurations[device]) if _tandem.has_logical_devices(known(device)) else None
