"""keras.layers.BatchNormalization."""
import math

from ... import _network, _ops, _replica
from .._engine.floats import epsilon
from .._engine.input_spec import InputSpec
from ._configured import ConfiguredLayer, refuse


class BatchNormalization(ConfiguredLayer):
    """By the mean and variance of the batch while training, by the moving ones else."""

    _computes_in_floats = True

    def __init__(self, axis=-1, momentum=0.99, epsilon=0.001, center=True, scale=True, beta_initializer="zeros",
                 gamma_initializer="ones", moving_mean_initializer="zeros", moving_variance_initializer="ones",
                 beta_regularizer=None, gamma_regularizer=None, beta_constraint=None, gamma_constraint=None,
                 renorm=False, renorm_clipping=None, renorm_momentum=0.99, synchronized=False, **kwargs):  # fmt: skip
        super().__init__(**kwargs)
        if not isinstance(axis, int):
            raise TypeError(f"BatchNormalization: axis must be an integer, got {axis!r}")
        refuse(self, renorm=renorm or None, renorm_clipping=renorm_clipping)
        self._keep(axis=axis, momentum=float(momentum), epsilon=float(epsilon), center=center, scale=scale,
                   beta_initializer=beta_initializer, gamma_initializer=gamma_initializer,
                   moving_mean_initializer=moving_mean_initializer,
                   moving_variance_initializer=moving_variance_initializer, beta_regularizer=beta_regularizer,
                   gamma_regularizer=gamma_regularizer, beta_constraint=beta_constraint,
                   gamma_constraint=gamma_constraint, renorm=renorm, renorm_clipping=renorm_clipping,
                   renorm_momentum=renorm_momentum, synchronized=synchronized)  # fmt: skip
        self.supports_masking = True

    def build(self, input_shape):
        rank = len(input_shape)
        if not -rank <= self.axis < rank:
            raise ValueError(f"Invalid axis: {self.axis}. Input to layer '{self.name}' has shape {tuple(input_shape)}.")
        size = input_shape[self.axis]
        if size is None:
            raise ValueError(f"Axis {self.axis} of input tensor should have a defined dimension but the layer received an input with shape {tuple(input_shape)}.")
        self.gamma = self.beta = None
        if self.scale:
            self.gamma = self.add_weight((size,), self.gamma_initializer, name="gamma",
                                         regularizer=self.gamma_regularizer, constraint=self.gamma_constraint)  # fmt: skip
        if self.center:
            self.beta = self.add_weight((size,), self.beta_initializer, name="beta",
                                        regularizer=self.beta_regularizer, constraint=self.beta_constraint)  # fmt: skip
        self.moving_mean = self.add_weight((size,), self.moving_mean_initializer, name="moving_mean", trainable=False, autocast=False)
        self.moving_variance = self.add_weight((size,), self.moving_variance_initializer, name="moving_variance", trainable=False, autocast=False)
        self.input_spec = InputSpec(ndim=rank, axes={self.axis: size})

    def call(self, inputs, training=None, mask=None):
        x, order = self._features_last(inputs)
        if x.dtype.name in ("float16", "bfloat16"):  # the sums would overflow
            x = _ops.cast(x, "float32")
        if not training or not self.trainable:
            gamma, beta = (None if v is None else _ops.cast(v, x.dtype) for v in (self.gamma, self.beta))
            out = _network.batch_normalization(x, self.moving_mean, self.moving_variance, beta, gamma, self.epsilon)
        elif mask is None and not self._shares_moments():
            out, mean, variance = _network.batch_normalization_training(x, *self._scale_and_offset(x), self.epsilon)
            self._update(mean, variance)
        else:
            mean, variance = self._moments(x, mask, order)
            self._update(mean, variance)
            gamma, beta = self._scale_and_offset(x)
            out = _network.batch_normalization(x, mean, variance, beta, gamma, self.epsilon)
        if order is not None:
            out = _ops.transpose(out, [order.index(i) for i in range(len(order))])
        return _ops.cast(out, inputs.dtype) if out.dtype != inputs.dtype else out

    def _features_last(self, x):
        """x with the normalized axis at the end, and the order of the axes, or None where it stood there."""
        axis = self.axis % x.ndim
        if axis == x.ndim - 1:
            return x, None
        order = [i for i in range(x.ndim) if i != axis] + [axis]
        return _ops.transpose(x, order), order

    def _scale_and_offset(self, x):
        size = x.shape[-1]
        gamma = _ops.ones([size], x.dtype) if self.gamma is None else _ops.cast(self.gamma, x.dtype)
        beta = _ops.zeros([size], x.dtype) if self.beta is None else _ops.cast(self.beta, x.dtype)
        return gamma, beta

    def _shares_moments(self):
        """Whether mean and variance are those of the rows of all replicas."""
        return self.synchronized and _replica.current() is not None

    def _moments(self, x, mask, order):
        weights = None
        if mask is not None:
            weights = _ops.expand_dims(_ops.cast(mask, x.dtype), -1)
            weights = weights if order is None else _ops.transpose(weights, order)
        sum_all = _replica.current().all_reduce if self._shares_moments() else (lambda op, value: value)
        return _moments(x, weights, lambda value: sum_all("SUM", value))

    def _update(self, mean, variance):
        replica = _replica.current()
        if replica is None:
            self._assign_moving(mean, variance)
        else:
            replica.update_together(self._assign_moving, (mean, variance))

    def _assign_moving(self, mean, variance):
        for moving, now in ((self.moving_mean, mean), (self.moving_variance, variance)):
            moving.assign(moving * self.momentum + _ops.cast(now, moving.dtype) * (1.0 - self.momentum))

    def compute_output_shape(self, input_shape):
        return input_shape


def _moments(x, weights, sum_all):
    """Mean and variance of the features; over what has the weight 1 and not 0, where weights are given."""
    axes = list(range(x.ndim - 1))
    if weights is None:
        spread, count = None, _ops.fill([x.shape[-1]], _ops.cast(float(math.prod(x.shape[:-1])), x.dtype))
    else:
        spread = _ops.broadcast_to(weights, x.shape)
        count = _ops.reduce_sum(spread, axes) + epsilon()
    total, count = sum_all([_ops.reduce_sum(x if spread is None else x * spread, axes), count])
    mean = total / count
    distance = x - mean if spread is None else (x - mean) * spread
    return mean, sum_all(_ops.reduce_sum(distance * distance, axes)) / count
