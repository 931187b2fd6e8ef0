"""tf.debugging: seeing where ops run, and what happens when something fails."""
from . import _tandem


def set_log_device_placement(enabled):
    """On: each op writes a line with its name and device to stderr."""
    _tandem.set_log_device_placement(bool(enabled))


def get_log_device_placement():
    """Whether each op writes a line."""
    return _tandem.get_log_device_placement()


def set_faults(plan):
    """Lets named places fail on purpose: "host.alloc:3" the third time, "cache.read:*" each time,
    "cache.write:p=0.1,seed=7" now and then; several with semicolons, "" for none. See list_faults()."""
    _tandem.set_faults(plan)


def get_faults():
    """The plan in force."""
    return _tandem.get_faults()


def list_faults():
    """The places that can be made to fail, with what each simulates."""
    return dict(_tandem.fault_list())
