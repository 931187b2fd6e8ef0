"""The replica of a strategy that is in progress on this thread; see tandemflow/distribute."""
import contextlib
import threading

state = threading.local()


def current():
    """None where there is one replica only."""
    return getattr(state, "replica", None)


@contextlib.contextmanager
def updated_on(variables, homes):
    """Inside, update_device knows where each variable is updated; with one home for all there is nothing to know."""
    state.update_devices = {id(v): home for v, home in zip(variables, homes)} if len(homes) > 1 else None
    try:
        yield
    finally:
        state.update_devices = None


def update_device(variable):
    """The device on which a variable and what belongs to it is updated; None: anywhere."""
    devices = getattr(state, "update_devices", None)
    return None if devices is None else devices.get(id(variable))
