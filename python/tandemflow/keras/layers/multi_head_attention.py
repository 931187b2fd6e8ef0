"""keras.layers.MultiHeadAttention and GroupQueryAttention."""
import math
import string

from ... import _arrays, _ops
from ..._einsum import einsum
from ..._network import dot_product_attention
from ._configured import ConfiguredLayer
from .activation import Softmax
from .attention import causal_mask
from .dropout import Dropout
from .einsum_dense import EinsumDense


class _Heads(ConfiguredLayer):
    """Masks, scores and projections, which both layers have."""

    _writes_activity_regularizer = True
    _checkpoint_empty = ("_softmax", "_dropout_layer")

    def _check_window(self, sliding_window):
        if sliding_window is not None and (not isinstance(sliding_window, int) or sliding_window <= 0):
            raise ValueError(f"`sliding_window` must be `None` or a positive integer. Received: sliding_window={sliding_window}")
        if self.flash_attention and self.dropout > 0:
            raise ValueError("Dropout is not supported when flash attention is enabled. Please set dropout to 0.0 to use flash attention.")

    def _projection(self, equation, output_shape, bias_axes, name, activation=None):
        again = lambda initializer: type(initializer).from_config(initializer.get_config())  # noqa: E731  a seed of its own
        return EinsumDense(
            equation, output_shape, activation, bias_axes if self.use_bias else None, name=name, dtype=self.dtype_policy,
            kernel_initializer=again(self.kernel_initializer), bias_initializer=again(self.bias_initializer),
            kernel_regularizer=self.kernel_regularizer, bias_regularizer=self.bias_regularizer,
            kernel_constraint=self.kernel_constraint, bias_constraint=self.bias_constraint,
            activity_regularizer=self.activity_regularizer,
        )  # fmt: skip

    def _merged_mask(self, query, value, query_mask, value_mask, key_mask, attention_mask, use_causal_mask):
        """All masks as one that broadcasts to [batch, targets, sources], or None."""
        masks = [] if attention_mask is None else [_ops.cast(attention_mask, "bool")]
        if query_mask is not None:
            masks.append(_ops.expand_dims(_ops.cast(query_mask, "bool"), -1))
        masks += [_ops.expand_dims(_ops.cast(mask, "bool"), -2) for mask in (value_mask, key_mask) if mask is not None]
        targets, sources = query.shape[1], value.shape[1]
        if use_causal_mask:
            masks.append(_ops.expand_dims(causal_mask(targets, sources), 0))
        if self.sliding_window is not None:
            distance = _ops.abs(_ops.expand_dims(_ops.range(targets), 1) - _ops.expand_dims(_ops.range(sources), 0))
            masks.append(_ops.expand_dims(distance < self.sliding_window, 0))
        merged = None
        for mask in masks:
            merged = mask if merged is None else _ops.logical_and(merged, mask)
        return merged

    def _attend(self, query, key, value, mask, causal, scale, want_scores, training):
        """The result for each head, and the scores where they are asked for."""
        if query.ndim == 4 and not want_scores and self.dropout == 0:
            mask = None if mask is None else _for_heads(mask, 4, 1)
            return dot_product_attention(query, key, value, mask=mask, scale=scale, is_causal=causal), None
        if causal:
            mask = _ops.expand_dims(causal_mask(query.shape[1], key.shape[1]), 0)
        dot, combine, axes = self._equations(query.ndim)
        scores = einsum(dot, key, query * scale)
        mask = None if mask is None else _for_heads(mask, scores.ndim, axes)
        weights = self._softmax(scores, mask=mask)
        dropped = self._dropout_layer(weights, training=training) if self.dropout > 0 else weights
        return einsum(combine, dropped, value), weights

    def _make_inner(self, axes=1):
        """The layers without variables; they are made in build, and count where layers are named."""
        self._softmax = Softmax(axis=tuple(range(-axes, 0)) if axes > 1 else -1, dtype=self.dtype_policy)
        self._dropout_layer = Dropout(self.dropout, seed=self.seed, dtype=self.dtype_policy)

    def _equations(self, rank):
        """Scores from keys and queries, results from scores and values; how many axes are attended to."""
        attended = [axis for axis in (getattr(self, "attention_axes", None) or [1])]
        letters = iter(string.ascii_letters)
        target = [next(letters) for _ in range(rank)]
        source = [next(letters) if i in attended else c for i, c in enumerate(target)]
        value = [*source[:-1], next(letters)]
        rest = [c for i, c in enumerate(target[:-1]) if i not in attended]
        scores = "".join(rest + [target[i] for i in attended] + [source[i] for i in attended])
        out = "".join([*target[:-1], value[-1]])
        key, query, value = "".join(source), "".join(target), "".join(value)
        return f"{key},{query}->{scores}", f"{scores},{value}->{out}", len(attended)

    def _only_causal(self, use_causal_mask, *masks):
        """The attention op knows this mask by itself."""
        return use_causal_mask and self.sliding_window is None and all(mask is None for mask in masks)

    def get_config(self):
        config = super().get_config()
        config.pop("flash_attention", None)
        return config


def _for_heads(mask, rank, axes):
    """A mask of [batch, targets, sources] or [targets, sources] with axes for what stands before them."""
    first = mask.ndim - 2 * axes
    return _ops.reshape(mask, [*mask.shape[:first], *[1] * (rank - mask.ndim), *mask.shape[first:]])


def _projection_equation(free, bound, outputs):
    """(equation, bias axes, rank of the output): the first axis and `free` ones stay, `bound` go, `outputs` come."""
    letters = string.ascii_lowercase
    kept, gone = letters[: free + 1], letters[free + 1 : free + 1 + bound]
    new = letters[free + 1 + bound : free + 1 + bound + outputs]
    return f"{kept}{gone},{gone}{new}->{kept}{new}", new, free + 1 + outputs


class MultiHeadAttention(_Heads):
    """Attention of several heads, each with projections of its own."""

    def __init__(self, num_heads, key_dim, value_dim=None, dropout=0.0, use_bias=True, output_shape=None,
                 attention_axes=None, sliding_window=None, flash_attention=None, kernel_initializer="glorot_uniform",
                 bias_initializer="zeros", kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None,
                 kernel_constraint=None, bias_constraint=None, use_gate=False, seed=None, **kwargs):  # fmt: skip
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        for name, size in (("num_heads", num_heads), ("key_dim", key_dim)):
            if not isinstance(size, int) or size <= 0:
                raise ValueError(f"The `{name}` argument of MultiHeadAttention must be a positive integer. Received: {name}={size}")
        if isinstance(attention_axes, int):
            attention_axes = (attention_axes,)
        self._output_shape = (output_shape,) if isinstance(output_shape, int) else output_shape and tuple(output_shape)
        self._keep(num_heads=num_heads, key_dim=key_dim, value_dim=value_dim or key_dim, dropout=dropout,
                   use_bias=use_bias, attention_axes=attention_axes and tuple(attention_axes),
                   sliding_window=sliding_window, flash_attention=flash_attention,
                   kernel_initializer=kernel_initializer, bias_initializer=bias_initializer,
                   kernel_regularizer=kernel_regularizer, bias_regularizer=bias_regularizer,
                   kernel_constraint=kernel_constraint, bias_constraint=bias_constraint, use_gate=use_gate, seed=seed)  # fmt: skip
        self._check_window(sliding_window)
        self.supports_masking = True

    def build(self, query_shape, value_shape, key_shape=None):
        key_shape = value_shape if key_shape is None else key_shape
        if tuple(value_shape[1:-1]) != tuple(key_shape[1:-1]):
            raise ValueError(
                "All dimensions of `value` and `key`, except the last one, must be equal. Received: "
                f"value_shape={value_shape} and key_shape={key_shape}"
            )
        self._query_dense = self._in_projection(query_shape, self.key_dim, "query")
        self._key_dense = self._in_projection(key_shape, self.key_dim, "key")
        self._gate_dense = None
        if self.use_gate:
            self._gate_dense = self._in_projection(query_shape, self.value_dim, "gate", "sigmoid")
        self._value_dense = self._in_projection(value_shape, self.value_dim, "value")
        rank = len(query_shape)
        if self.attention_axes is None:
            self.attention_axes = tuple(range(1, rank - 1))
        self.attention_axes = tuple(axis % rank for axis in self.attention_axes)
        self._make_inner(len(self.attention_axes))
        output_shape = self._output_shape or (query_shape[-1],)
        equation, new, out_rank = _projection_equation(rank - 2, 2, len(output_shape))
        shape = [None] * (out_rank - 1 - len(output_shape)) + list(output_shape)
        self._output_dense = self._projection(equation, shape, new, "attention_output")
        self._output_dense.build((*query_shape[:-1], self.num_heads, self.value_dim))

    def _in_projection(self, shape, size, name, activation=None):
        equation, new, rank = _projection_equation(len(shape) - 2, 1, 2)
        layer = self._projection(equation, [None] * (rank - 3) + [self.num_heads, size], new, name, activation)
        layer.build(shape)
        return layer

    def call(self, query, value, key=None, query_mask=None, value_mask=None, key_mask=None, attention_mask=None,
             return_attention_scores=False, training=None, use_causal_mask=False):  # fmt: skip
        key = value if key is None else key
        query_mask = getattr(query, "_keras_mask", None)  # Keras takes no other
        causal = self._only_causal(use_causal_mask, query_mask, value_mask, key_mask, attention_mask)
        mask = None
        if not causal:
            mask = self._merged_mask(query, value, query_mask, value_mask, key_mask, attention_mask, use_causal_mask)
        gate = None if self._gate_dense is None else self._gate_dense(query)
        heads = self._query_dense(query), self._key_dense(key), self._value_dense(value)
        scale = 1 / math.sqrt(self.key_dim)
        out, scores = self._attend(*heads, mask, causal, scale, return_attention_scores, training)
        out = self._output_dense(out if gate is None else out * gate)
        return (out, scores) if return_attention_scores else out

    # By these names files of weights know the projections.
    query_dense = property(lambda self: self._query_dense)
    key_dense = property(lambda self: self._key_dense)
    value_dense = property(lambda self: self._value_dense)
    output_dense = property(lambda self: self._output_dense)

    def compute_mask(self, query, previous_mask=None):
        return previous_mask

    @property
    def output_shape(self):
        return self._output_shape


class GroupedQueryAttention(_Heads):
    """Attention whose heads of keys and values are shared by groups of query heads."""

    _keras_class_name = "GroupQueryAttention"  # what files call it

    def __init__(self, head_dim, num_query_heads, num_key_value_heads, dropout=0.0, use_bias=True, sliding_window=None,
                 flash_attention=None, kernel_initializer="glorot_uniform", bias_initializer="zeros",
                 kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
                 bias_constraint=None, use_gate=False, seed=None, **kwargs):  # fmt: skip
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        if num_query_heads % num_key_value_heads:
            raise ValueError("`num_query_heads` must be divisible by `num_key_value_heads`, "
                             f"got {num_query_heads} and {num_key_value_heads}.")  # fmt: skip
        self._keep(head_dim=head_dim, num_query_heads=num_query_heads, num_key_value_heads=num_key_value_heads,
                   dropout=dropout, use_bias=use_bias, sliding_window=sliding_window, flash_attention=flash_attention,
                   kernel_initializer=kernel_initializer, bias_initializer=bias_initializer,
                   kernel_regularizer=kernel_regularizer, bias_regularizer=bias_regularizer,
                   kernel_constraint=kernel_constraint, bias_constraint=bias_constraint, use_gate=use_gate, seed=seed)  # fmt: skip
        self._check_window(sliding_window)
        self.supports_masking = True

    def build(self, query_shape, value_shape, key_shape=None):
        self._query_dense = self._in_projection(query_shape, self.num_query_heads, "query")
        self._key_dense = self._in_projection(key_shape or value_shape, self.num_key_value_heads, "key")
        self._gate_dense = None  # before the value's, as get_weights of Keras has it
        if self.use_gate:
            self._gate_dense = self._in_projection(query_shape, self.num_query_heads, "gate", "sigmoid")
        self._value_dense = self._in_projection(value_shape, self.num_key_value_heads, "value")
        self._make_inner()
        self._output_dense = self._projection("bquh,uhm->bqm", (None, query_shape[-1]), "m", "attention_output")
        self._output_dense.build((query_shape[0], query_shape[1], self.num_query_heads, self.head_dim))

    def _in_projection(self, shape, heads, name, activation=None):
        layer = self._projection("bqm,muh->bquh", (None, heads, self.head_dim), "uh", name, activation)
        layer.build(shape)
        return layer

    def call(self, query, value, key=None, query_mask=None, value_mask=None, key_mask=None, attention_mask=None,
             return_attention_scores=False, training=None, use_causal_mask=False):  # fmt: skip
        key = value if key is None else key
        causal = self._only_causal(use_causal_mask, query_mask, value_mask, key_mask, attention_mask)
        mask = None
        if not causal:
            mask = self._merged_mask(query, value, query_mask, value_mask, key_mask, attention_mask, use_causal_mask)
        gate = None if self._gate_dense is None else self._gate_dense(query)
        times = self.num_query_heads // self.num_key_value_heads
        keys, values = (_arrays.repeat(x, times, 2) for x in (self._key_dense(key), self._value_dense(value)))
        scale = 1 / math.sqrt(self.head_dim)
        out, scores = self._attend(self._query_dense(query), keys, values, mask, causal, scale, return_attention_scores, training)
        out = self._output_dense(out if gate is None else out * gate)
        return (out, scores) if return_attention_scores else out
