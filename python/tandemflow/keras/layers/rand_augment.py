"""keras.layers.RandAugment and RandomShear."""
from ... import _ops, _tandem
from ... import random as _random
from . import augmentation, colours
from .augmentation import Warp, factor_range
from .images import ImageLayer


class RandomShear(Warp):
    """Images slanted: rows moved by a random part of their number, columns likewise."""

    def __init__(self, x_factor=0.0, y_factor=0.0, interpolation="bilinear", fill_mode="reflect", fill_value=0.0, data_format=None,
                 seed=None, **kwargs):  # fmt: skip
        super().__init__(**kwargs)
        self.x_factor, self.y_factor = (self._pair(name, value) for name, value in (("x_factor", x_factor), ("y_factor", y_factor)))
        self._set_up_warp(fill_mode, interpolation, seed, fill_value, data_format)

    def _pair(self, name, value):
        """One number f is (-f, f), which is also how configurations have it; what is given must lie between 0 and 1."""
        if isinstance(value, (tuple, list)) and len(value) == 2 and -value[0] == value[1] > 0:
            value = value[1]
        pair = factor_range(self, name, value if isinstance(value, (tuple, list)) else (0.0, value), 0.0, 1.0)
        return pair if isinstance(value, (tuple, list)) else (-pair[1], pair[1])

    def _transforms(self, count, height, width):
        sign = _ops.where(self._uniform(0.0, 1.0, count) > 0.5, -1.0, 1.0)
        down, right = self._uniform(*map(float, self.y_factor), count), self._uniform(*map(float, self.x_factor), count)
        return 1.0, right * sign, 0.0, down * sign, 1.0, 0.0


class RandAugment(ImageLayer):
    """`num_ops` changes drawn from eleven, each as strong as the factor says; Cubuk et al., 2019."""

    def __init__(self, value_range=(0, 255), num_ops=2, factor=0.5, interpolation="bilinear", seed=None, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self._set_up(data_format)
        self.factor = pair = factor_range(self, "factor", factor, 0.0, 1.0)
        self.value_range, self.num_ops, self.interpolation, self.seed = value_range, num_ops, interpolation, seed
        warps, ranged = {"interpolation": interpolation, "seed": seed}, {"value_range": value_range, "seed": seed}
        self._steps = [
            RandomShear(pair, pair, **warps),
            augmentation.RandomTranslation(pair, pair, **warps),
            augmentation.RandomRotation(pair, **warps),
            augmentation.RandomBrightness(pair, **ranged),
            colours.RandomColorDegeneration(pair, **ranged),
            augmentation.RandomContrast(pair, **ranged),
            colours.RandomSharpness(pair, **ranged),
            colours.RandomPosterization(max(1, int(8 * pair[1])), **ranged),
            colours.Solarization(pair, pair, **ranged),
            colours.AutoContrast(value_range),
            colours.Equalization(value_range),
        ]

    def _change(self, x, training):
        for _ in range(self.num_ops):
            number = _random.uniform([], 0, len(self._steps), "int32", seed=self.seed)
            if _tandem.executing_eagerly():
                x = self._steps[int(number)]._change(x, training)
            else:  # which one shows when the step runs: all are computed, one is taken
                for i, step in enumerate(self._steps):
                    x = _ops.where(_ops.equal(number, i), step._change(x, training), x)
        return x
