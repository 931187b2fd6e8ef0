"""Ops that contain graphs."""
import itertools

import numpy as np

import tandemflow as tf

from ..support import ValuesNeeded, as_tensor, as_value, is_known, known_scalar, op, shape_of
from ..tensors import dtype_of


def with_graphs(function):
    function.takes_graphs = True  # is given all values so far: the graphs inside may read them
    return function


@op("If")
@with_graphs
def if_(node, values, condition):
    from ..model import run_graph

    branches = [lambda name=name: run_graph(node[name], dict(values), node.opset) for name in ("then_branch", "else_branch")]
    if is_known(condition) or not tf.is_symbolic_tensor(condition):
        return branches[0]() if np.asarray(condition).item() else branches[1]()
    if any(info.type is None or info.type.tensor_type is None for info in node["then_branch"].output):
        raise ValuesNeeded(f"node '{node.name}' (If): which sequence it gives depends on the inputs' values")
    return tuple(tf.cond(tf.reshape(as_tensor(condition), []), *branches))


@op("Loop")
@with_graphs
def loop(node, values, count, condition, *carried):
    """Unrolled: a fixed number of rounds, or, op by op, as many as the condition that the body computes lets run."""
    body, state, rows = node["body"], [as_value(value) for value in carried], []
    rounds = itertools.count() if count is None else range(int(known_scalar(count, node, "the number of rounds")))
    goes_on = condition is None or known_scalar(condition, node, "the condition")
    for i in rounds:
        if not goes_on:
            break
        results = body_values(node, body, values, [np.array(i, np.int64), np.array(True), *state])
        goes_on = known_scalar(results[0], node, "the condition")
        state, extra = [as_value(value) for value in results[1 : 1 + len(state)]], results[1 + len(state) :]
        rows.append(extra)
    return (*state, *(tf.stack([as_tensor(value) for value in column]) for column in zip(*rows)))


def body_values(node, body, values, inputs):
    """The outputs of a graph inside a node; those that depend on known values only are known."""
    from ..model import graph_values

    inner = dict(values)
    inner.update(zip((info.name for info in body.input), inputs))
    return graph_values(body, inner, node.opset)


@op("Scan")
@with_graphs
def scan(node, values, *inputs):
    """The body over slices of some inputs, with a state that passes through; unrolled."""
    if node.opset < 9:  # a batch of scans, each along the second axis
        if inputs[0] is not None:
            raise NotImplementedError(f"node '{node.name}' (Scan): sequence_lens is not supported")
        batches = [[as_tensor(value)[b] for value in inputs[1:]] for b in range(shape_of(inputs[1])[0])]
        return tuple(tf.stack(column) for column in zip(*(_scanned(node, values, one) for one in batches)))
    return _scanned(node, values, [as_tensor(value) for value in inputs])


def _scanned(node, values, inputs):
    body, count = node["body"], node["num_scan_inputs"]
    state, scanned = list(inputs[: len(inputs) - count]), inputs[len(inputs) - count :]
    axes, backwards = node.get("scan_input_axes", [0] * count), node.get("scan_input_directions", node.get("directions", [0] * count))
    steps, rows = shape_of(scanned[0])[axes[0]], []
    for t in range(steps):
        slices = [tf.gather(x, steps - 1 - t if back else t, axis=axis % len(x.shape)) for x, axis, back in zip(scanned, axes, backwards)]
        results = [as_tensor(value) for value in body_values(node, body, values, [*state, *slices])]
        state, extra = results[: len(state)], results[len(state) :]
        rows.append(extra)
    columns = list(zip(*rows))
    out_axes, reverse = node.get("scan_output_axes", [0] * len(columns)), node.get("scan_output_directions", [0] * len(columns))
    return (*state, *(tf.stack(column[::-1] if back else column, axis=axis) for column, axis, back in zip(columns, out_axes, reverse)))


@op("FlexAttention")
@with_graphs
def flex_attention(node, values, query, key, value):
    """Attention whose scores and probabilities pass through graphs of the node's own."""
    query, key, value = as_tensor(query), as_tensor(key), as_tensor(value)
    groups = shape_of(query)[1] // shape_of(key)[1]
    if groups > 1:
        key, value = tf.repeat(key, groups, axis=1), tf.repeat(value, groups, axis=1)
    root = tf.constant(np.sqrt(node.get("scale") or shape_of(query)[-1] ** -0.5), query.dtype)
    precision = tf.as_dtype(dtype_of(node["softmax_precision"])) if "softmax_precision" in node else query.dtype
    wide = precision if precision in (tf.float32, tf.float64) or "softmax_precision" in node else tf.float32
    scores = tf.cast(tf.matmul(query * root, key * root, transpose_b=True), wide)
    for name, finish in (("score_mod", lambda x: tf.nn.softmax(x, -1)), ("prob_mod", lambda x: x)):
        if name in node:
            scores = tf.cast(as_tensor(body_values(node, node[name], values, [scores])[0]), wide)
        scores = finish(scores)
    return tf.cast(tf.matmul(scores, tf.cast(value, wide)), value.dtype)
