"""Where a program is: in the scope of a strategy, inside one of its replicas, or in neither."""
import contextlib

from .. import _ops, _tandem
from .._device import device
from .._gradient import flatten, pack_like
from .._replica import current as current_replica
from .._replica import state as _state
from .._replica import updated_on
from ._reduce import ReduceOp, added, reduced
from ._replicas import Meeting
from ._values import regroup, select


CROSS_REPLICA = (
    "Method requires being in cross-replica context, use get_replica_context().merge_call(): {} was called inside a replica; "
    "get_replica_context().{} is for there"
)


class ReplicaContext:
    """One replica of a `strategy.run`, while its function runs.

    Replicas run one at a time, each giving its device work to do; at the calls below they wait for one another.
    """

    def __init__(self, strategy, replica, begin=0, rows=None, total=None, device=None):
        self._strategy = strategy
        self._device = device
        self.replica_id_in_sync_group = replica
        self.begin, self.rows, self.total = begin, rows, total  # of the global batch: its rows here, and all
        self.leads = True  # runs before the others
        self._begun_eagerly = _tandem.executing_eagerly()
        self.in_step = False  # of a model: losses are those of the whole batch
        self.weighs_losses = False  # whether who runs it weighs its loss by its rows; else losses are shares already
        self.added_losses = {}  # by id of a layer
        self._runner = None  # what lets it meet the others; None: it is the only one

    @property
    def num_replicas_in_sync(self):
        return self._strategy.num_replicas_in_sync

    @property
    def strategy(self):
        return self._strategy

    @property
    def is_alone(self):
        return self._runner is None

    @property
    def devices(self):
        return (self._device or self._strategy.replica_devices[self.replica_id_in_sync_group],)

    def _meet(self, what, value, merge):
        """merge(values of all replicas) -> a result for each; returns this one's."""
        if self._runner is None:
            return merge([value])[0]
        if self._begun_eagerly and not _tandem.executing_eagerly():
            raise RuntimeError(
                f"{what}: replicas cannot meet inside a `tf.function` that each of them calls by itself: it is traced for one. Put "
                "`@tf.function` around `strategy.run`, or give the traced function itself to `strategy.run`."
            )
        return self._runner.meet(Meeting(what, value, merge))

    def merge_call(self, merge_fn, args=(), kwargs=None):
        """merge_fn(strategy, *args) once for all replicas, with PerReplica values of what each brings."""

        def merge(brought):
            alone = len(brought) == 1
            by_replica = sorted(range(len(brought)), key=lambda i: brought[i][0])
            values = [brought[i][1] for i in by_replica]
            args, kwargs = values[0] if alone else regroup(values)
            result = merge_fn(self._strategy, *args, **kwargs)
            return [result if alone else select(result, by_replica.index(i)) for i in range(len(brought))]

        return self._meet("merge_call", (self.replica_id_in_sync_group, (tuple(args), dict(kwargs or {}))), merge)

    def together(self, what, function):
        """function() once, when all replicas have come here; its result is for all."""
        return self._meet(what, None, lambda brought: [function()] * len(brought))

    def apply_together(self, apply, gradients, variables, measures):
        """`apply(gradients, variables, measures)` once, with what all replicas bring added up: gradients, and sums over the rows that
        some of them are made of, by the number of the gradient and a name."""
        strategy = self._strategy

        def merge(brought):
            devices, parts, known = zip(*brought)
            keys = [key for key in known[0] if all(key in one for one in known)]
            homes = strategy.homes_of(variables)
            places = homes if len(homes) == 1 else [*homes, *(homes[i] for i, _ in keys)]
            parts = [[*own, *(one[key] for key in keys)] for own, one in zip(parts, known)]
            total = _tandem.all_reduce(parts, devices, places, False)
            with device(strategy.home), updated_on(variables, homes):
                apply(total[: len(variables)], variables, dict(zip(keys, total[len(variables) :])))
            return [None] * len(brought)

        if self._runner is None:
            apply(gradients, variables, measures)
        else:
            self._meet("apply_gradients", (self.devices[0], gradients, measures), merge)

    def update_together(self, update, values):
        """`update(*values)` once, with the averages of what the replicas bring, weighted by their rows."""

        def merge(brought):
            shares = [rows / max(self.total, 1) for _, rows in brought]
            with device(self._strategy.home):
                averages = [added([v * share for v, share in zip(of_all, shares)]) for of_all in zip(*(values for values, _ in brought))]
                update(*averages)
            return [None] * len(brought)

        if self._runner is None:
            update(*values)
        else:
            self._meet("an update of moving averages", (list(values), self.rows), merge)

    def assign_together(self, variable, method, value):
        """`variable.assign(value)`, or assign_add or assign_sub, once, with what the variable's aggregation makes of the values
        of all replicas; without one, what the first replica brings. Metrics are assigned by one replica after another. All happens
        where variables are updated: what lies there survives the loss of a device, and no device waits for another. False where
        there is one replica only."""
        aggregation = getattr(variable, "aggregation", "NONE")
        how = getattr(aggregation, "name", str(aggregation).upper())
        if self._runner is None:
            return False
        if how == "NONE":
            if self.leads or not getattr(variable, "_mirrored", False):
                with replica_left(), device(self._strategy.home):
                    getattr(variable, method)(value)
            return True

        def merge(brought):
            values = [value for _, value in sorted(brought, key=lambda pair: pair[0])]
            with device(self._strategy.home):
                together = values[0] if how == "ONLY_FIRST_REPLICA" else reduced(ReduceOp.of(how), values)
                getattr(variable, method)(together)
            return [None] * len(brought)

        value = _ops.cast(_tandem.to_tensor(value), variable.dtype) if not hasattr(value, "dtype") else value
        self._meet(f"{method} of {variable.name}", (self.replica_id_in_sync_group, value), merge)
        return True

    def all_reduce(self, reduce_op, value, options=None):
        """The sum, or the mean, of what all replicas bring; differentiable: gradients are reduced in the same way."""
        reduce_op = ReduceOp.of(reduce_op)
        if self._runner is None:
            return value
        leaves = [_tandem.to_tensor(leaf) for leaf in flatten(value)]
        mean = reduce_op is ReduceOp.MEAN

        def merge(brought):
            devices, values = zip(*brought)
            return [_tandem.all_reduce(values, devices, [self._strategy.home], mean)] * len(brought)

        def forward(inputs):
            outputs = self._meet("all_reduce", (self.devices[0], list(inputs)), merge)
            return outputs, lambda gradients, variables: self.all_reduce(reduce_op, list(gradients))

        return pack_like(value, iter(_tandem.custom_gradient(leaves, forward, late=True)))

    def all_gather(self, value, axis, options=None):
        """What all replicas bring, one after another along an axis; differentiable."""
        if self._runner is None:
            return value
        leaves = [_tandem.to_tensor(leaf) for leaf in flatten(value)]

        def merge(brought):
            by_replica = sorted(range(len(brought)), key=lambda i: brought[i][0])
            devices = [brought[i][1] for i in by_replica]
            values = [brought[i][2] for i in by_replica]
            gathered = _tandem.all_gather(values, devices, [self._strategy.home], axis)
            begins = [[sum(parts[k].shape[axis] for parts in values[:i]) for k in range(len(leaves))] for i in range(len(values))]
            return [(gathered, begins[by_replica.index(i)]) for i in range(len(brought))]

        def forward(inputs):
            outputs, begins = self._meet("all_gather", (self.replica_id_in_sync_group, self.devices[0], list(inputs)), merge)

            def backward(gradients, variables):
                total = self.all_reduce(ReduceOp.SUM, list(gradients))
                return [_rows(t, axis, begin, leaf.shape[axis]) for t, begin, leaf in zip(total, begins, inputs)]

            return outputs, backward

        return pack_like(value, iter(_tandem.custom_gradient(leaves, forward, late=True)))


def _rows(tensor, axis, begin, count):
    starts, sizes = [0] * tensor.ndim, list(tensor.shape)
    starts[axis], sizes[axis] = begin, count
    return _ops.slice(tensor, starts, sizes)


def get_replica_context():
    """The replica in progress; the only one where no strategy is in force; None in the scope of a strategy."""
    context = current_replica()
    if context is None and not has_strategy():
        return ReplicaContext(get_strategy(), 0)
    return context


def get_strategy():
    """The strategy whose scope this is, or the default: one replica, no device of its own."""
    stack = getattr(_state, "strategies", None)
    if stack:
        return stack[-1]
    from ._strategy import default_strategy

    return default_strategy()


def has_strategy():
    """Whether a strategy's scope is around."""
    return bool(getattr(_state, "strategies", None))


def in_cross_replica_context():
    """Whether this runs for all replicas together, not inside one."""
    return has_strategy() and current_replica() is None


def check_not_mixed(strategy):
    """No other strategy's scope may be around."""
    stack = getattr(_state, "strategies", None)
    if stack and stack[-1] is not strategy:
        raise RuntimeError(
            f"Mixing different tf.distribute.Strategy objects: {stack[-1]} is not {strategy}. A model has one strategy; end the "
            "outer `with strategy.scope():` first."
        )


@contextlib.contextmanager
def entered(strategy):
    if current_replica() is not None:
        raise RuntimeError(CROSS_REPLICA.format("strategy.scope", "strategy"))
    check_not_mixed(strategy)
    stack = _state.__dict__.setdefault("strategies", [])
    stack.append(strategy)
    _tandem.set_strategy_scope(True)
    try:
        yield strategy
    finally:
        stack.pop()
        _tandem.set_strategy_scope(bool(stack))


def experimental_set_strategy(strategy):
    """The strategy for all that follows on this thread; None ends it."""
    _state.strategies = [] if strategy is None else [strategy]
    _tandem.set_strategy_scope(strategy is not None)


@contextlib.contextmanager
def replica_entered(context):
    before = current_replica()
    _state.replica = context
    try:
        with entered_again(context.strategy):
            yield context
    finally:
        _state.replica = before


@contextlib.contextmanager
def replica_left():
    """Inside, nothing is done for a replica."""
    before = current_replica()
    _state.replica = None
    try:
        yield
    finally:
        _state.replica = before


@contextlib.contextmanager
def entered_again(strategy):
    """Inside a replica the strategy is that of the run, in whatever scope it was called."""
    before = getattr(_state, "strategies", [])
    _state.strategies = [strategy]
    _tandem.set_strategy_scope(True)
    try:
        yield
    finally:
        _state.strategies = before
        _tandem.set_strategy_scope(bool(before))
