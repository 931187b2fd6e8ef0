"""Branches and loops of traced functions, over state that is read and set by functions."""
from . import _tandem
from ._branch_values import LoopState, Merge, Restart, Undefined, inside_loop, is_leaf, rebuild, zeros_like


def is_symbolic(value):
    """True for a tensor that has no value yet; a variable has none while a function is traced."""
    return value is not None and _tandem.is_symbolic(value) or (isinstance(value, _tandem.Variable) and not _tandem.executing_eagerly())


def scoped(get_state, set_state, names):
    """The functions for the first len(names) values of a state. The others are nobody's after the branch or loop, but each
    time one is traced they must begin as they are now."""
    count = len(names)
    others = tuple(get_state())[count:]
    if not others:
        return get_state, set_state
    return (lambda: get_state()[:count]), (lambda values: set_state((*values, *others)))


def traced_branches(predicate, if_true, if_false, get_state, set_state, names, branches=("main", "else")):
    """One node for both branches. They change the state, which afterwards is what the branch that runs makes of it."""
    before = get_state()
    after = []

    def run(branch):
        def traced():
            set_state(before)
            branch()
            after.append(get_state())

        return traced

    merge = Merge(branches)
    templates = []

    def results():
        templates.extend(merge.add(name, *pair) for name, *pair in zip(names, *after))
        return merge.lists

    try:
        tensors = _tandem.traced_cond(predicate, run(if_true), run(if_false), results)
    except BaseException:
        set_state(before)
        raise
    set_state(tuple(rebuild(template, tensors) for template in templates))


def _is_unknown(value):
    """True for what a loop cannot carry before one turn has shown what it will be."""
    return isinstance(value, Undefined) or (hasattr(value, "_tandem_unknown") and value._tandem_unknown())


def _first_values(values, names, run_body, get_state, set_state, turns):
    """Values to begin with for variables that only the body assigns: zeros like what it gives them."""
    hidden = tuple(Undefined(name) if _is_unknown(value) else value for name, value in zip(names, values))
    known = LoopState(names, hidden)

    def turn(tensors):
        set_state(tuple(value if _is_unknown(value) else now for value, now in zip(values, known.values(tensors))))
        with inside_loop():
            run_body()
        return get_state()

    after = _tandem.probe(turn, known.leaves)
    return tuple(_first_value(value, made, turns) if _is_unknown(value) else value for value, made in zip(values, after))


def _first_value(value, made, turns):
    if not isinstance(value, Undefined):
        return value._tandem_like(made, turns)
    return zeros_like(made) if is_leaf(made) or _only_leaves(made) else value


def _only_leaves(value):
    from . import nest

    return nest.is_nested(value) and all(is_leaf(leaf) for leaf in nest.flatten(value))


def traced_loop(test, body, get_state, set_state, names, maximum_iterations=-1, turns=-1):
    """One node for the loop `while test(): body()`, whose turns change the state; `turns` where their number is known."""
    before = get_state()
    try:
        values = before
        if any(_is_unknown(value) for value in values):
            values = _first_values(values, names, body, get_state, set_state, turns)
        set_state(_run_loop(test, body, get_state, set_state, names, values, maximum_iterations))
    except BaseException:
        set_state(before)
        raise


def _run_loop(test, body, get_state, set_state, names, values, maximum_iterations):
    dtypes = {}
    while True:
        state = LoopState(names, values, dtypes)

        def run_test(tensors):
            set_state(state.values(tensors))
            return test()

        def run_body(tensors):
            set_state(state.values(tensors))
            with inside_loop():
                body()
            return state.leaves_of(get_state())

        try:
            return state.values(_tandem.while_loop(run_test, run_body, state.leaves, maximum_iterations))
        except Restart as other:
            dtypes[other.index] = other.dtype
