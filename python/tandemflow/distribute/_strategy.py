"""What all strategies can do."""
import contextlib
import enum

from .. import _ops, _tandem
from .._device import device
from .._gradient import flatten
from ._context import ReplicaContext, current_replica, entered, replica_entered
from ._meeting import Meeting
from ._values import DistributedValues, InputContext, PerReplica, map_replicas, regroup, select


class ReduceOp(enum.Enum):
    SUM = "SUM"
    MEAN = "MEAN"

    @classmethod
    def of(cls, value):
        if isinstance(value, cls):
            return value
        if isinstance(value, str) and value.upper() in cls.__members__:
            return cls[value.upper()]
        raise ValueError(f"reduce_op must be tf.distribute.ReduceOp.SUM or MEAN, got {value!r}")


class Strategy:
    """Runs a function on replicas; subclasses say on which devices."""

    def __init__(self, devices):
        self.devices = list(devices)  # one a replica; None: wherever the caller's scope says

    @property
    def num_replicas_in_sync(self):
        return len(self.devices)

    @property
    def extended(self):
        return self

    @property
    def worker_devices(self):
        return tuple(self.devices)

    @property
    def cluster_resolver(self):
        return None

    def scope(self):
        """Variables and models made inside belong to all replicas."""
        return entered(self)

    def _single_context(self):
        return ReplicaContext(self, 0, 0, None, None, Meeting(1, None))

    # --- Running ---

    def _order(self):
        """Devices that work on their own first: the CPU computes on the calling thread, while they are busy."""
        replicas = range(len(self.devices))
        return sorted(replicas, key=lambda i: "CPU" in (self.devices[i] or "CPU"))

    def run(self, fn, args=(), kwargs=None, options=None):
        """fn(*args) in each replica, with its part of every PerReplica value; results as PerReplica values."""
        if current_replica() is not None:
            raise RuntimeError("strategy.run was called inside a replica; call it outside, once for all replicas")
        kwargs = kwargs or {}
        if len(self.devices) == 1:
            with device(self.devices[0]) if self.devices[0] else contextlib.nullcontext():
                return fn(*select(args, 0), **select(kwargs, 0))
        rows = _rows_of((args, kwargs), len(self.devices))
        return self.run_replicas(lambda i: fn(*select(args, i), **select(kwargs, i)), rows)

    def run_replicas(self, function, rows):
        """function(replica) in each replica that has rows; a replica without any brings nothing."""
        begins = [sum(rows[:i]) for i in range(len(rows))]
        active = [i for i in self._order() if rows[i] > 0] or self._order()
        meeting, draws = Meeting(len(active), self.devices[0]), _tandem.SharedDraws()
        results = [None] * len(rows)
        for i in active:
            meeting.next_replica()
            context = ReplicaContext(self, i, begins[i], rows[i], sum(rows), meeting)
            with replica_entered(context), device(self.devices[i]), draws.replica(begins[i], rows[i], sum(rows)):
                results[i] = function(i)
        present = [results[i] for i in sorted(active)]
        return regroup(present)

    # --- Values ---

    def reduce(self, reduce_op, value, axis=None):
        """One value of those of all replicas: added up, or averaged; along an axis too, if one is given."""
        reduce_op = ReduceOp.of(reduce_op)
        return map_replicas(lambda values: self._reduce_one(reduce_op, values, axis), value) if _has_replicas(value) else (
            value if axis is None else self._reduce_one(reduce_op, (value,), axis)
        )

    def _reduce_one(self, reduce_op, values, axis):
        tensors = [_tandem.to_tensor(value) for value in values]
        if axis is None:
            total = tensors[0] if len(tensors) == 1 else _ops.add_n(tensors)
            return total if reduce_op is ReduceOp.SUM else total / len(tensors)
        axes = [axis] if isinstance(axis, int) else list(axis)
        total = _ops.add_n([_ops.reduce_sum(t, axes) for t in tensors]) if len(tensors) > 1 else _ops.reduce_sum(tensors[0], axes)
        if reduce_op is ReduceOp.SUM:
            return total
        count = 0
        for t in tensors:
            size = 1
            for a in axes:
                size *= t.shape[a]
            count += size
        return total / count

    def gather(self, value, axis):
        """The values of all replicas, one after another along an axis."""
        join = lambda values: _ops.concat([_tandem.to_tensor(v) for v in values], axis)  # noqa: E731
        return map_replicas(join, value)

    def experimental_local_results(self, value):
        """The values of all replicas as a tuple."""
        return value.values if isinstance(value, DistributedValues) else (value,)

    def experimental_distribute_values_from_function(self, value_fn):
        contexts = [ReplicaContext(self, i, 0, None, None, None) for i in range(len(self.devices))]
        values = [value_fn(context) for context in contexts]
        return values[0] if len(values) == 1 else PerReplica(*values)

    # --- Data ---

    def experimental_distribute_dataset(self, dataset, options=None):
        """The dataset, whose batches are global ones, each divided among the replicas."""
        from ._dataset import DistributedDataset

        return DistributedDataset(dataset, self)

    def distribute_datasets_from_function(self, dataset_fn, options=None):
        """A dataset of batches for one replica each: every replica takes the next."""
        from ._dataset import DatasetByReplica

        return DatasetByReplica(dataset_fn(InputContext(1, 0, len(self.devices))), self)

    experimental_distribute_datasets_from_function = distribute_datasets_from_function

    def sizes(self, rows):
        """How many rows of a batch each replica gets."""
        base, rest = divmod(rows, len(self.devices))
        return [base + (i < rest) for i in range(len(self.devices))]


def _has_replicas(structure):
    found = []
    map_replicas(lambda values: found.append(values) or values, structure)
    return bool(found)


def _rows_of(structure, replicas):
    """The number of rows each replica was given; one where nothing tells."""
    rows = [1] * replicas
    found = []
    map_replicas(lambda values: found.append(values) or values, structure)
    for values in found:
        sizes = [getattr(flatten(v)[0], "shape", ()) if flatten(v) else () for v in values]
        if all(len(s) for s in sizes):
            return [int(s[0]) for s in sizes]
    return rows


_default = None


def default_strategy():
    global _default
    if _default is None:
        _default = Strategy([None])
    return _default
