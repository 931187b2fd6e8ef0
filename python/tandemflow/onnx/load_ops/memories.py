"""Ops that carry a state from step to step: linear attention, causal convolution, caches that are written into."""
import numpy as np

import tandemflow as tf

from ..support import as_tensor, op, shape_of


@op("SwiGLU")
def swiglu(node, a, b):
    a = as_tensor(a)
    return a * tf.sigmoid(node.get("alpha", 1.0) * a) * as_tensor(b)


@op("CausalConvWithState")
def causal_conv(node, x, w, bias=None, past=None):
    """Each channel by itself along [batch, channels, length]; the past stands before it."""
    x, w = as_tensor(x), as_tensor(w)
    batch, channels, _ = shape_of(x)
    width = shape_of(w)[2]
    before = tf.zeros([batch, channels, width - 1], x.dtype) if past is None else as_tensor(past)
    whole = tf.concat([before, x], 2)
    length = shape_of(x)[2]
    y = sum(whole[:, :, k : k + length] * tf.reshape(w[:, 0, k], [1, channels, 1]) for k in range(width))
    if bias is not None:
        y = y + tf.reshape(as_tensor(bias), [1, channels, 1])
    if node.get("activation", "none") in ("silu", "swish"):
        y = tf.nn.silu(y)
    return y, whole[:, :, shape_of(whole)[2] - (width - 1) :]


def _by_head(x, heads):
    """[batch, steps, heads * size] as float32 [steps, batch, heads, size]."""
    batch, steps, width = shape_of(x)
    return tf.transpose(tf.reshape(tf.cast(as_tensor(x), tf.float32), [batch, steps, heads, width // heads]), [1, 0, 2, 3])


@op("LinearAttention")
def linear_attention(node, query, key, value, past=None, decay=None, beta=None):
    """Keys write their values into a state [batch, heads, size, depth] and queries read it, a step after another."""
    query, key, value = as_tensor(query), as_tensor(key), as_tensor(value)
    heads, readers, rule = node["kv_num_heads"], node["q_num_heads"], node.get("update_rule", "gated_delta")
    queries, keys, values = _by_head(query, readers), _by_head(key, heads), _by_head(value, heads)
    steps, batch, _, size = shape_of(queries)
    depth = shape_of(values)[-1]
    scale = node.get("scale", 0.0) or size**-0.5
    state_dtype = query.dtype if past is None else as_tensor(past).dtype
    state = tf.zeros([batch, heads, size, depth]) if past is None else tf.cast(as_tensor(past), tf.float32)
    decays = None if decay is None else tf.exp(_by_head(decay, heads))
    betas = None if beta is None else _by_head(beta, shape_of(beta)[-1])
    outputs = []
    for t in range(steps):
        written = values[t]
        if "gated" in rule:
            state = state * tf.expand_dims(decays[t], -1)
        if "delta" in rule:
            written = betas[t] * (written - tf.einsum("bhdm,bhd->bhm", state, keys[t]))
        state = state + tf.expand_dims(keys[t], -1) * tf.expand_dims(written, -2)
        read = state if heads == readers else tf.repeat(state, readers // heads, axis=1)
        outputs.append(scale * tf.einsum("bhd,bhdm->bhm", queries[t], read))
    y = tf.reshape(tf.stack(outputs, 1), [batch, steps, readers * depth])
    return tf.cast(y, query.dtype), tf.cast(state, state_dtype)


@op("TensorScatter")
def tensor_scatter(node, cache, update, first=None):
    """The update written into the cache along an axis, from a place of its own for each of the batch."""
    cache, update = as_tensor(cache), as_tensor(update)
    axis = node.get("axis", -2) % len(cache.shape)
    sizes, parts = shape_of(cache), shape_of(update)
    rows = np.indices(parts[: axis + 1])
    begin = tf.zeros([parts[0]], tf.int32) if first is None else tf.cast(as_tensor(first), tf.int32)
    along = tf.reshape(begin, [-1] + [1] * axis) + tf.constant(rows[axis].astype(np.int32))
    if node.get("mode", "linear") == "circular":
        along = tf.math.floormod(along, sizes[axis])
    places = tf.stack([*(tf.constant(row.astype(np.int32)) for row in rows[:axis]), along], -1)
    return tf.tensor_scatter_nd_update(cache, places, update)


# --- Optimizers: rate, step, then parameters, gradients and what is kept of each. ---


def _optimizer(name, kept):
    def register(update):
        @op(name)
        def optimizer(node, rate, step, *tensors):
            rate, step = as_tensor(rate), as_tensor(step)
            count = len(tensors) // (2 + kept)
            groups = [[as_tensor(t) for t in tensors[i::count]] for i in range(count)]
            new = [update(node, rate, tf.cast(step, rate.dtype), x, node.get("norm_coefficient", 0.0) * x + g, *state) for x, g, *state in groups]
            return tuple(group[k] for k in range(1 + kept) for group in new)

        return update

    return register


@_optimizer("Adagrad", 1)
def adagrad(node, rate, step, x, grad, squares):
    squares = squares + grad * grad
    rate = rate / (1.0 + step * node.get("decay_factor", 0.0))
    return x - rate * grad / (tf.sqrt(squares) + node.get("epsilon", 1e-6)), squares


@_optimizer("Momentum", 1)
def momentum(node, rate, step, x, grad, velocity):
    alpha = node["alpha"]
    velocity = alpha * velocity + tf.where(step > 0.0, node["beta"], 1.0) * grad
    return x - rate * (grad + alpha * velocity if node["mode"] == "nesterov" else velocity), velocity


@_optimizer("Adam", 2)
def adam(node, rate, step, x, grad, mean, squares):
    alpha, beta = node.get("alpha", 0.9), node.get("beta", 0.999)
    mean, squares = alpha * mean + (1.0 - alpha) * grad, beta * squares + (1.0 - beta) * grad * grad
    corrected = rate * tf.sqrt(1.0 - tf.pow(beta, step)) / (1.0 - tf.pow(alpha, tf.maximum(step, 1.0)))
    rate = tf.where(step > 0.0, corrected, rate)
    x = x - rate * mean / (tf.sqrt(squares) + node.get("epsilon", 1e-6))
    return (1.0 - node.get("norm_coefficient_post", 0.0)) * x, mean, squares
