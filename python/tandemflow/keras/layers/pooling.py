"""keras.layers.MaxPooling1D … AveragePooling3D."""
from ..._conv import avg_pool1d, avg_pool2d, max_pool1d, max_pool2d
from ..._conv3d import avg_pool3d, max_pool3d
from .._engine import data_format as formats
from .._engine.input_spec import InputSpec
from ._configured import ConfiguredLayer, padding_word, positive_tuple
from ._images import as_given, channels_last, is_smaller, spaced


class _Pooling(ConfiguredLayer):
    _config_first = ("pool_size", "padding")

    def _set_up(self, pool_size, strides, padding, data_format):
        rank = self._rank
        self.pool_size = positive_tuple(self, "pool_size", pool_size, rank)
        self.strides = positive_tuple(self, "strides", pool_size if strides is None else strides, rank)
        self.padding = padding_word(self, padding)
        self.data_format = formats.standardize(data_format)
        self.input_spec = InputSpec(ndim=rank + 2)

    def compute_output_spec(self, inputs, **kwargs):
        shape = tuple(inputs.shape)
        if self.padding == "valid" and is_smaller(shape, self.pool_size, self.data_format):
            raise ValueError(
                f"Computed output size would be zero or negative. Received: `inputs.shape={spaced(shape)}`, `pool_size={spaced(self.pool_size)}`, "
                f"`strides={self.strides}`, `padding={self.padding}`."
            )
        return super().compute_output_spec(inputs, **kwargs)

    def call(self, inputs):
        x = channels_last(inputs, self.data_format)
        out = self._pool(x, self.pool_size, self.strides, self.padding.upper())
        return as_given(out, self.data_format)


class MaxPooling1D(_Pooling):
    """The largest value of each window over the steps."""

    _rank, _pool = 1, staticmethod(max_pool1d)

    def __init__(self, pool_size=2, strides=None, padding="valid", data_format=None, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self._set_up(pool_size, strides, padding, data_format)


class MaxPooling2D(_Pooling):
    """The largest value of each window of an image."""

    _rank, _pool = 2, staticmethod(max_pool2d)

    def __init__(self, pool_size=(2, 2), strides=None, padding="valid", data_format=None, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self._set_up(pool_size, strides, padding, data_format)


class MaxPooling3D(_Pooling):
    """The largest value of each window of a volume."""

    _rank, _pool = 3, staticmethod(max_pool3d)

    def __init__(self, pool_size=(2, 2, 2), strides=None, padding="valid", data_format=None, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self._set_up(pool_size, strides, padding, data_format)


class AveragePooling1D(_Pooling):
    """The mean of each window over the steps."""

    _rank, _pool = 1, staticmethod(avg_pool1d)

    def __init__(self, pool_size, strides=None, padding="valid", data_format=None, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self._set_up(pool_size, strides, padding, data_format)


class AveragePooling2D(_Pooling):
    """The mean of each window of an image."""

    _rank, _pool = 2, staticmethod(avg_pool2d)

    def __init__(self, pool_size, strides=None, padding="valid", data_format=None, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self._set_up(pool_size, strides, padding, data_format)


class AveragePooling3D(_Pooling):
    """The mean of each window of a volume."""

    _rank, _pool = 3, staticmethod(avg_pool3d)

    def __init__(self, pool_size, strides=None, padding="valid", data_format=None, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self._set_up(pool_size, strides, padding, data_format)
