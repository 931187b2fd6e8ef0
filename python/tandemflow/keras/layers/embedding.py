"""keras.layers.Embedding and Masking: where masks begin."""
import warnings

from ... import _ops
from .. import ops
from ._adapted import AdaptedLayer
from ._configured import ConfiguredLayer


class Embedding(AdaptedLayer):
    """A learnt row for each number below input_dim."""

    _makes_masks = True
    _weight_name = "embeddings"
    _writes_activity_regularizer = True

    def __init__(self, input_dim, output_dim, embeddings_initializer="uniform", embeddings_regularizer=None,
                 embeddings_constraint=None, mask_zero=False, weights=None, lora_rank=None, lora_alpha=None,
                 quantization_config=None, **kwargs):  # fmt: skip
        if kwargs.pop("input_length", None) is not None:
            warnings.warn("Argument `input_length` is deprecated. Just remove it.", stacklevel=2)
        super().__init__(**kwargs)
        self._adapt(lora_rank, lora_alpha, quantization_config)
        for name, value in (("input_dim", input_dim), ("output_dim", output_dim)):
            if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
                raise ValueError(f"`{name}` must be a positive integer. Received: {name}={value} (of type {type(value).__name__}).")
        self._keep(input_dim=input_dim, output_dim=output_dim, embeddings_initializer=embeddings_initializer,
                   embeddings_regularizer=embeddings_regularizer, embeddings_constraint=embeddings_constraint,
                   mask_zero=mask_zero)  # fmt: skip
        self.supports_masking = mask_zero
        self.autocast = False  # ids are no floats
        if weights is not None:
            self.build()
            self.set_weights(weights if isinstance(weights, list) and len(weights) == 1 else [weights])

    def build(self, input_shape=None):
        if self.built:
            return
        self._add_weight_of_layer((self.input_dim, self.output_dim), self.embeddings_initializer)
        self._finish_build()

    def call(self, inputs):
        if inputs.dtype.name not in ("int32", "int64"):
            inputs = _ops.cast(inputs, "int32")
        rows = _ops.cast(_ops.gather(self._embeddings, inputs), self.compute_dtype)
        if self.quantization_mode == "int8":
            rows = rows / _ops.expand_dims(_ops.gather(self.embeddings_scale, inputs), -1)
        if self.lora_enabled:
            a, b = self._lora_matrices()
            rows = rows + _ops.matmul(_ops.gather(a, inputs), b)
        return rows

    def _reduced_axes(self):
        return (1,)

    def compute_mask(self, inputs, previous_mask=None):
        return ops.not_equal(inputs, 0) if self.mask_zero else None

    def compute_output_shape(self, input_shape):
        return (*input_shape, self.output_dim)


class Masking(ConfiguredLayer):
    """Steps whose features all equal mask_value are skipped by what follows."""

    _makes_masks = True

    def __init__(self, mask_value=0.0, **kwargs):
        super().__init__(**kwargs)
        self.mask_value = mask_value
        self.supports_masking = True
        self.built = True

    def compute_mask(self, inputs, previous_mask=None):
        return ops.any(ops.not_equal(inputs, self.mask_value), axis=-1)

    def _differs(self, inputs):
        return _ops.not_equal(inputs, _ops.cast(self.mask_value, inputs.dtype))

    def call(self, inputs):
        kept = _ops.reduce_any(self._differs(inputs), -1, True)
        return _ops.where(kept, inputs, _ops.zeros_like(inputs))

    def compute_output_shape(self, input_shape):
        return input_shape
