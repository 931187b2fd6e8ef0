"""What all strategies can do."""
import contextlib

from .. import _tandem
from .._device import device
from .._function import Function
from .._gradient import flatten
from ._context import CROSS_REPLICA, ReplicaContext, check_not_mixed, current_replica, entered, replica_entered
from ._extended import StrategyExtended
from ._reduce import ReduceOp, joined, reduced, reduced_along
from ._replicas import run_together
from ._values import DistributedValues, InputContext, InputOptions, map_replicas, regroup, select


class Strategy:
    """Runs a function on replicas; subclasses say on which devices."""

    def __init__(self, devices):
        self._devices = list(devices)  # one a replica; None: wherever the caller's scope says

    @property
    def devices(self):
        return self._devices

    @property
    def replica_devices(self):
        """Where each replica computes."""
        return self._devices

    @property
    def num_replicas_in_sync(self):
        """It stays the same when a device leaves the group: another computes for its replica."""
        return len(self._devices)

    @property
    def extended(self):
        return StrategyExtended(self)

    @property
    def cluster_resolver(self):
        return None

    def scope(self):
        """Variables and models made inside belong to all replicas."""
        return entered(self)

    def check_scope(self):
        """Raises RuntimeError in the scope of another strategy."""
        check_not_mixed(self)

    def __deepcopy__(self, memo):
        """Models and metrics hold it: copies of them belong to the same replicas."""
        return self

    # --- Running ---

    def run(self, fn, args=(), kwargs=None, options=None):
        """fn(*args) in each replica, with its part of every PerReplica value; results as PerReplica values."""
        if current_replica() is not None:
            raise RuntimeError(
                "Method requires being in cross-replica context, use get_replica_context().merge_call(): strategy.run was "
                "called inside a replica; call it outside, once for all replicas"
            )
        check_not_mixed(self)
        if not isinstance(args, (list, tuple)):
            raise ValueError(f"positional args must be a list or tuple, got {type(args)}; strategy.run(fn, args=({args},)) passes one")
        if not isinstance(kwargs or {}, dict):
            raise ValueError(f"keyword args must be a dict, got {type(kwargs)}")
        kwargs = kwargs or {}
        if self.num_replicas_in_sync == 1:
            with replica_entered(ReplicaContext(self, 0)), self.on_device():
                return fn(*select(args, 0), **select(kwargs, 0))
        if isinstance(fn, Function) and _tandem.executing_eagerly() and not _tandem.functions_run_eagerly():
            return self._traced_run(fn)(tuple(args), kwargs)
        rows = _rows_of((args, kwargs), self.num_replicas_in_sync)
        return self.run_replicas(lambda i: fn(*select(args, i), **select(kwargs, i)), rows, self.replica_devices)

    def _traced_run(self, fn):
        """The run as one traced function: replicas of what is traced meet while it is traced."""
        runs = fn.__dict__.setdefault("_runs", {})  # by strategy; it goes with the function
        if self not in runs:
            runs[self] = Function(lambda args, kwargs: self.run(fn, args, kwargs), name=fn.name)
        return runs[self]

    def on_device(self):
        """Where the only replica runs."""
        return device(self.devices[0]) if self.devices[0] else contextlib.nullcontext()

    def run_replicas(self, function, rows, devices):
        """function(replica) in each replica that has rows; a replica without any brings nothing."""
        return self.attempts(lambda devices: self._run_once(function, rows, devices), devices)

    def attempts(self, run, devices):
        """run(devices), and again with others where one of them fails and may leave."""
        return run(devices)

    def _run_once(self, function, rows, devices):
        begins = [sum(rows[:i]) for i in range(len(rows))]
        order = _order(devices)
        active = [i for i in order if rows[i] > 0] or order
        draws = _tandem.SharedDraws()

        def body_of(i):
            def body(runner):
                context = ReplicaContext(self, i, begins[i], rows[i], sum(rows), devices[i])
                context._runner, context.leads = runner, i == active[0]
                with replica_entered(context), device(devices[i]), _tandem.Draws(draws, begins[i], rows[i], sum(rows)):
                    return function(i)

            return body

        results = dict(zip(active, run_together([body_of(i) for i in active])))
        numbers = tuple(sorted(active))
        return regroup([results[i] for i in numbers], None if len(numbers) == len(devices) else numbers)

    @property
    def home(self):
        """Where gradients are added up and variables updated."""
        return self.devices[0]

    def at_home(self):
        """Where what is made of all replicas survives the loss of a device."""
        return device(self.home) if self.num_replicas_in_sync > 1 else contextlib.nullcontext()

    def homes_of(self, variables):
        """Where each variable is updated; one name holds for all."""
        return [self.home]

    # --- Values ---

    def reduce(self, reduce_op, value, axis=None):
        """One value of those of all replicas: added up, or averaged; along an axis too, if one is given."""
        reduce_op = ReduceOp.of(reduce_op)

        def one(values):
            tensors = [_tandem.to_tensor(v) for v in values]
            with self.at_home():
                return reduced(reduce_op, tensors) if axis is None else reduced_along(reduce_op, tensors, axis)

        if current_replica() is not None:
            raise RuntimeError(CROSS_REPLICA.format("strategy.reduce", "all_reduce"))
        if getattr(value, "_own_values", None) is not None:
            return one(value._own_values[1])
        if _per_replica_in(value):
            return map_replicas(one, value)
        if axis is None and self.num_replicas_in_sync > 1 and reduce_op is ReduceOp.SUM:
            raise ValueError(f"A non-DistributedValues value {value!s} cannot be reduced with the given reduce op {reduce_op}.")
        return value if axis is None else one((value,) * self.num_replicas_in_sync)  # every replica has it

    def gather(self, value, axis):
        """The values of all replicas, one after another along an axis."""
        if current_replica() is not None:
            raise RuntimeError(
                "tf.distribute.Strategy.gather method requires cross-replica context, use get_replica_context().all_gather() instead"
            )

        def join(values):
            tensors = [_tandem.to_tensor(v) for v in values]
            if not tensors[0].ndim:
                raise ValueError("Expected non-scalar values: strategy.gather puts values together along an axis, and a scalar has none")
            with self.at_home():
                return joined(tensors, axis)

        return map_replicas(join, value)

    def experimental_local_results(self, value):
        """The values of all replicas as a tuple; a variable is the same in each, and a structure is taken apart."""
        if isinstance(value, DistributedValues):
            return value.values
        if getattr(value, "_own_values", None) is not None:
            return value._own_values[1]
        if isinstance(value, (list, tuple, dict)):
            there = _with_values(_per_replica_in(value), self.num_replicas_in_sync)
            return tuple(select(value, i) for i, has in enumerate(there) if has)
        return (value,) * (self.num_replicas_in_sync if isinstance(value, _tandem.Variable) else 1)

    def experimental_distribute_values_from_function(self, value_fn):
        contexts = [ReplicaContext(self, i) for i in range(self.num_replicas_in_sync)]
        values = [value_fn(context) for context in contexts]
        return values[0] if len(values) == 1 else regroup(values, always=True)

    # --- Data ---

    def experimental_distribute_dataset(self, dataset, options=None):
        """The dataset, whose batches are global ones, each divided among the replicas."""
        from ._dataset import GlobalBatches, check_dataset

        if InputOptions.by_replica(options):
            raise NotImplementedError("InputReplicationMode.PER_REPLICA is only supported in `distribute_datasets_from_function`.")
        return GlobalBatches(check_dataset(dataset, "experimental_distribute_dataset needs"), self)

    def distribute_datasets_from_function(self, dataset_fn, options=None):
        """A dataset of batches for one replica each: every replica takes the next, or the next of its own dataset (InputReplicationMode)."""
        from ._dataset import DatasetByReplica, DatasetsOfReplicas, check_dataset

        replicas = self.num_replicas_in_sync
        pipelines = replicas if InputOptions.by_replica(options) else 1
        made = [dataset_fn(InputContext(pipelines, i, replicas)) for i in range(pipelines)]
        for dataset in made:
            check_dataset(dataset, "distribute_datasets_from_function: the function must return")
        return DatasetByReplica(made[0], self) if pipelines == 1 else DatasetsOfReplicas(made, self)

    experimental_distribute_datasets_from_function = distribute_datasets_from_function

    def sizes(self, rows):
        """How many rows of a batch each replica gets in a step of Keras' own, whose results do not depend on it."""
        return self.even_sizes(rows)

    def even_sizes(self, rows):
        """The same in code that a user has written: a mean over a replica's rows counts on shards of one size."""
        base, rest = divmod(rows, self.num_replicas_in_sync)
        return [base + (i < rest) for i in range(self.num_replicas_in_sync)]


def _order(devices):
    """Devices that work on their own first: the CPU computes on the calling thread, while they are busy."""
    return sorted(range(len(devices)), key=lambda i: "CPU" in (devices[i] or "CPU"))


def _per_replica_in(structure):
    found = []
    map_replicas(lambda values: found.append(values) or values, structure)
    return found


def _with_values(found, replicas):
    """Which replicas have a value in all of them."""
    return [all(values.replicas is None or i in values.replicas for values in found) for i in range(replicas)]


def _rows_of(structure, replicas):
    """The number of rows each replica was given; one where nothing tells, none where a value is missing."""
    found = _per_replica_in(structure)
    rows = [int(has) for has in _with_values(found, replicas)]
    for values in found:
        sizes = [getattr(flatten(v)[0], "shape", ()) if flatten(v) else () for v in values]
        if all(len(s) for s in sizes):
            given = dict(zip(values.replicas or range(replicas), sizes))
            return [int(given[i][0]) if rows[i] else 0 for i in range(replicas)]
    return rows


_default = None


def default_strategy():
    global _default
    if _default is None:
        _default = Strategy([None])
    return _default
