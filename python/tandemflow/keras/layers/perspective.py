"""keras.layers.RandomPerspective and RandomElasticTransform: images seen from elsewhere, or drawn on rubber."""
import numpy as np

from ... import _ops, _tandem
from ... import random as _random
from .._engine import warping
from .augmentation import factor_range
from .images import ImageLayer


class _Chance(ImageLayer):
    """Changes images with the probability that the factor is."""

    def _set_up_chance(self, factor, interpolation, seed, data_format):
        if interpolation not in warping.INTERPOLATIONS:
            raise NotImplementedError(f"Unknown `interpolation` {interpolation}. Expected of one {warping.INTERPOLATIONS}.")
        self._set_up(data_format)
        self.factor, self.interpolation, self.seed = factor_range(self, "factor", factor, 0.0, 1.0), interpolation, seed

    def _chosen(self, changed, x):
        taken = self._uniform(0.0, 1.0, x.shape[0]) < self._uniform(*map(float, self.factor), x.shape[0])
        return _ops.where(_ops.reshape(taken, [-1, 1, 1, 1]), changed, x)


class RandomPerspective(_Chance):
    """The corners of images moved by up to half of `scale` times their distance from the first."""

    def __init__(self, factor=1.0, scale=1.0, interpolation="bilinear", fill_value=0.0, seed=None, data_format=None, **kwargs):
        super().__init__(**kwargs)
        if not 0.0 <= scale <= 1.0:
            raise ValueError(f"The `scale` argument should be a number in the range [0,1]. Received: scale={scale}")
        self._set_up_chance(factor, interpolation, seed, data_format)
        self.scale, self.fill_value = scale, fill_value

    def _change(self, x, training):
        from ..ops import image

        count, height, width, _ = x.shape.as_list()
        right, bottom = width - 1.0, height - 1.0
        corners = np.array([[0, 0], [right, 0], [0, bottom], [right, bottom]], np.float32)
        start = _ops.broadcast_to(_tandem.to_tensor(corners), [count, 4, 2])
        end = start + start * _random.uniform([count, 4, 2], -0.5 * self.scale, 0.5 * self.scale, seed=self.seed)
        changed = image.perspective_transform(x, start, end, self.interpolation, self.fill_value, "channels_last")
        return self._chosen(changed, x)


class RandomElasticTransform(_Chance):
    """Pixels moved by smooth noise, in proportion to the size of the images and to `scale`."""

    def __init__(self, factor=1.0, scale=1.0, interpolation="bilinear", fill_mode="reflect", fill_value=0.0, value_range=(0, 255), seed=None,
                 data_format=None, **kwargs):  # fmt: skip
        super().__init__(**kwargs)
        if fill_mode not in warping.FILL_MODES:
            raise NotImplementedError(f"Unknown `fill_mode` {fill_mode}. Expected of one {warping.FILL_MODES}.")
        self._set_up_chance(factor, interpolation, seed, data_format)
        self.scale = factor_range(self, "scale", scale, 0.0, 1.0)
        self.fill_mode, self.fill_value, self.value_range = fill_mode, fill_value, value_range

    def _change(self, x, training):
        from ..ops import pictures

        if self.scale[1] == 0 or self.factor[1] == 0:
            return x
        _, height, width, _ = x.shape.as_list()
        strength = _random.uniform([], *map(float, self.scale), seed=self.seed)
        size = 6 * int(min(height, width) * 0.05 * self.scale[1]) | 1  # of the strongest: how many pixels is no random number
        alpha, sigma = strength * (max(height, width) * 0.1), strength * (min(height, width) * 0.05)
        changed = pictures.elastic(x, alpha, sigma, size, self.interpolation, self.fill_mode, self.fill_value, self.seed)
        return _ops.clip_by_value(self._chosen(changed, x), float(self.value_range[0]), float(self.value_range[1]))
