"""strategy.extended: what libraries call in merge_call."""
import contextlib

from .._device import device


class StrategyExtended:
    """Names of TensorFlow's that are for all replicas together; the strategy itself has the rest."""

    experimental_require_static_shapes = False
    experimental_between_graph = False
    experimental_should_init = should_checkpoint = should_save_summary = True

    def __init__(self, strategy):
        self._strategy = strategy

    def __getattr__(self, name):
        return getattr(self._strategy, name)

    @property
    def worker_devices(self):
        return tuple(self._strategy.replica_devices)

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
        """Whether it was made in the scope of a strategy. In a replica any variable can be used, wherever it was made."""
        return hasattr(v, "_mirrored")

    def update_non_slot(self, colocate_with, fn, args=(), kwargs=None, group=True):
        """fn(*args) once, where the variables are."""
        with device(self._strategy.home):
            result = fn(*args, **(kwargs or {}))
        return result if group else [result]

    def call_for_each_replica(self, fn, args=(), kwargs=None):
        return self._strategy.run(fn, args=args, kwargs=kwargs)

    def broadcast_to(self, tensor, destinations):
        """A tensor is read wherever it is needed."""
        return tensor

    def colocate_vars_with(self, colocate_with_variable):
        """Variables live where they are updated; nothing to ask for."""
        return contextlib.nullcontext()

    def non_slot_devices(self, var_list):
        return (self._strategy.home,)

    def value_container(self, value):
        return value

    def read_var(self, v):
        return v.read_value()
