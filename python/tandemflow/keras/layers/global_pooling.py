"""keras.layers.GlobalMaxPooling1D … GlobalAveragePooling3D."""
from ... import _ops
from .._engine import data_format as formats
from .._engine.input_spec import InputSpec
from ._configured import ConfiguredLayer
from ._images import spatial_axes


class _GlobalPooling(ConfiguredLayer):
    def __init__(self, data_format=None, keepdims=False, **kwargs):
        super().__init__(**kwargs)
        self.data_format = formats.standardize(data_format)
        self.keepdims = keepdims
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def call(self, inputs):
        return self._reduce(inputs, spatial_axes(inputs.ndim, self.data_format), self.keepdims)


class GlobalMaxPooling1D(_GlobalPooling):
    """The largest value over all steps."""

    _rank, _reduce = 1, staticmethod(_ops.reduce_max)


class GlobalMaxPooling2D(_GlobalPooling):
    """The largest value of each channel of an image."""

    _rank, _reduce = 2, staticmethod(_ops.reduce_max)


class GlobalMaxPooling3D(_GlobalPooling):
    """The largest value of each channel of a volume."""

    _rank, _reduce = 3, staticmethod(_ops.reduce_max)


class GlobalAveragePooling1D(_GlobalPooling):
    """The mean over all steps; where there is a mask, over those it keeps."""

    _computes_in_floats = True
    _rank, _reduce = 1, staticmethod(_ops.reduce_mean)

    def __init__(self, data_format=None, keepdims=False, **kwargs):
        super().__init__(data_format, keepdims, **kwargs)
        self.supports_masking = True

    def call(self, inputs, mask=None):
        if mask is None:
            return super().call(inputs)
        steps = 1 if self.data_format == "channels_last" else 2
        kept = _ops.expand_dims(_ops.cast(mask, inputs.dtype), 3 - steps)
        total = _ops.reduce_sum(inputs * kept, steps, self.keepdims)
        return total / _ops.reduce_sum(kept, steps, self.keepdims)

    def compute_mask(self, inputs, previous_mask):
        return None


class GlobalAveragePooling2D(_GlobalPooling):
    """The mean of each channel of an image."""

    _computes_in_floats = True
    _rank, _reduce = 2, staticmethod(_ops.reduce_mean)


class GlobalAveragePooling3D(_GlobalPooling):
    """The mean of each channel of a volume."""

    _computes_in_floats = True
    _rank, _reduce = 3, staticmethod(_ops.reduce_mean)
