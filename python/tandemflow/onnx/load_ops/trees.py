"""Ensembles of decision trees."""
import numpy as np

import tandemflow as tf

from ..support import as_tensor, op

# ONNX' numbers of modes, of ways to put trees together and of what is done with their sum.
_COMPARISONS = (tf.less_equal, tf.less, tf.greater_equal, tf.greater, tf.equal, tf.not_equal)
_MEMBER = 6
_AVERAGE, _SUM, _MIN, _MAX = range(4)
_PROBIT = 4


def _steps(node):
    """Where each node goes when its question is true and when it is not: a node, or beyond the nodes a leaf, which goes to itself."""
    nodes, leaves = len(node["nodes_featureids"]), len(node["leaf_targetids"])
    at_leaves = np.arange(nodes, nodes + leaves)
    ways = []
    for way in ("true", "false"):
        goal, is_leaf = np.array(node[f"nodes_{way}nodeids"], np.int64), np.array(node[f"nodes_{way}leafs"], np.int64)
        if goal.size and (goal.min() < 0 or (goal >= np.where(is_leaf, leaves, nodes)).any()):
            raise ValueError(f"node '{node.name}': nodes_{way}nodeids names one of {nodes} nodes or {leaves} leaves that is not there")
        ways.append(np.concatenate([goal + nodes * is_leaf, at_leaves]))
    return ways


def _depth(node, ways, roots):
    """The most steps from a root to a leaf."""
    reached, nodes = set(roots), len(node["nodes_featureids"])
    for depth in range(nodes + 1):
        reached = {int(way[at]) for at in reached if at < nodes for way in ways}
        if not reached:
            return depth
    raise ValueError(f"node '{node.name}': its trees go round in circles")


def _members(node, modes, dtype):
    """The numbers that each node of a set asks for, as rows filled up with NaN, which equals nothing."""
    sets, one = [], []
    for value in node.get("membership_values", np.zeros(0, dtype)):
        if np.isnan(value):
            sets.append(one)
            one = []
        else:
            one.append(value)
    sets, asked = iter([*sets, one]), np.flatnonzero(modes == _MEMBER)
    rows = {at: next(sets, []) for at in asked}
    table = np.full([len(modes), max([1, *map(len, rows.values())])], np.nan, dtype)
    for at, row in rows.items():
        table[at, : len(row)] = row
    return table


def _finished(scores, how):
    if how == 1:
        return tf.nn.softmax(scores)
    if how == 2:
        return tf.sigmoid(scores)
    if how == 3:  # what is zero stays zero
        kept = tf.cast(scores != 0, scores.dtype)
        powers = tf.exp(scores - tf.reduce_max(scores, -1, keepdims=True)) * kept
        return powers / tf.maximum(tf.reduce_sum(powers, -1, keepdims=True), np.finfo(scores.dtype.as_numpy_dtype).tiny)
    return tf.math.ndtri(scores) if how == _PROBIT else scores


@op("TreeEnsemble")
def tree_ensemble(node, x):
    """[rows, features] -> [rows, targets]: every row walks down every tree, all at once and a level a step."""
    x = as_tensor(x)
    dtype = x.dtype.as_numpy_dtype
    leaves = len(node["leaf_targetids"])

    def each(name, default=0, dtype=np.int64):
        """A value for every node, and for every leaf, which asks nothing."""
        return np.concatenate([np.asarray(node.get(name, [default] * len(node["nodes_featureids"])), dtype), np.full(leaves, default, dtype)])

    roots, ways, modes = np.array(node["tree_roots"], np.int64), _steps(node), each("nodes_modes")
    members = _members(node, modes, dtype) if (modes == _MEMBER).any() else None
    splits, tracked = each("nodes_splits", dtype=dtype), each("nodes_missing_value_tracks_true").astype(bool)
    at = tf.tile(tf.constant(roots)[None, :], [tf.shape(x)[0], 1])
    for _ in range(_depth(node, ways, roots.tolist())):
        value, mode = tf.gather(x, tf.gather(each("nodes_featureids"), at), batch_dims=1), tf.gather(modes, at)
        true = tf.math.is_nan(value) & tf.gather(tracked, at)
        for number in sorted(set(modes.tolist())):
            if number == _MEMBER:
                answer = tf.reduce_any(value[..., None] == tf.gather(members, at), -1)
            else:
                answer = _COMPARISONS[number](value, tf.gather(splits, at))
            true |= (mode == number) & answer
        at = tf.where(true, tf.gather(ways[0], at), tf.gather(ways[1], at))
    leaf = at - len(node["nodes_featureids"])
    hit = tf.gather(np.array(node["leaf_targetids"])[:, None] == np.arange(node["n_targets"]), leaf)  # [rows, trees, targets]
    weight = tf.gather(np.asarray(node["leaf_weights"], dtype), leaf)[..., None]
    return _finished(_joined(hit, weight, node.get("aggregate_function", _SUM), len(roots)), node.get("post_transform", 0))


def _joined(hit, weight, how, trees):
    """A target that no tree speaks of is 0."""
    if how in (_AVERAGE, _SUM):
        total = tf.reduce_sum(tf.where(hit, weight, tf.zeros_like(weight)), 1)
        return total / trees if how == _AVERAGE else total
    far = weight.dtype.max if how == _MIN else weight.dtype.min
    best = (tf.reduce_min if how == _MIN else tf.reduce_max)(tf.where(hit, weight, tf.fill(tf.shape(weight), tf.constant(far, weight.dtype))), 1)
    return tf.where(tf.reduce_any(hit, 1), best, tf.zeros_like(best))
