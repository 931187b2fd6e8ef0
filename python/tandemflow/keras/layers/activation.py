"""keras.layers.Activation, ReLU, LeakyReLU, PReLU, ELU and Softmax."""
from ... import _ops
from .. import activations
from .._engine.input_spec import InputSpec
from ._configured import ConfiguredLayer


class _Elementwise(ConfiguredLayer):
    def _ready(self):
        self.supports_masking = True
        self.built = True

    def compute_output_shape(self, input_shape):
        return input_shape


class Activation(_Elementwise):
    """An activation function as a layer."""

    def __init__(self, activation, **kwargs):
        super().__init__(**kwargs)
        self._keep(activation=activation)
        self._ready()

    def call(self, inputs):
        return self._activated(inputs)


class ReLU(_Elementwise):
    """max(x, 0), with slopes and bounds."""

    def __init__(self, max_value=None, negative_slope=0.0, threshold=0.0, **kwargs):
        negative_slope = kwargs.pop("alpha", negative_slope)
        super().__init__(**kwargs)
        for name, value in (("max_value", max_value), ("negative_slope", negative_slope), ("threshold", threshold)):
            if value is None and name != "max_value" or value is not None and value < 0:
                raise ValueError(f"{name} of a ReLU layer cannot be a negative value. Received: {name}={value}")
        self.max_value, self.negative_slope, self.threshold = max_value, negative_slope, threshold
        self._ready()

    def call(self, inputs):
        return activations.relu(inputs, self.negative_slope, self.max_value, self.threshold)


class LeakyReLU(_Elementwise):
    """x where it is positive, else negative_slope * x."""

    def __init__(self, negative_slope=0.3, **kwargs):
        negative_slope = kwargs.pop("alpha", negative_slope)
        super().__init__(**kwargs)
        if negative_slope is None or negative_slope < 0:
            raise ValueError(
                "The negative_slope value of a Leaky ReLU layer cannot be None or negative value. Expected a float. "
                f"Received: negative_slope={negative_slope}"
            )
        self.negative_slope = negative_slope
        self._ready()

    def call(self, inputs):
        return activations.leaky_relu(inputs, self.negative_slope)


class PReLU(ConfiguredLayer):
    """x where it is positive, else alpha * x, alpha being learnt."""

    def __init__(self, alpha_initializer="Zeros", alpha_regularizer=None, alpha_constraint=None, shared_axes=None, **kwargs):
        super().__init__(**kwargs)
        self._keep(alpha_initializer=alpha_initializer, alpha_regularizer=alpha_regularizer,
                   alpha_constraint=alpha_constraint)  # fmt: skip
        self.shared_axes = [shared_axes] if isinstance(shared_axes, int) else shared_axes and list(shared_axes)
        self.supports_masking = True

    def build(self, input_shape):
        shape = list(input_shape[1:])
        for axis in self.shared_axes or ():
            shape[axis - 1] = 1
        self.alpha = self.add_weight(tuple(shape), self.alpha_initializer, name="alpha",
                                     regularizer=self.alpha_regularizer, constraint=self.alpha_constraint)  # fmt: skip
        axes = {i: input_shape[i] for i in range(1, len(input_shape)) if i not in (self.shared_axes or ())}
        self.input_spec = InputSpec(ndim=len(input_shape), axes=axes)

    def call(self, inputs):
        return _ops.relu(inputs) - self.alpha * _ops.relu(-inputs)

    def compute_output_shape(self, input_shape):
        return input_shape


class ELU(_Elementwise):
    """x where it is positive, else alpha * (exp(x) - 1)."""

    def __init__(self, alpha=1.0, **kwargs):
        super().__init__(**kwargs)
        self.alpha = alpha
        self._ready()

    def call(self, inputs):
        return activations.elu(inputs, self.alpha)


class Softmax(_Elementwise):
    """Probabilities over the axis; what the mask leaves out gets none."""

    def __init__(self, axis=-1, **kwargs):
        super().__init__(**kwargs)
        self.axis = axis
        self._ready()

    def call(self, inputs, mask=None):
        if mask is None:
            return activations.softmax(inputs, self.axis)
        if mask.dtype.name != "bool":
            mask = mask > 0.5
        low = -3e4 if inputs.dtype.name == "float16" else -1e9
        out = activations.softmax(_ops.where(mask, inputs, _ops.ones_like(inputs) * low), self.axis)
        return _ops.where(mask, out, _ops.zeros_like(out))
