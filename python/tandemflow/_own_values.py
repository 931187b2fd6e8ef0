"""Variables of which each replica has its own value (synchronization=ON_READ): brought together when they are read outside."""
from . import _ops, _tandem
from ._replica import current


def made(value, name, aggregation, on_read):
    """For tf.Variable in the scope of a strategy: a variable for each replica; None where replicas have one value in common."""
    from .distribute import get_strategy

    strategy = get_strategy()
    count = strategy.num_replicas_in_sync
    if count > 1 and _name(aggregation) == "MEAN" and not value.dtype.is_floating:
        raise ValueError(
            "creating distributed tf.Variable with aggregation=MEAN and a non-floating dtype is not supported, please use a "
            "different aggregation or dtype"
        )
    if not on_read or count == 1 or current() is not None:
        return None
    _tandem.set_strategy_scope(False)
    try:
        names = [name, *(f"{name}/replica_{i}" for i in range(1, count))]
        return strategy, tuple(_tandem.Variable(value, trainable=False, name=one) for one in names)
    finally:
        _tandem.set_strategy_scope(True)


def value_of(variable):
    """The replica's own value; outside of replicas what the aggregation makes of all."""
    strategy, parts = variable._own_values
    replica = current()
    if replica is not None:
        return parts[replica.replica_id_in_sync_group].read_value()
    how = _aggregation(variable)
    if how == "ONLY_FIRST_REPLICA":
        return parts[0].read_value()
    if how not in ("SUM", "MEAN"):
        raise ValueError(f"Could not convert from `tf.VariableAggregation` {variable.aggregation} to`tf.distribute.ReduceOp` type")
    from .distribute._reduce import ReduceOp, reduced

    with strategy.at_home():
        return _ops.cast(reduced(ReduceOp.of(how), [part.read_value() for part in parts]), variable.dtype)


def assign(variable, method, value):
    """In a replica the replica's own value; outside all of them, a sum in equal parts."""
    strategy, parts = variable._own_values
    replica = current()
    with strategy.at_home():  # what lies there survives the loss of a device
        if replica is not None:
            getattr(parts[replica.replica_id_in_sync_group], method)(value)
            return
        value = _ops.cast(_tandem.to_tensor(value), variable.dtype)
        if _aggregation(variable) == "SUM":
            if method != "assign":
                raise ValueError(
                    f"SyncOnReadVariable does not support `{method}` in cross-replica context when aggregation is set to "
                    "`tf.VariableAggregation.SUM`."
                )
            value = _ops.cast(value / len(parts), variable.dtype)
        for part in parts:
            getattr(part, method)(value)


def _aggregation(variable):
    return _name(variable.aggregation)


def _name(aggregation):
    return getattr(aggregation, "name", str(aggregation).upper())
