"""keras.layers.LayerNormalization, GroupNormalization, UnitNormalization and RMSNormalization."""
from ... import _arrays, _network, _ops
from .._engine.input_spec import InputSpec
from ._configured import ConfiguredLayer


def _moments(x, axes):
    mean = _ops.reduce_mean(x, axes, True)
    return mean, _ops.reduce_mean(_ops.square(x - mean), axes, True)


def _axes(axis, rank):
    """The axes counted from the front, in the order given."""
    return [a % rank for a in (axis if isinstance(axis, (list, tuple)) else [axis])]


class _Scaled(ConfiguredLayer):
    """Normalization with a scale `gamma` and an offset `beta`."""

    _computes_in_floats = True

    def _add_gamma_and_beta(self, shape):
        self.gamma = self.beta = None
        if self.scale:
            self.gamma = self.add_weight(shape, self.gamma_initializer, name="gamma",
                                         regularizer=self.gamma_regularizer, constraint=self.gamma_constraint)  # fmt: skip
        if self.center:
            self.beta = self.add_weight(shape, self.beta_initializer, name="beta",
                                        regularizer=self.beta_regularizer, constraint=self.beta_constraint)  # fmt: skip

    def _scaled(self, x, shape):
        """x * gamma + beta, both under a shape that broadcasts."""
        if self.gamma is not None:
            x = x * _ops.cast(_ops.reshape(self.gamma, shape), x.dtype)
        if self.beta is not None:
            x = x + _ops.cast(_ops.reshape(self.beta, shape), x.dtype)
        return x


class LayerNormalization(_Scaled):
    """Each sample by its own mean and variance over the axes."""

    def __init__(self, axis=-1, epsilon=0.001, center=True, scale=True, beta_initializer="zeros",
                 gamma_initializer="ones", beta_regularizer=None, gamma_regularizer=None, beta_constraint=None,
                 gamma_constraint=None, **kwargs):  # fmt: skip
        self.rms_scaling = kwargs.pop("rms_scaling", False)
        super().__init__(**kwargs)
        if not isinstance(axis, (int, list, tuple)):
            raise TypeError(f"Expected an int or a list/tuple of ints for the argument 'axis', but received: {axis!r}")
        self._keep(axis=axis if isinstance(axis, int) else list(axis), epsilon=epsilon, center=center, scale=scale,
                   beta_initializer=beta_initializer, gamma_initializer=gamma_initializer,
                   beta_regularizer=beta_regularizer, gamma_regularizer=gamma_regularizer,
                   beta_constraint=beta_constraint, gamma_constraint=gamma_constraint)  # fmt: skip
        self.supports_masking = True

    def build(self, input_shape):
        self.axis = sorted(self.axis) if isinstance(self.axis, list) else [self.axis]
        shape = tuple(input_shape[a] for a in self.axis)
        if self.rms_scaling:
            self.beta, self.gamma = None, self.add_weight(shape, self.gamma_initializer, name="gamma")
        else:
            self._add_gamma_and_beta(shape)

    def call(self, inputs):
        x = _ops.cast(inputs, "float32") if inputs.dtype.name in ("float16", "bfloat16") else inputs
        axes = _axes(self.axis, x.ndim)
        if not self.rms_scaling and axes == list(range(x.ndim - len(axes), x.ndim)):
            out = _network.layer_normalization(x, *self._gamma_and_beta(x, axes), self.epsilon)
        else:
            mean, variance = _moments(x, axes)
            shape = [size if i in axes else 1 for i, size in enumerate(x.shape.as_list())]
            out = self._scaled((x if self.rms_scaling else x - mean) * _ops.rsqrt(variance + self.epsilon), shape)
        return out if out.dtype == inputs.dtype else _ops.cast(out, inputs.dtype)

    def _gamma_and_beta(self, x, axes):
        shape = [x.shape[a] for a in axes]
        gamma = _ops.ones(shape, x.dtype) if self.gamma is None else _ops.cast(self.gamma, x.dtype)
        beta = _ops.zeros(shape, x.dtype) if self.beta is None else _ops.cast(self.beta, x.dtype)
        return gamma, beta

    def get_config(self):
        return {**super().get_config(), "rms_scaling": self.rms_scaling}

    def compute_output_shape(self, input_shape):
        return input_shape


class GroupNormalization(_Scaled):
    """Each group of channels of each sample by its own mean and variance; groups=-1 is a group a channel."""

    def __init__(self, groups=32, axis=-1, epsilon=0.001, center=True, scale=True, beta_initializer="zeros",
                 gamma_initializer="ones", beta_regularizer=None, gamma_regularizer=None, beta_constraint=None,
                 gamma_constraint=None, **kwargs):  # fmt: skip
        super().__init__(**kwargs)
        self._keep(groups=groups, axis=axis, epsilon=epsilon, center=center, scale=scale,
                   beta_initializer=beta_initializer, gamma_initializer=gamma_initializer,
                   beta_regularizer=beta_regularizer, gamma_regularizer=gamma_regularizer,
                   beta_constraint=beta_constraint, gamma_constraint=gamma_constraint)  # fmt: skip
        self.supports_masking = True

    def build(self, input_shape):
        size = input_shape[self.axis]
        if size is None:
            raise ValueError(f"Axis {self.axis} of input tensor should have a defined dimension but the layer received an input with shape {tuple(input_shape)}.")
        if self.groups == -1:
            self.groups = size
        if size < self.groups:
            raise ValueError(f"Number of groups ({self.groups}) cannot be more than the number of channels ({size}).")
        if size % self.groups:
            raise ValueError(f"The number of channels ({size}) must be a multiple of the number of groups ({self.groups}).")
        self._add_gamma_and_beta((size,))
        self.input_spec = InputSpec(ndim=len(input_shape), axes={self.axis: size})

    def call(self, inputs):
        x = _ops.cast(inputs, "float32") if inputs.dtype.name in ("float16", "bfloat16") else inputs
        sizes, axis = x.shape.as_list(), self.axis % x.ndim
        grouped = _ops.reshape(x, [*sizes[:axis], self.groups, sizes[axis] // self.groups, *sizes[axis + 1 :]])
        mean, variance = _moments(grouped, [i for i in range(1, grouped.ndim) if i != axis])
        normal = _ops.reshape((grouped - mean) * _ops.rsqrt(variance + self.epsilon), sizes)
        out = self._scaled(normal, [size if i == axis else 1 for i, size in enumerate(sizes)])
        return out if out.dtype == inputs.dtype else _ops.cast(out, inputs.dtype)

    def compute_output_shape(self, input_shape):
        return input_shape


class UnitNormalization(ConfiguredLayer):
    """Each sample divided by its length over the axes."""

    def __init__(self, axis=-1, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(axis, (int, list, tuple)):
            raise TypeError(f"Invalid value for `axis` argument: expected an int or a list/tuple of ints. Received: axis={axis}")
        self.axis = axis if isinstance(axis, int) else list(axis)
        self.supports_masking = True
        self.built = True

    def call(self, inputs):
        return _arrays.l2_normalize(inputs, self.axis, 1e-24)

    def compute_output_shape(self, input_shape):
        return input_shape


class RMSNormalization(ConfiguredLayer):
    """Each sample divided by the root of its mean square over the axes, times `scale`."""

    _computes_in_floats = True

    def __init__(self, axis=-1, epsilon=1e-6, **kwargs):
        super().__init__(**kwargs)
        self.axis, self.epsilon = axis if isinstance(axis, int) else list(axis), epsilon

    def build(self, input_shape):
        self.axis = sorted(self.axis) if isinstance(self.axis, list) else [self.axis]
        shape = tuple(input_shape[a] for a in self.axis)
        self.scale = self.add_weight(shape, "ones", name="scale")

    def call(self, inputs):
        axes = _axes(self.axis, inputs.ndim)
        shape = [size if i in axes else 1 for i, size in enumerate(inputs.shape.as_list())]
        inverse = _ops.rsqrt(_ops.reduce_mean(_ops.square(inputs), axes, True) + self.epsilon)
        return inputs * inverse * _ops.cast(_ops.reshape(self.scale, shape), inputs.dtype)

    def compute_output_shape(self, input_shape):
        return input_shape
