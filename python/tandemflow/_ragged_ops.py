"""What ops do with ragged tensors: elementwise ones work on the values, reductions and joins on the rows."""
import functools

from . import _dtypes, _ops, _tandem
from ._ragged import RaggedTensor, boolean_mask, from_rows
from .errors import InvalidArgumentError

_ONE = """abs acos acosh asin asinh atan atanh cast ceil cos cosh digamma elu erf erfc exp expm1 floor gelu hard_sigmoid identity invert
is_finite is_inf is_nan leaky_relu lgamma log log1p log_sigmoid logical_not negative one_hot reciprocal relu relu6 rint round rsqrt selu
sigmoid sign silu sin sinh softplus softsign sqrt square stop_gradient tan tanh""".split()
_SEVERAL = """add atan2 bitwise_and bitwise_or bitwise_xor clip_by_value divide divide_no_nan equal floordiv floormod greater greater_equal
less less_equal logical_and logical_or logical_xor maximum minimum multiply multiply_no_nan not_equal pow squared_difference subtract
truncatediv where xdivy xlogy""".split()


def run(name, args, kwargs):
    """The result of an op among whose operands a ragged tensor is; NotImplemented where it has no meaning for one."""
    if name in _ONE:
        return args[0].with_flat_values(_ops.exported[name](args[0].flat_values, *args[1:], **kwargs))
    if name in _SEVERAL:
        return _elementwise(_ops.records[name], args, kwargs)
    if name.startswith("reduce_") and name[7:] in ("sum", "mean", "max", "min", "prod", "any", "all"):
        return _reduce(name, *args, **kwargs)
    handler = _HANDLERS.get(name)
    return NotImplemented if handler is None else handler(*args, **kwargs)


# --- Element by element. ---


def _elementwise(op, args, kwargs):
    like = next(arg for arg in args if isinstance(arg, RaggedTensor))
    # The condition of `where` says nothing of the dtype of what is chosen.
    dtype = next((arg.dtype for arg in args[::-1] if hasattr(arg, "dtype")), like.dtype)
    return like.with_flat_values(op(*[_values_beside(arg, like, dtype) for arg in args], **kwargs))


def _values_beside(value, like, dtype):
    """A number for each flat value of `like`."""
    if isinstance(value, RaggedTensor):
        same = value.ragged_rank == like.ragged_rank and all(
            a.shape == b.shape and bool(_ops.reduce_all(_ops.equal(a, b)).numpy()) for a, b in zip(value.nested_row_splits, like.nested_row_splits)
        )
        if not same:
            raise InvalidArgumentError(f"ragged tensors of one row structure are needed, got {value.shape} and {like.shape} with other row lengths")
        return value.flat_values
    beside = _tandem.to_tensor_beside(value, dtype)
    if beside.ndim == 0 or beside.ndim <= like.flat_values.ndim - 1:
        return beside
    if like.ragged_rank == 1 and beside.ndim == like.flat_values.ndim + 1 and beside.shape[1] == 1:
        rows = _ops.squeeze(beside, 1) if beside.shape[0] != 1 else _ops.broadcast_to(_ops.squeeze(beside, 1), [len(like), *beside.shape[2:]])
        return _ops.gather(rows, like.value_rowids())
    lengths = set(like.row_lengths().numpy().tolist()) if like.ragged_rank == 1 else set()
    if len(lengths) == 1 and beside.shape[-like.flat_values.ndim] in (1, *lengths):  # rows of one length: as a whole tensor would
        whole = _ops.broadcast_to(beside, [len(like), *lengths, *like.flat_values.shape[1:]])
        return _ops.reshape(whole, like.flat_values.shape)
    raise ValueError(f"a tensor of shape {beside.shape} does not broadcast to the rows of a ragged tensor of shape {like.shape}")


# --- Over rows. ---


def _segments(name, values, ids, count):
    segment = {"sum": "unsorted_segment_sum", "prod": "unsorted_segment_prod", "max": "unsorted_segment_max", "min": "unsorted_segment_min"}
    kind = name[7:]
    if kind in ("any", "all"):
        found = _ops.records["unsorted_segment_max" if kind == "any" else "unsorted_segment_min"](_ops.cast(values, _dtypes.int32), ids, count)
        return _ops.greater(found, 0)
    if kind == "mean":
        values = values if values.dtype.is_floating else _ops.cast(values, _dtypes.float64)
        ones = _ops.ones([values.shape[0]] + [1] * (values.ndim - 1), values.dtype)
        return _ops.records["unsorted_segment_sum"](values, ids, count) / _ops.records["unsorted_segment_sum"](ones, ids, count)
    return _ops.records[segment[kind]](values, ids, count)


def _reduce(name, input_tensor, axis=None, keepdims=False, **kwargs):
    x, op = input_tensor, _ops.records[name]
    if axis is None:
        return op(x.flat_values)
    rank = x.ragged_rank + x.flat_values.ndim
    axis = int(axis) + (rank if int(axis) < 0 else 0)
    if axis > x.ragged_rank:
        return x.with_flat_values(op(x.flat_values, axis - x.ragged_rank, keepdims))
    if axis == 1 and x.ragged_rank == 1:
        reduced = _segments(name, x.values, x.value_rowids(), len(x))
    elif axis == 0 and x.ragged_rank == 1:
        lengths = x.row_lengths().numpy().tolist()
        columns = _tandem.to_tensor([column for length in lengths for column in range(length)], _dtypes.int64)
        reduced = _segments(name, x.values, columns, max(lengths, default=0))
    elif axis == 0:
        raise NotImplementedError(f"{name}: axis 0 of a ragged tensor of ragged rank {x.ragged_rank}")
    elif axis == 1 and x.ragged_rank > 1:
        return from_rows([_reduce(name, row, 0, keepdims) for row in x], x.values)
    else:
        return x.with_values(_reduce(name, x.values, axis - 1, keepdims))
    return _ops.expand_dims(reduced, axis) if keepdims else reduced


def _as_ragged(value, like):
    return value if isinstance(value, RaggedTensor) else RaggedTensor.from_tensor(_tandem.to_tensor_beside(value, like.dtype))


def _concat(values, axis, **kwargs):
    like = next(value for value in values if isinstance(value, RaggedTensor))
    parts = [_as_ragged(value, like) for value in values]
    axis = int(axis) + (like.ragged_rank + like.flat_values.ndim if int(axis) < 0 else 0)
    if axis == 0:
        return from_rows([row for part in parts for row in part], like)
    if len({len(part) for part in parts}) > 1:
        raise ValueError(f"concat: ragged tensors side by side need as many rows each, got {[len(part) for part in parts]}")
    return from_rows([_ops.concat(list(rows), axis - 1) for rows in zip(*parts)], like)


def _stack(values, axis=0, **kwargs):
    like = next(value for value in values if isinstance(value, RaggedTensor))
    parts = [_as_ragged(value, like) for value in values]
    rank = like.ragged_rank + like.flat_values.ndim
    axis = int(axis) + (rank + 1 if int(axis) < 0 else 0)
    if axis != 0:
        return _concat([_expand_dims(part, axis) for part in parts], axis)
    return RaggedTensor.from_row_lengths(_concat(parts, 0), [len(part) for part in parts])


def _gather(params, indices, *args, **kwargs):
    if isinstance(indices, RaggedTensor):
        return indices.with_flat_values(_ops.exported["gather"](params, indices.flat_values, *args, **kwargs))
    numbers = _tandem.to_tensor(indices)
    if numbers.ndim == 0:
        return params[int(numbers.numpy())]
    return from_rows([params[row] for row in numbers.numpy().tolist()], params)


def _tile(input, multiples, **kwargs):
    rows, columns, *rest = _tandem.as_ints(multiples)
    wide = [_ops.tile(row, [columns, *rest]) for row in input]
    return from_rows(wide * rows, input)


def _expand_dims(input, axis, **kwargs):
    rank = input.ragged_rank + input.flat_values.ndim
    axis = int(axis) + (rank + 1 if int(axis) < 0 else 0)
    if axis == 0:
        return RaggedTensor.from_row_lengths(input, [len(input)])
    if axis == 1:
        return RaggedTensor.from_row_lengths(input, [1] * len(input))
    return input.with_values(_ops.expand_dims(input.values, axis - 1))


def _reverse(tensor, axis, **kwargs):
    out = tensor
    for at in _tandem.as_ints(axis):
        rows = list(out)
        out = from_rows(rows[::-1] if at == 0 else [_tandem.reverse(row, [at - 1]) for row in rows], tensor)
    return out


def _gather_nd(params, indices, batch_dims=0, **kwargs):
    """Elements, or rows, by their places."""
    if int(batch_dims):
        raise NotImplementedError("gather_nd: batch_dims of ragged tensors are not supported")
    places = _tandem.to_tensor(indices)
    found = []
    for place in places.numpy().reshape(-1, places.shape[-1]).tolist():
        part = params
        for index in place:
            part = part[index]
        found.append(part)
    out = _ops.exported["stack"](found)
    return _ops.reshape(out, [*places.shape.as_list()[:-1], *out.shape.as_list()[1:]])


def _variance(input_tensor, axis=None, keepdims=False, **kwargs):
    mean = _reduce("reduce_mean", input_tensor, axis, keepdims)
    squares = _reduce("reduce_mean", run("square", (input_tensor,), {}), axis, keepdims)
    return _ops.subtract(squares, _ops.square(mean))


def _softmax(logits, axis=None, **kwargs):
    """Of each row."""
    if axis not in (None, -1, logits.ragged_rank + logits.flat_values.ndim - 1):
        raise NotImplementedError(f"softmax: of a ragged tensor along its last axis, got axis {axis}")
    if logits.flat_values.ndim > 1:
        return logits.with_flat_values(_ops.exported["softmax"](logits.flat_values))
    if logits.ragged_rank > 1:
        return logits.with_values(_softmax(logits.values))
    rows, count = logits.value_rowids(), len(logits)
    highest = _ops.gather(_segments("reduce_max", logits.values, rows, count), rows)
    powers = _ops.exp(logits.values - highest)
    return logits.with_values(powers / _ops.gather(_segments("reduce_sum", powers, rows, count), rows))


def _squeeze(input, axis=None, **kwargs):
    if axis is None:
        raise ValueError("Ragged.squeeze must have an axis argument.")
    rank = input.ragged_rank + input.flat_values.ndim
    for at in sorted((int(a) + (rank if int(a) < 0 else 0) for a in _tandem.as_ints(axis)), reverse=True):
        if at > input.ragged_rank:
            input = input.with_flat_values(_ops.squeeze(input.flat_values, at - input.ragged_rank))
        else:
            input = _without_axis(input, at)
    return input


def _without_axis(ragged, axis):
    """Without an axis of size 1 that the row splits describe."""
    if axis > 1:
        return ragged.with_values(_without_axis(ragged.values, axis - 1))
    if (len(ragged) if axis == 0 else set(ragged.row_lengths().numpy().tolist()) - {1}) != (1 if axis == 0 else set()):
        raise InvalidArgumentError(f"squeeze: axis {axis} of a ragged tensor of shape {ragged.shape} has not size 1")
    return ragged[0] if axis == 0 else ragged.values


def _dropout(x, *args, **kwargs):
    from ._network import dropout

    return x.with_flat_values(dropout(x.flat_values, *args, **kwargs))


def _add_n(inputs, **kwargs):
    return functools.reduce(_ops.add, inputs)


def _one_hot(indices, *args, **kwargs):
    return indices.with_flat_values(_ops.exported["one_hot"](indices.flat_values, *args, **kwargs))


def _filled(value):
    return lambda input, dtype=None, **kwargs: input.with_flat_values(
        _ops.exported[value](input.flat_values, dtype)
    )


def _boolean_mask(tensor, mask, axis=None, **kwargs):
    if axis not in (None, 0):
        raise NotImplementedError(f"boolean_mask: a mask of a ragged tensor begins at axis 0, got axis {axis}")
    return boolean_mask(tensor, mask)


_HANDLERS = {
    "concat": _concat, "stack": _stack, "gather": _gather, "tile": _tile, "expand_dims": _expand_dims, "reverse": _reverse,
    "gather_nd": _gather_nd, "one_hot": _one_hot, "boolean_mask": _boolean_mask, "softmax": _softmax, "squeeze": _squeeze, "add_n": _add_n, "dropout": _dropout,
    "reduce_variance": _variance, "reduce_std": lambda *args, **kwargs: _ops.sqrt(_variance(*args, **kwargs)),
    "ones_like": _filled("ones_like"), "zeros_like": _filled("zeros_like"),
    "size": lambda input, **kwargs: _ops.exported["size"](input.flat_values),
    "rank": lambda input, **kwargs: _tandem.to_tensor(input.ragged_rank + input.flat_values.ndim, _dtypes.int32),
}  # fmt: skip
