"""keras.layers.RandomRotation, RandomZoom, RandomTranslation, RandomContrast and RandomBrightness."""
import math

from ... import _ops
from .._engine import warping
from .images import ImageLayer


def factor_range(layer, name, factor, low=-1.0, high=1.0):
    """One number f is (-f, f), two are themselves."""
    pair = sorted(factor) if isinstance(factor, (tuple, list)) else factor
    if isinstance(pair, (int, float)):
        pair = [max(-abs(pair), low), abs(pair)]
    if not isinstance(pair, list) or len(pair) != 2 or pair[0] < low or pair[1] > high:
        raise ValueError(
            f"The `{name}` argument of {type(layer).__name__} should be a number (or a list of two numbers) in the range "
            f"[{low}, {high}]. Received: {name}={factor}"
        )
    return tuple(pair)


class Warp(ImageLayer):
    """Images read at other places; subclasses give the coefficients of warping.affine."""

    def _set_up_warp(self, fill_mode, interpolation, seed, fill_value, data_format):
        warping.check(fill_mode, interpolation)
        self._set_up(data_format)
        self.fill_mode, self.interpolation, self.seed, self.fill_value = fill_mode, interpolation, seed, fill_value

    def _change(self, x, training):
        count, height, width, _ = x.shape.as_list()
        columns = [c if hasattr(c, "shape") else _ops.zeros([count]) + c for c in self._transforms(count, height, width)]
        transforms = _ops.stack([*columns, _ops.zeros([count]), _ops.zeros([count])], 1)
        return warping.affine(x, transforms, self.fill_mode, self.interpolation, self.fill_value)


class RandomRotation(Warp):
    """Images turned by a random part of a full turn."""

    def __init__(self, factor, fill_mode="reflect", interpolation="bilinear", seed=None, fill_value=0.0, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor_range(self, "factor", factor)
        self._set_up_warp(fill_mode, interpolation, seed, fill_value, data_format)

    def _transforms(self, count, height, width):
        angle = self._uniform(*self.factor, count) * (2 * math.pi)
        cos, sin = _ops.cos(angle), _ops.sin(angle)
        x, y = (width - 1) / 2, (height - 1) / 2
        return cos, -sin, x - x * cos + y * sin, sin, cos, y - x * sin - y * cos


class RandomZoom(Warp):
    """Images seen from farther away (positive factors) or nearer."""

    def __init__(self, height_factor, width_factor=None, fill_mode="reflect", interpolation="bilinear", seed=None,
                 fill_value=0.0, data_format=None, **kwargs):  # fmt: skip
        super().__init__(**kwargs)
        self.height_factor, self.width_factor = height_factor, width_factor
        self._height = factor_range(self, "height_factor", height_factor)
        self._width = None if width_factor is None else factor_range(self, "width_factor", width_factor)
        self._set_up_warp(fill_mode, interpolation, seed, fill_value, data_format)

    def _transforms(self, count, height, width):
        rows = 1.0 + self._uniform(*self._height, count)
        columns = rows if self._width is None else 1.0 + self._uniform(*self._width, count)
        return columns, 0.0, (1.0 - columns) * ((width - 1) / 2), 0.0, rows, (1.0 - rows) * ((height - 1) / 2)


class RandomTranslation(Warp):
    """Images moved by a random part of their height and width."""

    def __init__(self, height_factor, width_factor, fill_mode="reflect", interpolation="bilinear", seed=None,
                 fill_value=0.0, data_format=None, **kwargs):  # fmt: skip
        super().__init__(**kwargs)
        self.height_factor, self.width_factor = height_factor, width_factor
        self._height = factor_range(self, "height_factor", height_factor)
        self._width = factor_range(self, "width_factor", width_factor)
        self._set_up_warp(fill_mode, interpolation, seed, fill_value, data_format)

    def _transforms(self, count, height, width):
        down, right = self._uniform(*self._height, count) * height, self._uniform(*self._width, count) * width
        return 1.0, 0.0, -right, 0.0, 1.0, -down


class RandomContrast(ImageLayer):
    """Distances from the mean of each channel multiplied by a random number between 1 - lower and 1 + upper."""

    def __init__(self, factor, value_range=(0, 255), seed=None, **kwargs):
        data_format = kwargs.pop("data_format", None)
        super().__init__(**kwargs)
        self._set_up(data_format)
        self.factor = factor_range(self, "factor", factor, 0.0, 1.0)
        self.value_range, self.seed = value_range, seed

    def _change(self, x, training):
        factor = self._uniform(1.0 - self.factor[0], 1.0 + self.factor[1], x.shape[0])
        factor = _ops.cast(_ops.reshape(factor, [-1, 1, 1, 1]), x.dtype)
        mean = _ops.reduce_mean(x, [1, 2], True)
        return _ops.clip_by_value((x - mean) * factor + mean, float(self.value_range[0]), float(self.value_range[1]))


class RandomBrightness(ImageLayer):
    """A random part of the range of values added to each image."""

    def __init__(self, factor, value_range=(0, 255), seed=None, **kwargs):
        data_format = kwargs.pop("data_format", None)
        super().__init__(**kwargs)
        self._set_up(data_format)
        self.factor = factor_range(self, "factor", factor)
        if not isinstance(value_range, (tuple, list)) or len(value_range) != 2:
            raise ValueError(f"The `value_range` argument should be a list of two numbers. Received: value_range={value_range}")
        self.value_range, self.seed = sorted(value_range), seed

    def _change(self, x, training):
        low, high = self.value_range
        delta = _ops.reshape(self._uniform(*self.factor, x.shape[0]) * float(high - low), [-1, 1, 1, 1])
        return _ops.clip_by_value(x + _ops.cast(delta, x.dtype), float(low), float(high))
