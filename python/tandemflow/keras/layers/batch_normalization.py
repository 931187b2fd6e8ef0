"""keras.layers.BatchNormalization."""
import math

from ... import _network, _ops, _replica
from .._engine.floats import epsilon
from .._engine.input_spec import InputSpec
from ._configured import ConfiguredLayer


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
        if renorm:
            renorm_clipping = _checked_clipping(renorm_clipping or {})
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
        if self.renorm:
            self._add_renorm_statistics(size)
        self.input_spec = InputSpec(ndim=rank, axes={self.axis: size})

    def _add_renorm_statistics(self, size):
        """Batch renormalization keeps deviations, not variances: those of inference, and those that training compares a batch with."""
        again = lambda initializer: type(initializer).from_config(initializer.get_config())  # noqa: E731  a seed of its own
        deviation = lambda shape, dtype=None: _ops.sqrt(again(self.moving_variance_initializer)(shape, dtype=dtype))  # noqa: E731
        for name, initializer in (("moving_stddev", deviation), ("renorm_mean", again(self.moving_mean_initializer)), ("renorm_stddev", deviation)):
            setattr(self, name, self.add_weight((size,), initializer, name=name, trainable=False, autocast=False))

    def call(self, inputs, training=None, mask=None):
        x, order = self._features_last(inputs)
        if x.dtype.name in ("float16", "bfloat16"):  # the sums would overflow
            x = _ops.cast(x, "float32")
        if not training or not self.trainable:
            mean, variance, gamma, beta = (
                None if v is None else _ops.cast(v, x.dtype) for v in (self.moving_mean, self.moving_variance, self.gamma, self.beta)
            )
            out = _network.batch_normalization(x, mean, variance, beta, gamma, self.epsilon)
        elif mask is None and not self._shares_moments() and not self.renorm:
            out, mean, variance = _network.batch_normalization_training(x, *self._scale_and_offset(x), self.epsilon)
            self._update(mean, variance)
        else:
            mean, variance = self._moments(x, mask, order)
            gamma, beta = self._scale_and_offset(x)
            if self.renorm:
                r, d = self._corrections(mean, variance)
                gamma, beta = r * gamma, d * gamma + beta
            self._update(mean, variance)
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
        if not self.renorm:
            self._move(self.momentum, (self.moving_mean, mean), (self.moving_variance, variance))
            return
        deviation = _ops.sqrt(variance + self.epsilon)
        self._move(self.renorm_momentum, (self.renorm_mean, mean), (self.renorm_stddev, deviation))
        self._move(self.momentum, (self.moving_mean, mean), (self.moving_stddev, deviation))
        self.moving_variance.assign(_ops.relu(_ops.square(self.moving_stddev) - self.epsilon))

    @staticmethod
    def _move(momentum, *pairs):
        for moving, now in pairs:
            moving.assign(moving * momentum + _ops.cast(now, moving.dtype) * (1.0 - momentum))

    def _corrections(self, mean, variance):
        """(r, d): the factor and the offset from a batch's statistics to those of many batches, as constants of the gradient."""
        usual = _ops.maximum(_ops.cast(self.renorm_stddev, mean.dtype), math.sqrt(self.epsilon))
        r = _ops.sqrt(variance + self.epsilon) / usual
        d = (mean - _ops.cast(self.renorm_mean, mean.dtype)) / usual
        bounds = self.renorm_clipping
        r = r if bounds.get("rmin") is None else _ops.maximum(r, bounds["rmin"])
        r = r if bounds.get("rmax") is None else _ops.minimum(r, bounds["rmax"])
        d = d if bounds.get("dmax") is None else _ops.clip_by_value(d, -bounds["dmax"], bounds["dmax"])
        return _ops.stop_gradient(r), _ops.stop_gradient(d)

    def compute_output_shape(self, input_shape):
        return input_shape


def _checked_clipping(bounds):
    known = ("rmax", "rmin", "dmax")
    if set(bounds) - set(known):
        raise ValueError(f"Received invalid keys for `renorm_clipping` argument: {bounds}. Supported values: {known}.")
    rmax, rmin, dmax = (bounds.get(name) for name in known)
    if rmax is not None and rmin is not None and rmax < rmin:
        raise ValueError(f"rmax should be greater than rmin in the `renorm_clipping` argument. Received: rmax={rmax}, rmin={rmin}.")
    if dmax is not None and dmax < 0:
        raise ValueError(f"dmax should be non-negative in the `renorm_clipping` argument. Received: dmax={dmax}.")
    return bounds


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
