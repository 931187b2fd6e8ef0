"""keras.layers.EinsumDense."""
import re

from ... import _ops
from ..._einsum import einsum
from .._engine.input_spec import InputSpec
from ._adapted import AdaptedLayer
from ._configured import refuse


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
        self.contracted_axes = tuple(first + i for i, c in enumerate(self._inputs) if c not in self._of_output)
        kept = [c for c in self._weights if c in self._of_output]
        self.scale_order = [kept.index(c) for c in self._outputs if c in kept]
        hidden_ones = [1] * max(hidden, 0)
        scale = [self._of_output[c] if c in kept else 1 for c in self._outputs]
        self.scale = tuple(hidden_ones + scale if left else scale + hidden_ones)  # one for each output, as the output lies

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


class EinsumDense(AdaptedLayer):
    """activation(einsum(equation, inputs, kernel) + bias)"""

    _config_first = ("output_shape",)

    _computes_in_floats = True
    _weight_name = "kernel"
    _writes_activity_regularizer = True

    def __init__(self, equation, output_shape, activation=None, bias_axes=None, kernel_initializer="glorot_uniform",
                 bias_initializer="zeros", kernel_regularizer=None, bias_regularizer=None, kernel_constraint=None,
                 bias_constraint=None, lora_rank=None, lora_alpha=None, gptq_unpacked_column_size=None,
                 quantization_config=None, **kwargs):  # fmt: skip
        super().__init__(**kwargs)
        refuse(self, gptq_unpacked_column_size=gptq_unpacked_column_size)
        self._adapt(lora_rank, lora_alpha, quantization_config)
        self.partial_output_shape = (output_shape,) if isinstance(output_shape, int) else tuple(output_shape)
        self._keep(equation=equation, activation=activation, bias_axes=bias_axes, kernel_initializer=kernel_initializer,
                   bias_initializer=bias_initializer, kernel_regularizer=kernel_regularizer,
                   bias_regularizer=bias_regularizer, kernel_constraint=kernel_constraint,
                   bias_constraint=bias_constraint)  # fmt: skip

    def _shapes(self, input_shape):
        return _Shapes(self.equation, self.bias_axes, input_shape, self.partial_output_shape)

    def build(self, input_shape):
        shapes = self._shapes(input_shape)
        self._built_shapes = shapes
        self._add_weight_of_layer(tuple(shapes.kernel), self._kernel_initializer(shapes))
        self.bias = None
        if shapes.bias is not None:
            self.bias = self.add_weight(tuple(shapes.bias), self.bias_initializer, name="bias",
                                        regularizer=self.bias_regularizer, constraint=self.bias_constraint)  # fmt: skip
        self.input_spec = InputSpec(ndim=len(input_shape))
        self._finish_build()

    def _kernel_initializer(self, shapes):
        """Initializers that count fans are told which axes are inputs and which are outputs."""
        initializer = self.kernel_initializer
        if getattr(initializer, "input_axes", 0) is not None and getattr(initializer, "output_axes", 0) is not None:
            return initializer
        axes = {"input_axes": shapes.input_axes, "output_axes": shapes.output_axes}
        return type(initializer).from_config({**initializer.get_config(), **axes})

    def call(self, inputs, training=None):
        out = self._product(inputs, lambda x, kernel: einsum(self.equation, x, kernel), self._built_shapes.contracted_axes)
        if self.bias is not None:
            out = out + _ops.cast(self.bias, out.dtype)
        return self._activated(out)

    # --- int8: Keras lays the scale out as the output lies. ---

    def _reduced_axes(self):
        return tuple(self._built_shapes.input_axes)

    def _scale_shape(self, shape):
        return self._built_shapes.scale

    def _stored_scale(self, scale):
        return _ops.transpose(_ops.squeeze(scale, self._reduced_axes()), self._built_shapes.scale_order)

    def _scale_for_weight(self):
        shapes = self._built_shapes
        kept = [shapes.kernel[axis] for axis in shapes.output_axes]
        lying = _ops.reshape(self.kernel_scale, [kept[axis] for axis in shapes.scale_order])
        back = sorted(range(len(kept)), key=lambda axis: shapes.scale_order[axis])
        sizes = [1 if axis in shapes.input_axes else n for axis, n in enumerate(shapes.kernel)]
        return _ops.reshape(_ops.transpose(lying, back), sizes)

    def compute_output_shape(self, input_shape):
        return tuple(self._shapes(input_shape).output)

    @property
    def output_shape(self):
        return self.partial_output_shape
