"""tf.cond, tf.while_loop, tf.case, tf.switch_case and tf.init_scope. Outside traced functions they are Python's own control flow."""
from . import _ops, _tandem, nest
from ._loops import is_symbolic, traced_branches, traced_loop
from ._branch_values import ShapeChange
from .errors import InvalidArgumentError, OpByOpError


class init_scope:
    """with tf.init_scope(): what is inside runs at once, outside traced functions and tapes."""

    def __enter__(self):
        self._scope = _tandem.InitScope()
        self._scope.enter()

    def __exit__(self, *exception):
        self._scope.exit()


def _truth(value, who):
    """The bool of a value that is known now."""
    if isinstance(value, (_tandem.Tensor, _tandem.Variable)):
        if value.shape.num_elements() != 1:
            raise ValueError(f"{who}: the condition must be one bool, got a tensor of shape {value.shape}")
    return bool(value)


def cond(pred, true_fn=None, false_fn=None, name=None):
    """true_fn() or false_fn(), by the value of `pred`, a scalar bool. In a traced function both are traced, one runs."""
    for function, role in ((true_fn, "true_fn"), (false_fn, "false_fn")):
        if not callable(function):
            raise TypeError(f"'{role}' must be callable.")
    if not is_symbolic(pred):
        return true_fn() if _truth(pred, "tf.cond") else false_fn()
    result = [None]

    def keep(values):
        result[:] = values

    traced_branches(
        pred, lambda: keep([true_fn()]), lambda: keep([false_fn()]), lambda: tuple(result), keep, ("output",), ("true_fn", "false_fn")
    )  # fmt: skip
    return result[0]


def _unpacked(values):
    return values if isinstance(values, (list, tuple)) else [values]


def while_loop(cond, body, loop_vars, shape_invariants=None, parallel_iterations=10, back_prop=True, swap_memory=False,
               maximum_iterations=None, name=None):  # fmt: skip
    """body(*loop_vars) as long as cond(*loop_vars) holds. In a traced function the values keep their dtypes and shapes."""
    for function, role in ((cond, "cond"), (body, "body")):
        if not callable(function):
            raise TypeError(f"'{role}' must be callable.")
    if not loop_vars:
        raise ValueError("'loop_vars' must be provided.")
    most = -1 if maximum_iterations is None else int(maximum_iterations)
    kind = list if isinstance(loop_vars, list) else tuple
    state = list(loop_vars) if isinstance(loop_vars, (list, tuple)) else [loop_vars]

    def keep(values):
        state[:] = values

    def turn():
        values = body(*state)
        keep(_checked(_unpacked(values), state))
        return values

    if _tandem.executing_eagerly():
        keep(nest.map_structure(_converted, list(state)))
        count = 0
        while (most < 0 or count < most) and _truth(cond(*state), "tf.while_loop"):
            given = turn()
            kind = type(given) if type(given) in (list, tuple) else kind  # as in TensorFlow: what the body gives
            count += 1
    else:
        names = [f"loop_vars[{i}]" for i in range(len(state))]
        try:
            traced_loop(lambda: cond(*state), turn, lambda: tuple(state), keep, names, most)
        except ShapeChange as change:
            if shape_invariants is None:
                raise
            raise OpByOpError(f"E0702 {change}") from None
    if not isinstance(loop_vars, (list, tuple)):
        return state[0]
    return type(loop_vars)(*state) if hasattr(loop_vars, "_fields") else kind(state)


def _converted(value):
    return _tandem.to_tensor(value) if isinstance(value, (bool, int, float)) or _tandem.is_numpy(value) else value


def _checked(after, before):
    if len(after) != len(before):
        raise ValueError(f"The two structures don't have the same number of elements: body returned {len(after)} values, loop_vars has {len(before)}.")
    return after


def case(pred_fn_pairs, default=None, exclusive=False, strict=False, name="case"):
    """The function of the first pair whose predicate holds; else `default`."""
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, dict) else list(pred_fn_pairs)
    if not pairs and default is None:
        raise ValueError("pred_fn_pairs must be a non-empty list of (predicate, function)")
    for _, function in pairs:
        if not callable(function):
            raise TypeError(f"functions in 'pred_fn_pairs' must be callable, got {function!r}")
    if not pairs:
        return default()
    if exclusive:
        held = _ops.reduce_sum(_ops.cast(_ops.stack([predicate for predicate, _ in pairs]), "int32"))
        assert_value(held <= 1, "Input error: exclusive=True: more than 1 conditions evaluated as True", [])
    (predicate, function), *others = pairs
    if not others and default is None:
        return function()  # the last one is taken without asking, as TensorFlow does
    return cond(predicate, function, lambda: case(others, default))


def switch_case(branch_index, branch_fns, default=None, name="switch_case"):
    """branch_fns[branch_index](); an index without a branch takes `default`, or the last one."""
    items = list(branch_fns.items()) if isinstance(branch_fns, dict) else list(branch_fns)
    if not items:
        raise ValueError("branch_fns must not be empty")
    if not isinstance(items[0], tuple):
        items = list(enumerate(items))
    items = sorted(items, key=lambda item: item[0])
    otherwise = default if default is not None else items[-1][1]
    if not is_symbolic(branch_index):
        return dict(items).get(int(branch_index), otherwise)()

    def choose(rest):
        if not rest:
            return otherwise()
        (number, function), *others = rest
        return cond(_ops.equal(branch_index, number), function, lambda: choose(others))

    return choose(items)


def assert_value(condition, complaint, data=()):
    """Raises InvalidArgumentError when `condition` is false; in a traced function each time it runs."""
    if not is_symbolic(condition):
        if not _truth(_ops.reduce_all(_tandem.to_tensor(condition)), "assert"):
            raise InvalidArgumentError(_complaint(complaint, data))
        return

    def check(values):
        if not values[0].numpy().all():
            raise InvalidArgumentError(_complaint(complaint, values[1:]))
        return []

    tensors = [_tandem.to_tensor(item) for item in data if not isinstance(item, (str, bytes))]
    _tandem.python_call(check, [_tandem.to_tensor(condition), *tensors], [], None)


def _complaint(complaint, data):
    text = complaint() if callable(complaint) else complaint
    shown = [str(item.numpy()) if hasattr(item, "numpy") else str(item) for item in data]
    return "\n".join([text, *shown]) if shown else text
