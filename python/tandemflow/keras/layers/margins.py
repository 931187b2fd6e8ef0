"""keras.layers.ZeroPadding1D/2D/3D, Cropping1D/2D/3D and UpSampling1D/2D/3D."""
from ... import _arrays, _ops, _resizing
from .._engine import data_format as formats
from .._engine.input_spec import InputSpec
from ._configured import ConfiguredLayer, positive_tuple
from ._images import as_given, channels_last, spatial_axes


def _pairs(layer, name, value, rank):
    """n, (n, …) or ((before, after), …) as pairs."""
    if isinstance(value, int):
        value = (value,) * rank
    if not hasattr(value, "__len__") or len(value) != rank:
        raise ValueError(f"`{name}` should have {rank} elements. Received: {name}={value}.")
    return tuple(positive_tuple(layer, name, item, 2, allow_zero=True) for item in value)


class _Padding(ConfiguredLayer):
    def _pad(self, inputs, pairs):
        margins = [(0, 0)] * inputs.ndim
        for axis, pair in zip(spatial_axes(inputs.ndim, self.data_format), pairs):
            margins[axis] = pair
        return _ops.pad(inputs, margins)


class ZeroPadding1D(_Padding):
    """Zeros before and after a sequence."""

    def __init__(self, padding=1, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.data_format = formats.standardize(data_format)
        self.padding = positive_tuple(self, "padding", padding, 2, allow_zero=True)
        self.input_spec = InputSpec(ndim=3)

    def call(self, inputs):
        return self._pad(inputs, [self.padding])


class ZeroPadding2D(_Padding):
    """Zeros around an image."""

    _rank = 2

    def __init__(self, padding=(1, 1), data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.data_format = formats.standardize(data_format)
        self.padding = _pairs(self, "padding", padding, self._rank)
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def call(self, inputs):
        return self._pad(inputs, self.padding)


class ZeroPadding3D(ZeroPadding2D):
    """Zeros around a volume."""

    _rank = 3

    def __init__(self, padding=((1, 1), (1, 1), (1, 1)), data_format=None, **kwargs):
        super().__init__(padding, data_format, **kwargs)


class _Cropping(ConfiguredLayer):
    def _crop(self, inputs, pairs, data_format):
        key = [slice(None)] * inputs.ndim
        for axis, (before, after) in zip(spatial_axes(inputs.ndim, data_format), pairs):
            size = inputs.shape[axis]
            if before + after >= size:
                raise ValueError(
                    f"`cropping` parameter of `{type(self).__name__}` layer must be smaller than the input. Received: "
                    f"inputs.shape={tuple(inputs.shape)}, cropping={self.cropping}"
                )
            key[axis] = slice(before, size - after)
        return inputs[tuple(key)]


class Cropping1D(_Cropping):
    """A sequence without its first and last steps."""

    def __init__(self, cropping=(1, 1), **kwargs):
        super().__init__(**kwargs)
        self.cropping = positive_tuple(self, "cropping", cropping, 2, allow_zero=True)
        self.input_spec = InputSpec(ndim=3)

    def call(self, inputs):
        return self._crop(inputs, [self.cropping], "channels_last")


class Cropping2D(_Cropping):
    """An image without its margin."""

    _rank = 2

    def __init__(self, cropping=((0, 0), (0, 0)), data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.data_format = formats.standardize(data_format)
        self.cropping = _pairs(self, "cropping", cropping, self._rank)
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def call(self, inputs):
        return self._crop(inputs, self.cropping, self.data_format)


class Cropping3D(Cropping2D):
    """A volume without its margin."""

    _rank = 3

    def __init__(self, cropping=((1, 1), (1, 1), (1, 1)), data_format=None, **kwargs):
        super().__init__(cropping, data_format, **kwargs)


class UpSampling1D(ConfiguredLayer):
    """Each step several times."""

    def __init__(self, size=2, **kwargs):
        super().__init__(**kwargs)
        self.size = int(size)
        self.input_spec = InputSpec(ndim=3)

    def call(self, inputs):
        return _arrays.repeat(inputs, self.size, 1)


class UpSampling2D(ConfiguredLayer):
    """An image enlarged: rows and columns repeated, or interpolated."""

    def __init__(self, size=(2, 2), data_format=None, interpolation="nearest", **kwargs):
        super().__init__(**kwargs)
        self.data_format = formats.standardize(data_format)
        self.size = positive_tuple(self, "size", size, 2)
        self.interpolation = _resizing.check_method(interpolation.lower())
        self.input_spec = InputSpec(ndim=4)

    def call(self, inputs):
        x = channels_last(inputs, self.data_format)
        height, width = x.shape[1] * self.size[0], x.shape[2] * self.size[1]
        return as_given(_resizing.resize(x, height, width, self.interpolation), self.data_format)


class UpSampling3D(ConfiguredLayer):
    """A volume with its slices, rows and columns repeated."""

    def __init__(self, size=(2, 2, 2), data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.data_format = formats.standardize(data_format)
        self.size = positive_tuple(self, "size", size, 3)
        self.input_spec = InputSpec(ndim=5)

    def call(self, inputs):
        for axis, times in zip(spatial_axes(5, self.data_format), self.size):
            inputs = _arrays.repeat(inputs, times, axis)
        return inputs
