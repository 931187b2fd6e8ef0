"""keras.layers.ReversibleEmbedding."""
from ... import _ops
from .embedding import Embedding


class ReversibleEmbedding(Embedding):
    """An embedding that with reverse=True gives logits for each number: by the same matrix, or with tie_weights=False by one of its own."""

    def __init__(self, input_dim, output_dim, tie_weights=True, embeddings_initializer="uniform", embeddings_regularizer=None,
                 embeddings_constraint=None, mask_zero=False, reverse_dtype=None, logit_soft_cap=None, **kwargs):  # fmt: skip
        super().__init__(input_dim, output_dim, embeddings_initializer, embeddings_regularizer, embeddings_constraint, mask_zero, **kwargs)
        self._keep(tie_weights=tie_weights, reverse_dtype=reverse_dtype, logit_soft_cap=logit_soft_cap)

    def build(self, input_shape=None):
        if self.built:
            return
        super().build(input_shape)
        if not self.tie_weights:
            self.reverse_embeddings = self.add_weight((self.output_dim, self.input_dim), self.embeddings_initializer, name="reverse_embeddings")

    def call(self, inputs, reverse=False):
        if not reverse:
            out = super().call(inputs)
            mask = super().compute_mask(inputs)
            if mask is not None:
                out._keras_mask = mask
            return out
        kernel = _ops.transpose(self.embeddings) if self.tie_weights else self.reverse_embeddings
        dtype = self.reverse_dtype or self.compute_dtype
        logits = _ops.matmul(_ops.cast(inputs, dtype), _ops.cast(kernel, dtype))
        return logits if self.logit_soft_cap is None else _ops.tanh(logits / self.logit_soft_cap) * self.logit_soft_cap

    def compute_mask(self, inputs, previous_mask=None):
        return None  # a call sets it, the way there only

    def compute_output_shape(self, input_shape, reverse=False):
        return (*input_shape[:-1], self.input_dim) if reverse else super().compute_output_shape(input_shape)
