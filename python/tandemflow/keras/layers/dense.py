"""keras.layers.Dense."""
from ... import _ops
from .._engine.input_spec import InputSpec
from ._adapted import AdaptedLayer


class Dense(AdaptedLayer):
    """activation(inputs @ kernel + bias), over the last axis."""

    _computes_in_floats = True
    _weight_name = "kernel"

    def __init__(self, units, activation=None, use_bias=True, kernel_initializer="glorot_uniform", bias_initializer="zeros",
                 kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
                 bias_constraint=None, lora_rank=None, lora_alpha=None, quantization_config=None, **kwargs):  # fmt: skip
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self._adapt(lora_rank, lora_alpha, quantization_config)
        if not isinstance(units, int) or units <= 0:
            raise ValueError(f"Received an invalid value for `units`, expected a positive integer. Received: units={units}")
        self._keep(units=units, activation=activation, use_bias=use_bias, kernel_initializer=kernel_initializer,
                   bias_initializer=bias_initializer, kernel_regularizer=kernel_regularizer,
                   bias_regularizer=bias_regularizer, kernel_constraint=kernel_constraint,
                   bias_constraint=bias_constraint)  # fmt: skip
        self.input_spec = InputSpec(min_ndim=2)
        self.supports_masking = True

    def build(self, input_shape):
        self._add_weight_of_layer((input_shape[-1], self.units), self.kernel_initializer)
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight((self.units,), self.bias_initializer, name="bias",
                                        regularizer=self.bias_regularizer, constraint=self.bias_constraint)  # fmt: skip
        self.input_spec = InputSpec(min_ndim=2, axes={-1: input_shape[-1]})
        self._finish_build()

    def call(self, inputs, training=None):
        rows = inputs
        if inputs.ndim > 2:
            rows = _ops.reshape(inputs, [-1, inputs.shape[-1]])
        out = self._product(rows, _ops.matmul, -1)
        if self.bias is not None:
            out = _ops.bias_add(out, self.bias)
        if inputs.ndim > 2:
            out = _ops.reshape(out, [*inputs.shape.as_list()[:-1], self.units])
        return self._activated(out)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.units)
