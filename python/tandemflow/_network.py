"""Normalisation, dropout and attention as TensorFlow and Keras spell them."""
import math

from . import _tandem
from ._ops import expand_dims, records, reshape, takes_others, where
from .random import uniform


def batch_normalization(x, mean, variance, offset, scale, variance_epsilon, name=None):
    """(x - mean) / sqrt(variance + variance_epsilon) * scale + offset; offset and scale may be None."""
    x = _tandem.to_tensor(x)
    offset, scale = (0.0 if offset is None else offset), (1.0 if scale is None else scale)
    beside = [_tandem.to_tensor_beside(v, x.dtype) for v in (mean, variance, offset, scale, variance_epsilon)]
    return records["batch_normalization"](x, *beside)


def batch_normalization_training(x, scale, offset, epsilon=1e-3, name=None):
    """x [..., features] by the mean and variance of its features over all other axes: y, mean, variance."""
    return records["batch_normalization_training"](x, scale, offset, epsilon)


def layer_normalization(x, scale, offset, epsilon=1e-3, name=None):
    """x by the mean and variance of each row; a row is as many of the last axes as scale and offset have."""
    x = _tandem.to_tensor(x)
    scale, offset = (_tandem.to_tensor_beside(v, x.dtype) for v in (scale, offset))
    if scale.ndim == 1:
        return records["layer_normalization"](x, scale, offset, epsilon)[0]
    axes = scale.ndim
    if not axes or x.shape.as_list()[-axes:] != scale.shape.as_list():
        raise ValueError(f"layer_normalization: scale {scale.shape} must have the last sizes of x {x.shape}")
    rows = reshape(x, x.shape.as_list()[:-axes] + [scale.shape.num_elements()])
    flat = records["layer_normalization"](rows, reshape(scale, [-1]), reshape(offset, [-1]), epsilon)[0]
    return reshape(flat, x.shape)


@takes_others
def dropout(x, rate, noise_shape=None, seed=None, name=None):
    """Zeroes elements with the probability `rate` and scales the others up; `noise_shape` broadcasts."""
    x = _tandem.to_tensor(x)
    rate = float(rate)
    if not 0 <= rate < 1:
        raise ValueError(f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={rate}")
    if not x.dtype.is_floating:
        raise ValueError(f"`x.dtype` must be a floating point tensor as `x` will be scaled. Received: x_dtype={x.dtype}")
    if rate == 0:
        return x
    shape = x.shape if noise_shape is None else _tandem.as_ints(noise_shape)
    return records["dropout"](x, uniform(shape, dtype=x.dtype, seed=seed), _tandem.to_tensor(rate, x.dtype))


def dot_product_attention(query, key, value, bias=None, mask=None, scale=None, is_causal=False, name=None):
    """softmax(query key^T * scale + bias) value for each head, as keras.ops.dot_product_attention.

    query is [batch, targets, heads, size], key and value are [batch, sources, heads, size]. Where the mask, which
    broadcasts to [batch, heads, targets, sources], is False, a target does not look.
    """
    query = _tandem.to_tensor(query)
    if scale is None:
        scale = 1 / math.sqrt(max(query.shape[-1], 1)) if query.ndim else 1.0
    total = _tandem.to_tensor(0.0, query.dtype)
    if bias is not None:
        total = _tandem.to_tensor_beside(bias, query.dtype)
    if mask is not None:
        mask = _tandem.to_tensor(mask)
        total = where(mask, total, _tandem.to_tensor(_largest_negative(query.dtype), query.dtype))
    while total.ndim < 4:
        total = expand_dims(total, 0)
    return records["dot_product_attention"](query, key, value, total, float(scale), bool(is_causal))[0]


def _largest_negative(dtype):
    """Far below every score, and still finite: a row that sees nothing averages, as in Keras."""
    return -3e4 if dtype.name == "float16" else -2e38


def _last_step(sequence, before):
    steps = sequence.shape[1]
    return sequence[:, steps - 1] if steps else _tandem.to_tensor(before)


def lstm(x, h0, c0, kernel, recurrent_kernel, bias, name=None):
    """An LSTM over [batch, steps, inputs] with Keras' weights (gates i, f, c, o): outputs, last state, last cell."""
    y, cells, _ = records["lstm"](x, h0, c0, kernel, recurrent_kernel, bias)
    return y, _last_step(y, h0), _last_step(cells, c0)


def gru(x, h0, kernel, recurrent_kernel, bias, name=None):
    """A GRU over [batch, steps, inputs] with Keras' weights (reset_after; gates z, r, h): outputs, last state."""
    y, _ = records["gru"](x, h0, kernel, recurrent_kernel, bias)
    return y, _last_step(y, h0)


def simple_rnn(x, h0, kernel, recurrent_kernel, bias, name=None):
    """tanh(x kernel + state recurrent_kernel + bias) over [batch, steps, inputs]: outputs, last state."""
    y = records["simple_rnn"](x, h0, kernel, recurrent_kernel, bias)
    return y, _last_step(y, h0)


def sigmoid_cross_entropy_with_logits(labels=None, logits=None, name=None):
    """max(x, 0) - x * z + log(1 + exp(-|x|)) for labels z and logits x, elementwise."""
    if labels is None or logits is None:
        raise ValueError("sigmoid_cross_entropy_with_logits: needs labels and logits")
    logits = _tandem.to_tensor(logits)
    labels = _tandem.to_tensor_beside(labels, logits.dtype)
    if labels.ndim != logits.ndim or any(a != b for a, b in zip(labels.shape, logits.shape) if isinstance(a, int) and isinstance(b, int)):
        raise ValueError(f"`logits` and `labels` must have the same shape, received ({tuple(logits.shape)} vs {tuple(labels.shape)}).")
    return records["sigmoid_cross_entropy_with_logits"](labels, logits)
