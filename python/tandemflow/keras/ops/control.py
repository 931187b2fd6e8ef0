"""keras.ops: control flow. Loops over a known number of steps are unrolled in a trace."""
from ... import _ops, _tandem
from ..._gradient import flatten, pack_like
from ._convert import tensor


def _concrete(value, what):
    """A bool or number now; in a trace there is none."""
    if isinstance(value, (bool, int)):
        return value
    try:
        return tensor(value).numpy().item()
    except Exception as error:
        raise NotImplementedError(f"{what} depends on a value that is known only when the traced function runs") from error


def cond(pred, true_fn, false_fn):
    """true_fn() or false_fn(); in a trace both are computed and one is taken."""
    if isinstance(pred, bool) or _tandem.executing_eagerly():
        return true_fn() if _concrete(pred, "cond") else false_fn()
    yes, no = true_fn(), false_fn()
    pred = _ops.cast(tensor(pred), "bool")
    pairs = zip(flatten(yes), flatten(no))
    return pack_like(yes, iter([None if a is None else _ops.where(pred, tensor(a), tensor(b)) for a, b in pairs]))


def switch(index, branches, *operands):
    """branches[index](*operands), the index within bounds."""
    index = max(0, min(int(_concrete(index, "switch")), len(branches) - 1))
    return branches[index](*operands)


def while_loop(cond, body, loop_vars, maximum_iterations=None):
    """body, as long as cond holds."""
    single = not isinstance(loop_vars, (list, tuple))
    values, count = (loop_vars,) if single else tuple(loop_vars), 0
    while (maximum_iterations is None or count < maximum_iterations) and _concrete(cond(*values), "while_loop"):
        out = body(*values)
        values = tuple(out) if isinstance(out, (list, tuple)) else (out,)
        count += 1
    return values[0] if single else pack_like(loop_vars, iter(flatten(values)))


def fori_loop(lower, upper, body_fun, init_val):
    """body_fun(i, value) for i from lower below upper."""
    value = init_val
    for i in range(int(_concrete(lower, "fori_loop")), int(_concrete(upper, "fori_loop"))):
        value = body_fun(i, value)
    return value


def scan(f, init, xs=None, length=None, reverse=False, unroll=1):
    """f(carry, x) along the first axis: the last carry, and the results side by side."""
    count = length if xs is None else tensor(flatten(xs)[0]).shape[0]
    places = range(count - 1, -1, -1) if reverse else range(count)
    carry, outputs = init, []
    for i in places:
        x = None if xs is None else pack_like(xs, iter([tensor(leaf)[i] for leaf in flatten(xs)]))
        carry, out = f(carry, x)
        outputs.append(out)
    if reverse:
        outputs.reverse()
    if not outputs or outputs[0] is None:
        return carry, None
    columns = zip(*(flatten(out) for out in outputs))
    return carry, pack_like(outputs[0], iter([_ops.stack(list(column), 0) for column in columns]))


def map(f, xs):
    """f for every slice of the first axis, results side by side."""
    return scan(lambda carry, x: (carry, f(x)), None, xs)[1]


def vectorized_map(function, elements):
    """function for every slice of the first axis."""
    return map(function, elements)


def associative_scan(f, elems, reverse=False, axis=0):
    """f of all up to each, along an axis."""
    leaves = [_front(tensor(leaf), axis) for leaf in flatten(elems)]
    places = range(leaves[0].shape[0] - 1, -1, -1) if reverse else range(leaves[0].shape[0])
    total, outputs = None, []
    for i in places:
        now = pack_like(elems, iter([leaf[i] for leaf in leaves]))
        total = now if total is None else f(total, now)
        outputs.append(flatten(total))
    if reverse:
        outputs.reverse()
    return pack_like(elems, iter([_back(_ops.stack(list(column), 0), axis) for column in zip(*outputs)]))


def _front(x, axis):
    axis %= x.ndim
    return x if axis == 0 else _ops.transpose(x, [axis] + [i for i in range(x.ndim) if i != axis])


def _back(x, axis):
    order = list(range(1, x.ndim))
    order.insert(axis % x.ndim, 0)
    return _ops.transpose(x, order)


def custom_gradient(f):
    """A decorator: f returns its result and a function for the gradients."""
    from ... import custom_gradient as make

    return make(f)
