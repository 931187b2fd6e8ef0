"""Layers that only training sees: Dropout and its relatives, GaussianNoise."""
import math

from ... import _ops
from ... import random as _random
from ..._network import dropout
from .._engine import data_format as formats
from .._engine.input_spec import InputSpec
from ._configured import ConfiguredLayer


def _checked_rate(rate):
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 <= rate <= 1:
        raise ValueError(f"Invalid value received for argument `rate`. Expected a float value between 0 and 1. Received: rate={rate}")
    return rate


class Dropout(ConfiguredLayer):
    """Zeroes elements with the probability `rate` while training and scales the others up."""

    _config_first = ("rate", "seed")

    def __init__(self, rate, noise_shape=None, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.rate = _checked_rate(rate)
        self.noise_shape, self.seed = noise_shape, seed
        self.supports_masking = True
        self.built = True

    def _noise_shape(self, inputs):
        """None in noise_shape is the size the input has."""
        if self.noise_shape is None:
            return None
        return [size if wish is None else wish for wish, size in zip(self.noise_shape, inputs.shape.as_list())]

    def call(self, inputs, training=False):
        if not training or self.rate == 0:
            return inputs
        if self.rate == 1:
            return _ops.zeros_like(inputs)
        return dropout(inputs, self.rate, self._noise_shape(inputs), self.seed)

    def compute_output_shape(self, input_shape):
        return input_shape


class _SpatialDropout(Dropout):
    def get_config(self):
        config = super().get_config()
        del config["trainable"]  # Keras' constructors do not take it
        config["dtype"] = self.dtype
        return config


class SpatialDropout1D(_SpatialDropout):
    """Drops whole channels of a sequence."""

    def __init__(self, rate, seed=None, name=None, dtype=None, **kwargs):
        super().__init__(rate, seed=seed, name=name, dtype=dtype, **kwargs)
        self.input_spec = InputSpec(ndim=3)

    def _noise_shape(self, inputs):
        return [inputs.shape[0], 1, inputs.shape[2]]


class SpatialDropout2D(_SpatialDropout):
    """Drops whole channels of an image."""

    _rank = 2

    def __init__(self, rate, data_format=None, seed=None, name=None, dtype=None, **kwargs):
        super().__init__(rate, seed=seed, name=name, dtype=dtype, **kwargs)
        self.data_format = formats.standardize(data_format)
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def _noise_shape(self, inputs):
        ones = [1] * self._rank
        if self.data_format == "channels_first":
            return [inputs.shape[0], inputs.shape[1], *ones]
        return [inputs.shape[0], *ones, inputs.shape[-1]]


class SpatialDropout3D(SpatialDropout2D):
    """Drops whole channels of a volume."""

    _rank = 3


class GaussianNoise(ConfiguredLayer):
    """Adds normally distributed numbers while training."""

    def __init__(self, stddev, seed=None, **kwargs):
        super().__init__(**kwargs)
        if not 0 <= stddev:
            raise ValueError(f"Invalid value received for argument `stddev`. Expected a float value >= 0. Received: stddev={stddev}")
        self.stddev, self.seed = stddev, seed
        self.supports_masking = True
        self.built = True

    def call(self, inputs, training=False):
        if not training or self.stddev == 0:
            return inputs
        return inputs + _random.normal(inputs.shape, 0.0, self.stddev, inputs.dtype, self.seed)


class GaussianDropout(ConfiguredLayer):
    """Multiplies by normally distributed numbers around 1 while training, of variance rate / (1 - rate)."""

    def __init__(self, rate, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.rate = _checked_rate(rate)
        self.seed = seed
        self.supports_masking = True
        self.built = True

    def call(self, inputs, training=False):
        if not training or self.rate == 0:
            return inputs
        stddev = math.sqrt(self.rate / (1 - self.rate))
        return inputs * _random.normal(inputs.shape, 1.0, stddev, inputs.dtype, self.seed)


class AlphaDropout(ConfiguredLayer):
    """Sets elements to the negative saturation value of SELU while training; mean and variance stay."""

    _config_first = ("rate", "seed")

    _SATURATION = -1.6732632423543772 * 1.0507009873554805

    def __init__(self, rate, noise_shape=None, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.rate = _checked_rate(rate)
        self.noise_shape, self.seed = noise_shape, seed
        self.supports_masking = True
        self.built = True

    def call(self, inputs, training=False):
        if not training or self.rate == 0:
            return inputs
        shape = inputs.shape.as_list()
        if self.noise_shape is not None:
            shape = [size if wish is None else wish for wish, size in zip(self.noise_shape, shape)]
        low = self._SATURATION
        kept = _random.uniform(shape, dtype=inputs.dtype, seed=self.seed) >= self.rate
        scale = ((1 - self.rate) * (1 + self.rate * low**2)) ** -0.5
        return _ops.where(kept, inputs, _ops.ones_like(inputs) * low) * scale - scale * low * self.rate
