"""keras.layers.AdaptiveAveragePooling1D … AdaptiveMaxPooling3D."""
from ..._adaptive_pool import adaptive_average_pool, adaptive_max_pool
from .._engine import data_format as formats
from .._engine.input_spec import InputSpec
from ._configured import ConfiguredLayer, positive_tuple
from ._images import as_given, channels_last


class _AdaptivePooling(ConfiguredLayer):
    def __init__(self, output_size, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.output_size = positive_tuple(self, "output_size", output_size, self._rank)
        self.data_format = formats.standardize(data_format)
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def call(self, inputs):
        return as_given(self._pool(channels_last(inputs, self.data_format), self.output_size), self.data_format)


class AdaptiveAveragePooling1D(_AdaptivePooling):
    """The mean of as many windows over the steps as output_size says."""

    _rank, _pool = 1, staticmethod(adaptive_average_pool)


class AdaptiveAveragePooling2D(_AdaptivePooling):
    """The mean of as many windows of an image as output_size says."""

    _rank, _pool = 2, staticmethod(adaptive_average_pool)


class AdaptiveAveragePooling3D(_AdaptivePooling):
    """The mean of as many windows of a volume as output_size says."""

    _rank, _pool = 3, staticmethod(adaptive_average_pool)


class AdaptiveMaxPooling1D(_AdaptivePooling):
    """The largest value of as many windows over the steps as output_size says."""

    _rank, _pool = 1, staticmethod(adaptive_max_pool)


class AdaptiveMaxPooling2D(_AdaptivePooling):
    """The largest value of as many windows of an image as output_size says."""

    _rank, _pool = 2, staticmethod(adaptive_max_pool)


class AdaptiveMaxPooling3D(_AdaptivePooling):
    """The largest value of as many windows of a volume as output_size says."""

    _rank, _pool = 3, staticmethod(adaptive_max_pool)
