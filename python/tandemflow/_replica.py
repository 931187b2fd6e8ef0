"""The replica of a strategy that is in progress on this thread; see tandemflow/distribute."""
import threading

state = threading.local()


def current():
    """None where there is one replica only."""
    return getattr(state, "replica", None)


def drawn(draw, shape):
    """draw(shape): random numbers; in a replica those that its rows would get on one device."""
    replica = current()
    return draw(shape) if replica is None else replica.shared_draw(draw, list(shape))
