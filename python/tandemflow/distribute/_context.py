"""Where a program is: in the scope of a strategy, inside one of its replicas, or in neither."""
import contextlib

from .._replica import current as current_replica
from .._replica import state as _state


class ReplicaContext:
    """One replica of a `strategy.run`, while its function runs.

    Replicas run one after another on the calling thread, each giving its device work to do; what they do together
    (adding up gradients) happens when the last one comes to it.
    """

    def __init__(self, strategy, replica, begin, rows, total, meeting):
        self._strategy = strategy
        self.replica_id_in_sync_group = replica
        self.begin, self.rows, self.total = begin, rows, total  # of the global batch: its rows here, and all
        self._meeting = meeting

    @property
    def num_replicas_in_sync(self):
        return self._strategy.num_replicas_in_sync

    @property
    def strategy(self):
        return self._strategy

    @property
    def devices(self):
        return (self._strategy.devices[self.replica_id_in_sync_group],)

    def apply_together(self, apply, pairs):
        """`apply(pairs)` with the gradients of all replicas added up; called for each replica, done with the last."""
        self._meeting.apply_together(apply, pairs)

    def update_together(self, update, values):
        """`update(*values)` once, with the averages of what the replicas bring, weighted by their rows."""
        self._meeting.update_together(update, values, self.rows or 1)

    def merge_call(self, merge_fn, args=(), kwargs=None):
        if self.num_replicas_in_sync == 1:
            return merge_fn(self._strategy, *args, **(kwargs or {}))
        raise NotImplementedError(
            "merge_call needs all replicas at one point of the program at once, and they run one after another here; "
            "return the values from strategy.run and merge them outside, or use strategy.reduce"
        )

    def all_reduce(self, reduce_op, value, options=None):
        if self.num_replicas_in_sync == 1:
            return value
        raise NotImplementedError(
            "all_reduce inside a replica needs the values of replicas that run later here; return the value from "
            "strategy.run and call strategy.reduce outside (optimizer.apply_gradients adds gradients up by itself)"
        )


def get_replica_context():
    """The replica in progress; the only one where no strategy is in force; None in the scope of a strategy."""
    context = getattr(_state, "replica", None)
    if context is None and not has_strategy():
        return get_strategy()._single_context()
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


@contextlib.contextmanager
def entered(strategy):
    stack = _state.__dict__.setdefault("strategies", [])
    if stack and stack[-1] is not strategy:
        raise RuntimeError(
            f"Mixing different tf.distribute.Strategy objects: {stack[-1]} is not {strategy}. A model has one strategy; end the "
            "outer `with strategy.scope():` first."
        )
    stack.append(strategy)
    try:
        yield strategy
    finally:
        stack.pop()


def experimental_set_strategy(strategy):
    """The strategy for all that follows on this thread; None ends it."""
    _state.strategies = [] if strategy is None else [strategy]


@contextlib.contextmanager
def replica_entered(context):
    """Inside a replica the strategy is that of the run, in whatever scope it was called."""
    before, strategies = getattr(_state, "replica", None), getattr(_state, "strategies", [])
    _state.replica, _state.strategies = context, [context.strategy]
    try:
        yield context
    finally:
        _state.replica, _state.strategies = before, strategies
