"""Ops that contain graphs."""
import tandemflow as tf

from ..support import as_tensor, is_known, known_scalar, op


def _with_graphs(function):
    function.takes_graphs = True  # is given all values so far: the graphs inside may read them
    return function


@op("If")
@_with_graphs
def if_(node, values, condition):
    from ..model import run_graph

    branches = [lambda name=name: run_graph(node[name], dict(values), node.opset) for name in ("then_branch", "else_branch")]
    if is_known(condition):
        return branches[0]() if condition.item() else branches[1]()
    return tuple(tf.cond(tf.reshape(as_tensor(condition), []), *branches))


@op("Loop")
@_with_graphs
def loop(node, values, count, condition, *carried):
    """A fixed number of rounds, unrolled."""
    from ..model import run_graph

    if condition is not None and not is_known(condition):
        raise NotImplementedError(f"node '{node.name}' (Loop): a condition that is computed is not supported; a number of rounds is")
    body, state, rows = node["body"], [as_tensor(value) for value in carried], []
    if condition is not None and not condition.item():
        return tuple(state)
    for i in range(int(known_scalar(count, node, "the number of rounds"))):
        inner = dict(values)
        inner.update(zip((info.name for info in body.input), [tf.constant(i, tf.int64), tf.constant(True), *state]))
        results = run_graph(body, inner, node.opset)
        state, extra = list(results[1 : 1 + len(state)]), results[1 + len(state) :]
        rows.append(extra)
    return (*state, *(tf.stack(column) for column in zip(*rows)))
