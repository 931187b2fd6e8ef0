"""strategy.extended: what libraries call in merge_call."""
from .._device import device


class StrategyExtended:
    """Names of TensorFlow's that are for all replicas together; the strategy itself has the rest."""

    def __init__(self, strategy):
        self._strategy = strategy

    def __getattr__(self, name):
        return getattr(self._strategy, name)

    @property
    def worker_devices(self):
        return tuple(self._strategy.devices)

    @property
    def parameter_devices(self):
        """Where variables live: one place, copied where they are read."""
        return (self._strategy.home,)

    def reduce_to(self, reduce_op, value, destinations, options=None):
        """One value of those of all replicas; it is read wherever it is needed, so `destinations` has no effect."""
        return self._strategy.reduce(reduce_op, value, axis=None)

    def batch_reduce_to(self, reduce_op, value_destination_pairs, options=None):
        """The same for several (value, destination) pairs."""
        return [self.reduce_to(reduce_op, value, to) for value, to in value_destination_pairs]

    def update(self, var, fn, args=(), kwargs=None, group=True):
        """fn(var, *args) once: a variable has one value for all replicas."""
        with device(self._strategy.home):
            result = fn(var, *args, **(kwargs or {}))
        return result if group else [result]

    def variable_created_in_scope(self, v):
        """Every variable can be used in every replica, wherever it was made."""
        return True
