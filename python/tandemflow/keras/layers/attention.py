"""keras.layers.Attention and AdditiveAttention."""
from ... import _ops
from ..._network import dropout as _dropout
from ._configured import ConfiguredLayer


def causal_mask(targets, sources):
    """[targets, sources]: a target sees what is not behind it."""
    return _ops.expand_dims(_ops.range(targets), 1) >= _ops.expand_dims(_ops.range(sources), 0)


class Attention(ConfiguredLayer):
    """softmax(scores of query and key) value, for [query, value] or [query, value, key]."""

    def __init__(self, use_scale=False, score_mode="dot", dropout=0.0, seed=None, **kwargs):
        super().__init__(**kwargs)
        if score_mode not in ("dot", "concat"):
            raise ValueError(f"Invalid value for argument score_mode. Expected one of {{'dot', 'concat'}}. Received: score_mode={score_mode}")
        self.use_scale, self.score_mode, self.dropout, self.seed = use_scale, score_mode, dropout, seed
        self.supports_masking = True

    def build(self, input_shape):
        self._check(input_shape)
        self.scale = self.add_weight((), "ones", name="scale") if self.use_scale else None
        self.concat_score_weight = None
        if self.score_mode == "concat":
            self.concat_score_weight = self.add_weight((), "ones", name="concat_score_weight")

    def _check(self, inputs):
        if not isinstance(inputs, (list, tuple)) or len(inputs) not in (2, 3):
            raise ValueError(
                f"{type(self).__name__} layer must be called on a list of inputs, namely [query, value] or "
                f"[query, value, key]. Received: inputs={inputs}."
            )

    def _calculate_scores(self, query, key):
        if self.score_mode == "dot":
            scores = _ops.matmul(query, key, transpose_b=True)
            return scores if self.scale is None else scores * self.scale
        sums = _ops.expand_dims(query, -2) + _ops.expand_dims(key, -3)
        sums = sums if self.scale is None else sums * self.scale
        return _ops.reduce_sum(_ops.tanh(sums), -1) * self.concat_score_weight

    def call(self, inputs, mask=None, training=False, return_attention_scores=False, use_causal_mask=False):
        self._check(inputs)
        query, value = inputs[0], inputs[1]
        key = inputs[2] if len(inputs) > 2 else value
        query_mask, value_mask = (mask[0], mask[1]) if mask else (None, None)
        scores = self._calculate_scores(query, key)
        kept = None if value_mask is None else _ops.expand_dims(value_mask, -2)
        if use_causal_mask:
            causal = causal_mask(scores.shape[-2], scores.shape[-1])
            kept = causal if kept is None else _ops.logical_and(kept, causal)
        if kept is not None:
            far = 65504.0 if scores.dtype.name == "float16" else 1e9
            scores = _ops.where(kept, scores, scores - far)
        weights = _ops.softmax(scores)
        if training and self.dropout > 0:
            weights = _dropout(weights, self.dropout, seed=self.seed)
        out = _ops.matmul(weights, value)
        if query_mask is not None:
            out = _ops.where(_ops.expand_dims(query_mask, -1), out, _ops.zeros_like(out))
        return (out, weights) if return_attention_scores else out

    def compute_mask(self, inputs, mask=None):
        return mask[0] if mask else None


class AdditiveAttention(Attention):
    """Attention whose scores are sum(scale * tanh(query + key))."""

    def __init__(self, use_scale=True, dropout=0.0, **kwargs):
        super().__init__(use_scale=use_scale, dropout=dropout, **kwargs)

    def build(self, input_shape):
        self._check(input_shape)
        self.scale = None
        if self.use_scale:
            self.scale = self.add_weight((input_shape[0][-1],), "glorot_uniform", name="scale")

    def _calculate_scores(self, query, key):
        sums = _ops.tanh(_ops.expand_dims(query, -2) + _ops.expand_dims(key, -3))
        return _ops.reduce_sum(sums if self.scale is None else sums * self.scale, -1)

    def get_config(self):
        return {**super().get_config(), "seed": self.seed}
