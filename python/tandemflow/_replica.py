"""The replica of a strategy that is in progress on this thread; see tandemflow/distribute."""
import threading

state = threading.local()


def current():
    """None where there is one replica only."""
    return getattr(state, "replica", None)

