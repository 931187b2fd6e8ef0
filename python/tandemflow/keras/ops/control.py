"""keras.ops: control flow. Scans and maps over a known number of steps are unrolled in a trace."""
import functools

from ... import _control_flow, _ops, _tandem
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
    """true_fn() or false_fn(); in a trace a node that runs one of them."""
    if isinstance(pred, bool) or _tandem.executing_eagerly():
        return true_fn() if _concrete(pred, "cond") else false_fn()
    return _control_flow.cond(_ops.cast(tensor(pred), "bool"), true_fn, false_fn)


def switch(index, branches, *operands):
    """branches[index](*operands), the index within bounds."""
    if isinstance(index, int) or _tandem.executing_eagerly():
        return branches[max(0, min(int(_concrete(index, "switch")), len(branches) - 1))](*operands)
    index = _ops.minimum(_ops.maximum(_ops.cast(tensor(index), "int32"), 0), len(branches) - 1)
    return _control_flow.switch_case(index, [functools.partial(branch, *operands) for branch in branches])


def while_loop(cond, body, loop_vars, maximum_iterations=None):
    """body, as long as cond holds; the last values, nested as the first ones."""
    single = not isinstance(loop_vars, (list, tuple))
    first = [loop_vars] if single else list(loop_vars)

    def step(*values):
        out = body(*values)
        return [out] if single or not isinstance(out, (list, tuple)) else list(out)

    last = _control_flow.while_loop(cond, step, first, maximum_iterations=maximum_iterations)
    return last[0] if single else type(loop_vars)(last)


def fori_loop(lower, upper, body_fun, init_val):
    """body_fun(i, value) for i from lower below upper."""

    def step(i, value):
        return [i + 1, body_fun(i, value)]

    lower, upper = tensor(lower), tensor(upper)
    return _control_flow.while_loop(lambda i, _: i < upper, step, [lower, init_val])[1]


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
