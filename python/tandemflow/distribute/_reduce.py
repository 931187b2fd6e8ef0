"""One value of several."""
import enum

from .. import _ops
from ..errors import InvalidArgumentError


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


def added(tensors):
    shapes = [tuple(tensor.shape) for tensor in tensors]
    for i, shape in enumerate(shapes):
        if len(shape) != len(shapes[0]) or any(a != b for a, b in zip(shape, shapes[0]) if None not in (a, b)):
            raise InvalidArgumentError(
                f"Values of the replicas must have the same size and shape to be added up. Input 0: {list(shapes[0])} != input {i}: "
                f"{list(shape)}. strategy.gather puts values of different sizes one after another; reduce with an axis adds up along it first."
            )
    return tensors[0] if len(tensors) == 1 else _ops.add_n(tensors)


def joined(tensors, axis):
    return tensors[0] if len(tensors) == 1 else _ops.concat(tensors, axis)


def reduced(reduce_op, tensors):
    """Element by element."""
    total = added(tensors)
    return total if reduce_op is ReduceOp.SUM else total / len(tensors)


def reduced_along(reduce_op, tensors, axis):
    """Along an axis too; the mean is that of all elements, however many each has."""
    axes = [axis] if isinstance(axis, int) else list(axis)
    total = added([_ops.reduce_sum(tensor, axes) for tensor in tensors])
    if reduce_op is ReduceOp.SUM:
        return total
    count = 0
    for tensor in tensors:
        size = 1
        for a in axes:
            size *= tensor.shape[a]
        count += size
    return total / count
