"""Shapes, indices, joins, orders: what moves elements and computes little."""
import numpy as np

from .draw import ANY, FLOATS, NUMBERS, Operand

SHAPES_ONLY = {
    "random.truncated_normal", "random.categorical", "random.shuffle", "random.gamma", "random.poisson", "random.normal", "random.uniform", "random.stateless_normal",
    "random.stateless_uniform", "random.stateless_truncated_normal", "random.stateless_categorical", "random.stateless_gamma", "random.stateless_poisson", "random.stateless_binomial",
    "random.stateless_shuffle", "random.experimental.stateless_shuffle",
}  # fmt: skip


def _x(d, low=0, high=4):
    return d.array(ANY, d.shape(low, high))


def _subscripts(d):
    x = _x(d, 1)
    index, used = [], 0
    while used < len(x.shape) and not d.chance(6):
        size, kind = x.shape[used], d.below(8)
        if kind == 0:
            index.append(None)
            continue
        if kind == 1 and Ellipsis not in index:
            index.append(Ellipsis)
            used += d.below(len(x.shape) - used + 1)
            continue
        if kind <= 3:
            index.append(d.between(-size, size - 1) if size and not d.chance(25) else size)
        else:
            ends = [None if d.chance(3) else d.between(-size - 2, size + 2) for _ in range(2)]
            index.append(slice(*ends, d.one_of(None, 1, 2, -1, -2, 3)))
        used += 1
    return [x, tuple(index)], {}


def _masked_slice(d):
    rank = d.between(1, 3)
    x = d.array(ANY, tuple(d.between(1, 4) for _ in range(rank)))
    count = d.between(1, rank)
    return [x, [d.between(-5, 5) for _ in range(count)], [d.between(-5, 5) for _ in range(count)], [d.one_of(1, 2, -1) for _ in range(count)]], {
        name: d.below(2**count) for name in ("begin_mask", "end_mask", "shrink_axis_mask", "new_axis_mask", "ellipsis_mask") if d.chance(3)
    }


def _parts(d):
    shape = d.shape(1)
    axis = d.axis(len(shape))
    x = d.array(ANY, shape)
    others = []
    for _ in range(d.below(3)):
        sizes = list(shape)
        if -len(shape) <= axis < len(shape):
            sizes[axis] = d.between(0, 3)
        others.append(d.like(x, tuple(sizes)))
    return [[x, *others], axis], {}


def _stack(d):
    x = _x(d, 0, 3)
    return [[x, *(d.like(x) for _ in range(d.below(3)))]], d.options(axis=lambda: d.axis(len(x.shape) + 1))


def _unstack(d):
    x = _x(d, 1)
    return [x], d.options(axis=lambda: d.axis(len(x.shape)))


def _split(d):
    x = _x(d, 1)
    axis = d.axis(len(x.shape))
    size = x.shape[axis] if -len(x.shape) <= axis < len(x.shape) else 3
    if d.flag():
        return [x, d.one_of(1, max(size, 1), 2), axis], {}
    first = d.between(0, size)
    return [x, [first, d.one_of(size - first, -1)], axis], {}


def _gather(d):
    batch = d.below(3)
    x = _x(d, max(batch + 1, 1))
    axis = d.between(batch, len(x.shape) - 1)
    size = x.shape[axis]
    indices = d.integers(0, size - 1, x.shape[:batch] + d.shape(0, 2, 3))
    if not size:
        indices = d.integers(0, 0, x.shape[:batch] + (0,))
    return [x, indices], dict(axis=axis, batch_dims=batch)


def _gather_nd(d):
    batch = d.below(2)
    x = _x(d, batch + 1)
    depth = d.between(0 if d.chance(5) else 1, len(x.shape) - batch)
    sizes = x.shape[batch : batch + depth]
    lead = x.shape[:batch] + d.shape(1, 2, 3)
    if 0 in sizes:
        lead = x.shape[:batch] + (0,)
    columns = [d.random.integers(0, max(size, 1), lead) for size in sizes]
    indices = np.stack(columns, -1) if columns else np.zeros((*lead, 0))
    return [x, Operand(indices.astype(d.one_of("int32", "int64")), "int32")], dict(batch_dims=batch)


def _scattered(d, dtypes, distinct):
    shape = tuple(d.between(1, 4) for _ in range(d.between(1, 3)))
    depth = d.between(1, len(shape))
    count = int(np.prod(shape[:depth]))
    rows = d.random.permutation(count)[: d.between(0, count)] if distinct else d.random.integers(0, count, d.between(0, 6))
    indices = np.stack(np.unravel_index(rows, shape[:depth]), -1).astype(d.one_of("int32", "int64"))
    x = d.array(dtypes, shape)
    return x, Operand(indices, "int32"), d.like(x, (len(rows), *shape[depth:]))


def _scatter(distinct, dtypes=NUMBERS):
    def drawn(d):
        return list(_scattered(d, dtypes, distinct)), {}

    return drawn


def _scatter_nd(d):
    x, indices, updates = _scattered(d, NUMBERS, False)
    return [indices, updates, list(x.shape)], {}


def _tile(d):
    x = _x(d)
    return [x, [d.between(0, 3) for _ in x.shape]], {}


def _squeeze(d):
    x = d.array(ANY, tuple(1 if d.flag() else size for size in d.shape()))
    ones = [i for i, size in enumerate(x.shape) if size == 1]
    return [x], d.options(axis=lambda: [d.one_of(*ones)] if ones else None)


def _reversed(d):
    x = _x(d)
    return [x, d.axes(len(x.shape)) if len(x.shape) and d.flag() else [0] if len(x.shape) else []], {}


def _roll(d):
    x = _x(d, 1)
    if d.flag():
        return [x, d.between(-7, 7), d.axis(len(x.shape))], {}
    return [x, [d.between(-7, 7) for _ in range(2)], [d.axis(len(x.shape)) for _ in range(2)]], {}


def _order(d):
    x = d.array(NUMBERS, d.shape(1, 3))
    return [Operand(np.nan_to_num(x.array, nan=0.5) if x.floating else x.array, x.dtype)], d.options(axis=lambda: d.axis(len(x.shape)), direction=lambda: d.one_of("ASCENDING", "DESCENDING"))


def _argsort(d):
    given, options = _order(d)
    return given, {**options, "stable": True}


def _unique(d):
    return [d.array(ANY, d.shape(1, 1, 9))], d.options(out_idx=lambda: d.one_of("int32", "int64"))


def _boolean_mask(d):
    x = _x(d, 1)
    axis = d.below(len(x.shape))
    mask = d.array("bool", x.shape[axis : axis + d.between(1, len(x.shape) - axis)])
    return [x, mask], dict(axis=axis) if axis or d.flag() else {}


def _sequence_mask(d):
    return [d.integers(0, 5, d.shape(0, 2))], d.options(maxlen=lambda: d.between(1, 6), dtype=lambda: d.one_of("bool", "float32", "int32", "float16"))


def _linspace(d):
    x = d.array(("float32", "float64", "float16", "bfloat16"), d.shape(0, 2))
    return [x, d.like(x), d.between(1, 6)], d.options(axis=lambda: d.axis(len(x.shape) + 1))


def _meshgrid(d):
    x = d.array(ANY, d.shape(1, 1))
    return [x, *(d.like(x, d.shape(1, 1)) for _ in range(d.below(3)))], d.options(indexing=lambda: d.one_of("xy", "ij"))


def _repeat(d):
    x = _x(d, 0, 3)
    axis = d.one_of(None, d.axis(len(x.shape)) if x.shape else None)
    size = int(np.prod(x.shape)) if axis is None else x.shape[axis] if -len(x.shape) <= axis < len(x.shape) else 1
    repeats = d.between(0, 3) if d.flag() else [d.between(0, 3) for _ in range(size)]
    return [x, repeats], dict(axis=axis)


def _searchsorted(d):
    x = d.array(NUMBERS, d.shape(1, 2, 6))
    x.array = np.sort(np.nan_to_num(x.array, nan=1) if x.floating else x.array)
    values = d.like(x, (*x.shape[:-1], d.between(0, 4)))
    return [x, Operand(np.nan_to_num(values.array, nan=1) if x.floating else values.array, x.dtype)], d.options(side=lambda: d.one_of("left", "right"), out_type=lambda: d.one_of("int32", "int64"))


def _where(d):
    x = _x(d)
    shape = d.broadcast(x.shape)
    return [d.array("bool", d.broadcast(x.shape)), x, d.like(x, shape)], {}


def _pad(d):
    x = _x(d)
    mode = d.one_of("CONSTANT", "REFLECT", "SYMMETRIC", "constant")
    most = 3 if mode.upper() == "CONSTANT" else 1
    pads = [[d.between(0, most), d.between(0, most)] for _ in x.shape]
    return [x, pads], dict(mode=mode, **(dict(constant_values=d.one_of(0, 1, 2)) if mode.upper() == "CONSTANT" and x.dtype != "bool" and d.flag() else {}))


def _reshape(d):
    x = _x(d)
    total = int(np.prod(x.shape))
    return [x, d.one_of([-1], [total], [1, total], [2, -1], [], [-1, 1], [total, 1, 1], [0, -1], [3, 2])], {}


def _broadcast_to(d):
    x = d.array(ANY, tuple(1 if d.chance(3) else size for size in d.shape(0, 3)))
    return [x, [*d.shape(0, 2), *(d.between(1, 4) if size == 1 else size for size in x.shape)]], {}


def _one_hot(d):
    on = d.one_of({}, {"dtype": d.one_of(*ANY)}, {"on_value": 5, "off_value": -1}, {"on_value": 2.5, "off_value": 0.5})
    shape = d.shape(0, 2)
    return [d.integers(-1, 4, shape, ("int32", "int64", "uint8")), d.between(0, 5)], {**on, **d.options(axis=lambda: d.between(-1, len(shape)))}


def _range(d):
    kind = d.one_of(int, float)
    start, limit = kind(d.between(-5, 5)), kind(d.between(-9, 9))
    delta = kind(d.one_of(1, 2, -1, -2)) / (2 if kind is float else 1)
    return [start, limit, delta], d.options(dtype=lambda: d.one_of("int32", "int64", "float32", "float64"))


def _reverse_sequence(d):
    x = d.array(ANY, d.shape(2, 4))
    return [x, d.integers(0, x.shape[1], x.shape[:1])], dict(seq_axis=1, batch_axis=0)


def _expand(d):
    x = _x(d)
    return [x, d.axis(len(x.shape) + 1)], {}


def _transpose(d):
    x = _x(d)
    return [x], d.options(perm=lambda: [int(i) for i in d.random.permutation(len(x.shape))])


def _slice(d):
    x = _x(d)
    begin = [d.between(0, size) for size in x.shape]
    return [x, begin, [d.one_of(-1, d.between(0, size - first)) for size, first in zip(x.shape, begin)]], {}


def _space(d):
    block = d.between(1, 3)
    x = d.array(("float32", "int32", "float16", "uint8"), (d.between(1, 2), 2 * block, 3 * block, d.between(1, 2)))
    return [x, block], {}


def _depth(d):
    block = d.between(1, 3)
    return [d.array(("float32", "int32", "float16", "uint8"), (d.between(1, 2), 2, 3, block * block * d.between(1, 2))), block], {}


def _batches(d):
    return [d.array(("float32", "int32"), (2, 4, 6, 2)), [2, d.one_of(1, 3)], [[0, 0], [d.one_of(0, 3), 0]]], {}


def _from_batches(d):
    return [d.array(("float32", "int32"), (12, 2, 3, 2)), [2, d.one_of(1, 3)], [[0, d.below(2)], [d.below(2), 0]]], {}


def _like_shape(d):
    return [_x(d)], d.options(dtype=lambda: d.one_of(*ANY))


def _fill(d):
    return [list(d.shape()), d.array(ANY, ())], {}


def _drawn_shape(**more):
    return lambda d: ([list(d.shape(0, 3))], {name: draw(d) for name, draw in more.items() if d.flag()})


def _seeded(**more):
    return lambda d: ([list(d.shape(0, 3)), [d.below(9), d.below(9)]], {name: draw(d) for name, draw in more.items() if d.flag()})


def _a_float(d):
    return d.one_of("float32", "float64", "float16", "bfloat16")


def _ensure(d):
    x = _x(d)
    return [x, [None if d.flag() else size + d.chance(20) for size in x.shape]], {}


def _dynamic(d):
    x = _x(d, 1)
    ids = d.integers(0, 2, x.shape[: d.between(1, len(x.shape))], "int32")
    return [x, ids, 3], {}


def _stitch(d):
    order = d.random.permutation(6).astype("int32")
    x = d.array(ANY, (4, *d.shape(0, 2)))
    return [[Operand(order[:4], "int32"), Operand(order[4:], "int32")], [x, d.like(x, (2, *x.shape[1:]))]], {}


def _bitcast(d):
    return [d.array(NUMBERS, (*d.shape(0, 2), d.one_of(2, 4, 8))), d.one_of(*NUMBERS)], {}


BODIES = {"__getitem__": lambda tf, x, index: x[index], "operators:divmod": lambda tf, x, y: (x // y, x % y), "operators:neg": lambda tf, x: (-x, abs(x))}


def calls():
    found = {f"tensor_scatter_nd_{name}": _scatter(False) for name in ("add", "sub", "min", "max")}
    found.update({name: _like_shape for name in ("zeros_like:dtype", "ones_like:dtype")})
    found.update({
        "tensor_scatter_nd_update": _scatter(True, ANY), "__getitem__": _subscripts, "strided_slice": _masked_slice, "concat": _parts, "stack": _stack, "unstack": _unstack, "split": _split,
        "gather": _gather, "gather_nd": _gather_nd, "scatter_nd": _scatter_nd, "tile": _tile, "squeeze": _squeeze, "reverse": _reversed, "roll": _roll, "sort": _order, "argsort": _argsort,
        "unique": _unique, "unique_with_counts": _unique, "boolean_mask": _boolean_mask, "sequence_mask": _sequence_mask, "linspace": _linspace, "meshgrid": _meshgrid, "repeat": _repeat,
        "searchsorted": _searchsorted, "where": _where, "where:positions": lambda d: ([d.array("bool", d.shape())], {}), "pad": _pad, "reshape": _reshape, "broadcast_to": _broadcast_to, "one_hot": _one_hot,
        "range": _range, "reverse_sequence": _reverse_sequence, "expand_dims": _expand, "transpose": _transpose, "slice": _slice, "nn.space_to_depth": _space, "nn.depth_to_space": _depth,
        "space_to_batch": _batches, "batch_to_space": _from_batches, "fill": _fill, "ensure_shape": _ensure, "dynamic_partition": _dynamic, "dynamic_stitch": _stitch, "bitcast": _bitcast,
        "shape": lambda d: ([_x(d)], {}), "size": lambda d: ([_x(d)], {}), "rank": lambda d: ([_x(d)], {}), "shape_n": lambda d: ([[_x(d), _x(d)]], {}), "broadcast_dynamic_shape": lambda d: (lambda s: ([list(s), list(d.broadcast(s))], {}))(d.shape()),
        "random.truncated_normal": _drawn_shape(dtype=_a_float), "random.normal": _drawn_shape(dtype=_a_float), "random.uniform": _drawn_shape(dtype=_a_float),
        "random.shuffle": lambda d: ([_x(d, 1)], {}), "random.categorical": lambda d: ([d.reals(-1, 1, (d.between(1, 3), d.between(1, 4))), d.between(0, 4)], d.options(dtype=lambda: d.one_of("int32", "int64"))),
        "random.gamma": lambda d: ([list(d.shape(0, 2)), d.reals(0.1, 3, d.shape(0, 2))], d.options(beta=lambda: 2.0)), "random.poisson": lambda d: ([list(d.shape(0, 2)), d.reals(0.1, 3, d.shape(0, 2))], {}),
        "random.stateless_normal": _seeded(dtype=_a_float), "random.stateless_uniform": _seeded(dtype=_a_float), "random.stateless_truncated_normal": _seeded(dtype=_a_float),
        "random.stateless_categorical": lambda d: ([d.reals(-1, 1, (d.between(1, 3), d.between(1, 4))), d.between(0, 4), [1, 2]], d.options(dtype=lambda: d.one_of("int32", "int64"))),
        "random.stateless_gamma": lambda d: ([[2, 3], [1, 2], d.reals(0.1, 3, (3,))], {}), "random.stateless_poisson": lambda d: ([[2, 3], [1, 2], d.reals(0.1, 3, (3,))], d.options(dtype=lambda: d.one_of("int32", "int64", "float32"))),
        "random.experimental.stateless_shuffle": lambda d: ([_x(d, 1), [1, 2]], {}), "operators:divmod": lambda d: ([*(lambda x: (x, d.like(x)))(d.array(NUMBERS, d.shape()))], {}),
        "operators:neg": lambda d: ([d.array(NUMBERS, d.shape())], {}), "unravel_index": lambda d: ([d.integers(0, 23, d.shape(0, 1)), [2, 3, 4]], {}), "tensor_scatter_nd_add:floats": _scatter(False, FLOATS),
    })  # fmt: skip
    return found
