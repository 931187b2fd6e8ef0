"""keras.layers.EinsumDense."""
import re

from ... import _ops
from ..._einsum import einsum
from .._engine.input_spec import InputSpec
from ._configured import ConfiguredLayer, refuse


class _Shapes:
    """What an equation says about kernel, bias and output for an input of a shape."""

    def __init__(self, equation, bias_axes, input_shape, output_shape):
        match = re.fullmatch(r"(\.\.\.)?([a-zA-Z]+)(\.\.\.)?,([a-zA-Z]+)->(\.\.\.)?([a-zA-Z]+)(\.\.\.)?", equation.replace(" ", ""))
        if not match or match[1] != match[5] or match[3] != match[7] or match[1] and match[3]:
            raise ValueError(
                f"Invalid einsum equation '{equation}'. Equations must be in the form [X],[Y]->[Z], ...[X],[Y]->...[Z], "
                "or [X]...,[Y]->[Z]...."
            )
        self._inputs, self._weights, self._outputs = match[2], match[4], match[6]
        left, hidden = bool(match[1]), len(input_shape) - len(self._inputs)
        given = [output_shape] if isinstance(output_shape, int) else list(output_shape)
        before, after = ([], [])
        if hidden > 0:
            before, after = (list(input_shape[1:hidden]), []) if left else ([], list(input_shape[-hidden:]))
        self.output = [input_shape[0], *before, *given, *after]
        first = max(hidden, 0) if left else 0
        self._of_input = {c: input_shape[first + i] for i, c in enumerate(self._inputs)}
        for i, c in enumerate(self._outputs):  # sizes left open come from the input
            if self.output[first + i] is None:
                self.output[first + i] = self._of_input.get(c)
        self._of_output = {c: self.output[first + i] for i, c in enumerate(self._outputs)}
        self._check()
        self.kernel = [self._of_output.get(c, self._of_input.get(c)) for c in self._weights]
        self.input_axes = [i for i, c in enumerate(self._weights) if c not in self._of_output]
        self.output_axes = [i for i, c in enumerate(self._weights) if c in self._of_output]
        self.bias = self._bias(bias_axes, 0 if left else max(hidden, 0))

    def _check(self):
        for c, size in self._of_input.items():
            out = self._of_output.get(c)
            if out is not None and out != size:
                raise ValueError(
                    f"Input shape and output shape do not match at shared dimension '{c}'. Input shape is {size}, and "
                    f"output shape is {out}."
                )
        for c in self._outputs:
            if c not in self._inputs and c not in self._weights:
                raise ValueError(
                    f"Dimension '{c}' was specified in the output '{self._outputs}' but has no corresponding dim in the "
                    f"input spec '{self._inputs}' or weight spec '{self._weights}'"
                )
        for c in self._weights:
            if c not in self._of_input and c not in self._of_output:
                raise ValueError(
                    f"Weight dimension '{c}' did not have a match in either the input spec '{self._inputs}' or the output "
                    f"spec '{self._outputs}'. For this layer, the weight must be fully specified."
                )

    def _bias(self, axes, trailing):
        if axes is None:
            return None
        for c in axes:
            if c not in self._outputs:
                raise ValueError(f"Bias dimension '{c}' was requested, but is not part of the output spec '{self._outputs}'")
        used = self._outputs[min(self._outputs.find(c) for c in axes) :]
        return [self._of_output[c] if c in axes else 1 for c in used] + [1] * trailing


class EinsumDense(ConfiguredLayer):
    """activation(einsum(equation, inputs, kernel) + bias)"""

    _computes_in_floats = True

    _writes_activity_regularizer = True

    def __init__(self, equation, output_shape, activation=None, bias_axes=None, kernel_initializer="glorot_uniform",
                 bias_initializer="zeros", kernel_regularizer=None, bias_regularizer=None, kernel_constraint=None,
                 bias_constraint=None, lora_rank=None, lora_alpha=None, gptq_unpacked_column_size=None,
                 quantization_config=None, **kwargs):  # fmt: skip
        super().__init__(**kwargs)
        refuse(self, lora_rank=lora_rank, lora_alpha=lora_alpha, quantization_config=quantization_config,
               gptq_unpacked_column_size=gptq_unpacked_column_size)  # fmt: skip
        self.partial_output_shape = (output_shape,) if isinstance(output_shape, int) else tuple(output_shape)
        self._keep(equation=equation, activation=activation, bias_axes=bias_axes, kernel_initializer=kernel_initializer,
                   bias_initializer=bias_initializer, kernel_regularizer=kernel_regularizer,
                   bias_regularizer=bias_regularizer, kernel_constraint=kernel_constraint,
                   bias_constraint=bias_constraint)  # fmt: skip

    def _shapes(self, input_shape):
        return _Shapes(self.equation, self.bias_axes, input_shape, self.partial_output_shape)

    def build(self, input_shape):
        shapes = self._shapes(input_shape)
        self.kernel = self.add_weight(tuple(shapes.kernel), self._kernel_initializer(shapes), name="kernel",
                                      regularizer=self.kernel_regularizer, constraint=self.kernel_constraint)  # fmt: skip
        self.bias = None
        if shapes.bias is not None:
            self.bias = self.add_weight(tuple(shapes.bias), self.bias_initializer, name="bias",
                                        regularizer=self.bias_regularizer, constraint=self.bias_constraint)  # fmt: skip
        self.input_spec = InputSpec(ndim=len(input_shape))

    def _kernel_initializer(self, shapes):
        """Initializers that count fans are told which axes are inputs and which are outputs."""
        initializer = self.kernel_initializer
        if getattr(initializer, "input_axes", 0) is not None and getattr(initializer, "output_axes", 0) is not None:
            return initializer
        axes = {"input_axes": shapes.input_axes, "output_axes": shapes.output_axes}
        return type(initializer).from_config({**initializer.get_config(), **axes})

    def call(self, inputs, training=None):
        out = einsum(self.equation, inputs, self.kernel)
        if self.bias is not None:
            out = out + _ops.cast(self.bias, out.dtype)
        return self.activation(out)

    def compute_output_shape(self, input_shape):
        return tuple(self._shapes(input_shape).output)

    @property
    def output_shape(self):
        return self.partial_output_shape
