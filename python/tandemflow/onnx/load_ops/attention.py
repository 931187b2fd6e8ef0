"""Attention of ONNX, and turning positions into rotations."""
import numpy as np

import tandemflow as tf

from ..support import as_tensor, op, shape_of


def _heads(x, count):
    """[batch, steps, heads * size] as [batch, heads, steps, size]."""
    batch, steps, width = shape_of(x)
    return tf.transpose(tf.reshape(x, [batch, steps, count, width // count]), [0, 2, 1, 3])


def _mask(node, mask, lengths, query, keys, past):
    """What is added to the scores: 0, or minus infinity where a key must not be seen; None: nothing."""
    batch, _, targets, _ = shape_of(query)
    sources = shape_of(keys)[2]
    added = None
    if mask is not None:
        mask = as_tensor(mask)
        added = tf.where(mask, 0.0, -np.inf) if mask.dtype == tf.bool else mask
        added = tf.cast(added, query.dtype)
        if shape_of(added)[-1] < sources:
            added = tf.pad(added, [[0, 0]] * (len(added.shape) - 1) + [[0, sources - shape_of(added)[-1]]], constant_values=-np.inf)
    left, right = node.get("left_window_size", -1), 0 if node.get("is_causal", 0) else node.get("right_window_size", -1)
    if left >= 0 or right >= 0:
        if lengths is not None and past == 0:
            # The queries are the last of the keys that there are.
            first = tf.reshape(tf.cast(as_tensor(lengths), tf.int32), [batch, 1, 1, 1]) - targets
        else:
            first = tf.constant(past, tf.int32)
        ahead = tf.constant(np.arange(sources, dtype=np.int32) - np.arange(targets, dtype=np.int32)[:, None]) - first
        seen = tf.logical_and(ahead <= right if right >= 0 else ahead == ahead, ahead >= -left if left >= 0 else ahead == ahead)
        window = tf.cast(tf.where(seen, 0.0, -np.inf), query.dtype)
        added = window if added is None else added + window
    if lengths is not None:
        inside = np.arange(sources, dtype=np.int32) < tf.reshape(tf.cast(as_tensor(lengths), tf.int32), [batch, 1, 1, 1])
        there = tf.cast(tf.where(inside, 0.0, -np.inf), query.dtype)
        added = there if added is None else added + there
    return added


@op("Attention")
def attention(node, query, key, value, mask=None, past_key=None, past_value=None, lengths=None):
    query, key, value = as_tensor(query), as_tensor(key), as_tensor(value)
    is_flat = len(query.shape) == 3
    if is_flat:
        query, key, value = _heads(query, node["q_num_heads"]), _heads(key, node["kv_num_heads"]), _heads(value, node["kv_num_heads"])
    past = 0 if past_key is None else shape_of(past_key)[2]
    if past_key is not None:
        key, value = tf.concat([as_tensor(past_key), key], 2), tf.concat([as_tensor(past_value), value], 2)
    present = (key, value)
    given = query.dtype
    if given.size == 2:  # rounded once, at the end
        query, key, value = (tf.cast(x, tf.float32) for x in (query, key, value))
    groups = shape_of(query)[1] // shape_of(key)[1]
    if groups > 1:
        key, value = tf.repeat(key, groups, axis=1), tf.repeat(value, groups, axis=1)
    scale = node.get("scale", 0.0) or shape_of(query)[-1] ** -0.5
    root = tf.constant(np.sqrt(scale), query.dtype)
    stages = [tf.matmul(query * root, key * root, transpose_b=True)]
    added = _mask(node, mask, lengths, query, key, past)
    limit = node.get("softcap", 0.0)
    capped = stages[0] if not limit else limit * tf.tanh(stages[0] / limit)
    masked = capped if added is None else capped + added
    stages += [capped, masked, _softmax_of_rows(masked)]
    y = tf.matmul(stages[3], value)
    if is_flat:
        batch, heads, steps, size = shape_of(y)
        y = tf.reshape(tf.transpose(y, [0, 2, 1, 3]), [batch, steps, heads * size])
    return (tf.cast(y, given), *present, tf.cast(stages[node.get("qk_matmul_output_mode", 0)], given))


def _softmax_of_rows(scores):
    """A row that sees nothing gives zeros, not NaN."""
    largest = tf.reduce_max(scores, -1, True)
    powers = tf.exp(scores - tf.where(tf.math.is_finite(largest), largest, tf.zeros_like(largest)))
    return tf.math.divide_no_nan(powers, tf.reduce_sum(powers, -1, True))


@op("RotaryEmbedding")
def rotary_embedding(node, x, cosines, sines, positions=None):
    x = as_tensor(x)
    is_flat = len(x.shape) == 3
    if is_flat:
        x = _heads(x, node["num_heads"])
    size = node.get("rotary_embedding_dim", 0) or shape_of(x)[-1]
    cosines, sines = as_tensor(cosines), as_tensor(sines)
    if positions is not None:
        cosines, sines = tf.gather(cosines, as_tensor(positions)), tf.gather(sines, as_tensor(positions))
    cosines, sines = (tf.expand_dims(v[..., : size // 2], 1) for v in (cosines, sines))
    turned, rest = x[..., :size], x[..., size:]
    if node.get("interleaved", 0):
        a, b = turned[..., 0::2], turned[..., 1::2]
    else:
        a, b = turned[..., : size // 2], turned[..., size // 2 :]
    a, b = a * cosines - b * sines, a * sines + b * cosines
    joined = tf.reshape(tf.stack([a, b], -1), shape_of(turned)) if node.get("interleaved", 0) else tf.concat([a, b], -1)
    y = tf.concat([joined, rest], -1) if shape_of(rest)[-1] else joined
    if is_flat:
        batch, heads, steps, width = shape_of(y)
        y = tf.reshape(tf.transpose(y, [0, 2, 1, 3]), [batch, steps, heads * width])
    return y
