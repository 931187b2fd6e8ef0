"""tf.map_fn, tf.scan, tf.foldl, tf.foldr and tf.vectorized_map: functions over the first axis."""
from . import _ops, _tandem, nest
from ._control_flow import while_loop
from ._open_size import OpenSize
from ._ragged import RaggedTensor, ragged_stack
from ._ragged_spec import RaggedTensorSpec
from ._tensor_array import TensorArray
from .errors import OpByOpError


def _rows(elems, who):
    """The structure as tensors, and how many rows they have."""
    tensors = nest.map_structure(_tandem.to_tensor, elems)
    sizes = {tensor.shape[0] if tensor.ndim else None for tensor in nest.flatten(tensors)}
    if None in sizes:
        raise ValueError(f"{who}: elements must be 1+ dimensional Tensors, not scalars")
    if len(sizes) != 1:
        raise ValueError(f"{who}: all elements must have the same first size, got {sorted(sizes)}")
    return tensors, sizes.pop()


def _row(tensors, i):
    return nest.map_structure(lambda tensor: tensor[i] if isinstance(i, int) else _ops.gather(tensor, i), tensors)


def _stacked(rows, signature=None):
    if isinstance(signature, RaggedTensorSpec):
        return ragged_stack(rows)
    return nest.map_structure(lambda *parts: _ops.stack(parts), *rows)


def _unrolled(count):
    """Eager loops, and short ones of traced functions, need no loop of the graph."""
    return _tandem.executing_eagerly() or not isinstance(count, OpenSize) and count <= 8


def map_fn(fn, elems, dtype=None, parallel_iterations=None, back_prop=True, swap_memory=False, infer_shape=True, name=None,
           fn_output_signature=None):  # fmt: skip
    """fn of each row, stacked; of a ragged tensor's rows, ragged again unless a signature says otherwise."""
    if isinstance(elems, RaggedTensor):
        rows = [_tandem.to_tensor(fn(row)) for row in elems]
        ragged = fn_output_signature is None and dtype is None or isinstance(fn_output_signature, RaggedTensorSpec)
        return ragged_stack(rows) if ragged else _stacked([_typed(row, fn_output_signature if fn_output_signature is not None else dtype) for row in rows])
    tensors, count = _rows(elems, "map_fn")
    signature = fn_output_signature if fn_output_signature is not None else dtype
    if count == 0:
        return _empty(fn, tensors, signature)
    if isinstance(signature, RaggedTensorSpec) and not _tandem.executing_eagerly():
        raise OpByOpError("tf.map_fn gives a ragged tensor, which a traced function does not have before it runs")
    if _unrolled(count):
        return _stacked([_typed(fn(_row(tensors, i)), signature) for i in range(count)], signature)
    first = _typed(fn(_row(tensors, 0)), signature)
    arrays = nest.map_structure(lambda leaf: TensorArray(leaf.dtype, count, element_shape=leaf.shape).write(0, leaf), first)

    def body(i, arrays):
        result = _typed(fn(_row(tensors, i)), signature)
        return i + 1, nest.map_structure(lambda array, leaf: array.write(i, leaf), arrays, result)

    _, arrays = while_loop(lambda i, _: i < count, body, (_tandem.to_tensor(1), arrays))
    return nest.map_structure(lambda array: array.stack(), arrays)


def _typed(value, signature):
    """The result with the dtypes that were declared."""
    if signature is None:
        return nest.map_structure(_tandem.to_tensor, value)
    if not nest.is_nested(signature):
        return nest.map_structure(lambda leaf: _leaf(leaf, signature), value)
    return nest.map_structure(_leaf, value, nest.pack_sequence_as(value, nest.flatten(signature)))


def _leaf(value, signature):
    if isinstance(value, RaggedTensor):
        return value
    dtype = signature.dtype if hasattr(signature, "dtype") else signature
    tensor = _tandem.to_tensor(value) if hasattr(value, "dtype") else _tandem.to_tensor(value, dtype)
    if tensor.dtype != dtype:
        raise ValueError(f"map_fn: the function gives {tensor.dtype.name}, but fn_output_signature says {_tandem.as_dtype(dtype).name}")
    return tensor


def _empty(fn, tensors, signature):
    """What no row gives: of the shape of one made up."""
    made = fn(nest.map_structure(lambda tensor: _ops.zeros(tensor.shape[1:], tensor.dtype), tensors))
    return _no_rows(_typed(made, signature))


def _no_rows(like):
    return nest.map_structure(lambda leaf: _ops.zeros([0, *leaf.shape], leaf.dtype), like)


def _fold(who, elems, initializer, reverse):
    """What it begins with, how many turns follow, and the row that turn number k reads."""
    tensors, count = _rows(elems, who)
    first = 0
    if initializer is None:
        if count == 0:
            raise ValueError(f"{who}: without elements an initializer is needed")
        initializer, first = _row(tensors, -1 if reverse else 0), 1
    row = lambda k: _row(tensors, count - 1 - first - k if reverse else k + first)  # noqa: E731
    return nest.map_structure(_tandem.to_tensor, initializer), count - first, row


def _fold_rows(who, fn, elems, initializer, reverse):
    state, turns, row = _fold(who, elems, initializer, reverse)
    if _unrolled(turns):
        for k in range(turns):
            state = fn(state, row(k))
        return state
    body = lambda k, state: (k + 1, fn(state, row(k)))  # noqa: E731
    return while_loop(lambda k, _: k < turns, body, (_tandem.to_tensor(0), state))[1]


def foldl(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None):
    """fn(… fn(fn(initializer, row 0), row 1) …)."""
    return _fold_rows("foldl", fn, elems, initializer, False)


def foldr(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None):
    """As foldl, from the last row to the first."""
    return _fold_rows("foldr", fn, elems, initializer, True)


def scan(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, infer_shape=True, reverse=False,
         name=None):  # fmt: skip
    """As foldl, with every intermediate result, stacked; with reverse=True from the last row to the first."""
    state, turns, row = _fold("scan", elems, initializer, reverse)
    first = [] if initializer is not None else [state]
    if _unrolled(turns):
        for k in range(turns):
            state = fn(state, row(k))
            first.append(state)
        if not first:
            return _no_rows(state)
        return _stacked(first[::-1] if reverse else first)
    total = turns + len(first)
    at = (lambda k: total - 1 - k) if reverse else (lambda k: k)
    arrays = nest.map_structure(lambda leaf: TensorArray(leaf.dtype, total, element_shape=leaf.shape), state)
    if first:
        arrays = nest.map_structure(lambda array, leaf: array.write(at(0), leaf), arrays, state)

    def body(k, state, arrays):
        state = fn(state, row(k))
        return k + 1, state, nest.map_structure(lambda array, leaf: array.write(at(k + len(first)), leaf), arrays, state)

    _, _, arrays = while_loop(lambda k, *_: k < turns, body, (_tandem.to_tensor(0), state, arrays))
    return nest.map_structure(lambda array: array.stack(), arrays)


def vectorized_map(fn, elems, fallback_to_while_loop=True, warn=True):
    """fn of each row, stacked, as map_fn."""
    return map_fn(fn, elems)
