"""The replica of a strategy that is in progress on this thread, and what its thread takes over from the one it stands for.

See tandemflow/distribute.
"""
import contextlib
import threading

_states = []


def thread_state():
    """Like threading.local(); a thread that runs a replica begins with what the calling thread has."""
    made = threading.local()
    _states.append(made)
    return made


state = thread_state()


class _OneAtATime:
    """A lock that its holder may take again; a thread that stands for the holder is the holder."""

    def __init__(self):
        self._lock, self._held = threading.Lock(), thread_state()

    def __enter__(self):
        if not getattr(self._held, "depth", 0):
            self._lock.acquire()
            self._held.depth = 0
        self._held.depth += 1

    def __exit__(self, *error):
        self._held.depth -= 1
        if not self._held.depth:
            self._lock.release()


building = _OneAtATime()  # models are built and traced by one thread at a time


def current():
    """None where there is one replica only."""
    return getattr(state, "replica", None)


def share_of(mean):
    """What a replica contributes to a mean over the whole batch: these, and their gradients, are added up."""
    share = _share()
    return mean if share == 1 else mean * share


def mean_of(share):
    """The mean over the rows of the replica that contributes this."""
    return share if _share() == 1 else share / _share()


def part_of_batch():
    """Which part of the whole batch the rows of the replica are; None: all."""
    replica = current()
    return replica.rows / replica.total if replica is not None and replica.total else None


def in_sum(part):
    """What a replica contributes to a sum, so that it is that when the step weighs it by the replica's rows."""
    replica = current()
    return part * (replica.total / replica.rows) if replica is not None and replica.weighs_losses else part


def _share():
    """1 also where whoever runs the replica weighs what it gives."""
    replica = current()
    whole = replica is None or replica.weighs_losses or not replica.total
    return 1 if whole else replica.rows / replica.total


def snapshot():
    """What this thread has. Stacks are copied: what a replica pushes is seen by no other."""
    return [(one, {k: list(v) if isinstance(v, list) else v for k, v in one.__dict__.items()}) for one in _states]


def install(taken):
    """Gives this thread what another had when the snapshot was taken."""
    for one, values in taken:
        one.__dict__.update({k: list(v) if isinstance(v, list) else v for k, v in values.items()})


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


def assigned_together(variable, method, value):
    """Assigns a variable that was made with an aggregation or in a scope: inside a replica once, for all, or the replica's own value.
    False: it is not for all."""
    if variable._own_values is not None:
        from ._own_values import assign

        assign(variable, method, value)
        return True
    context = current()
    return context is not None and context.assign_together(variable, method, value)
