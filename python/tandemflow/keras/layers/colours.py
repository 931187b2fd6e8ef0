"""Layers that change the colours of images: RandomHue, RandomSaturation, RandomGrayscale and their relatives."""
from ... import _ops
from .augmentation import RandomBrightness, RandomContrast, factor_range
from .images import ImageLayer


def value_pair(value_range):
    """The smallest and the largest value of a pixel."""
    if not isinstance(value_range, (tuple, list)) or len(value_range) != 2:
        raise ValueError(f"The `value_range` argument should be a list of two numbers. Received: value_range={value_range}")
    return sorted(value_range)


def rescaled(x, old, new):
    """Values of one range, as those of another."""
    if tuple(old) == tuple(new):
        return x
    return (x - float(old[0])) / float(old[1] - old[0]) * float(new[1] - new[0]) + float(new[0])


def within(x, value_range):
    return _ops.clip_by_value(x, float(value_range[0]), float(value_range[1]))


def by_image(numbers, x):
    """A number for each image, beside its pixels."""
    return _ops.cast(_ops.reshape(numbers, [-1, 1, 1, 1]), x.dtype)


class ColourLayer(ImageLayer):
    """One random number of a range for each image."""

    _low, _high = -1.0, 1.0

    def __init__(self, factor, value_range=(0, 255), data_format=None, seed=None, **kwargs):
        super().__init__(**kwargs)
        self._set_up(data_format)
        self.factor = factor_range(self, "factor", factor, self._low, self._high)
        self.value_range, self.seed = value_pair(value_range), seed

    def _factor(self, x):
        return by_image(self._uniform(*map(float, self.factor), x.shape[0]), x)

    def _chosen(self, changed, x):
        """The changed images with the probability that the factor is, the others as they were."""
        chance = self._uniform(*map(float, self.factor), x.shape[0])
        taken = self._uniform(0.0, 1.0, x.shape[0]) < chance
        return _ops.where(_ops.reshape(taken, [-1, 1, 1, 1]), changed, x)


class RandomHue(ColourLayer):
    """Colours turned on the colour circle, by up to half of it."""

    _low = 0.0

    def _change(self, x, training):
        from ..ops import image

        sign = _ops.where(self._uniform(0.0, 1.0, x.shape[0]) > 0.5, -1.0, 1.0)
        turned = self._factor(x) * by_image(sign, x) * 0.5
        hsv = image.rgb_to_hsv(rescaled(x, self.value_range, (0, 1)), data_format="channels_last")
        hue = hsv[..., :1] + turned
        hue = _ops.where(hue > 1.0, hue - 1.0, hue)
        hue = _ops.where(hue < 0.0, hue + 1.0, hue)
        rgb = image.hsv_to_rgb(_ops.concat([hue, hsv[..., 1:]], -1), data_format="channels_last")
        return rescaled(within(rgb, (0, 1)), (0, 1), self.value_range)


class RandomSaturation(ColourLayer):
    """Colours made stronger (factors above 0.5) or weaker."""

    def _change(self, x, training):
        from ..ops import image

        factor = self._factor(x)
        hsv = image.rgb_to_hsv(x, data_format="channels_last")
        strength = within(hsv[..., 1:2] * (factor / (1.0 - factor + 1e-7)), self.value_range)
        return image.hsv_to_rgb(_ops.concat([hsv[..., :1], strength, hsv[..., 2:]], -1), data_format="channels_last")


class RandomColorDegeneration(ColourLayer):
    """Colours mixed with their grey: 0 leaves them, 1 is all grey."""

    def _change(self, x, training):
        from ..ops import image

        grey = image.rgb_to_grayscale(x, data_format="channels_last")
        return within(x + self._factor(x) * (grey - x), self.value_range)


class RandomSharpness(ColourLayer):
    """Images mixed with their blur: 0 is all blur, 0.5 leaves them, 1 moves away from it."""

    _low = 0.0

    def _change(self, x, training):
        from ..._conv import depthwise_conv2d

        edge, middle = 1.0 / 13.0, 5.0 / 13.0
        kernel = _ops.cast(_ops.constant([[edge, edge, edge], [edge, middle, edge], [edge, edge, edge]]), x.dtype)
        kernel = _ops.broadcast_to(_ops.reshape(kernel, [3, 3, 1, 1]), [3, 3, x.shape[-1], 1])
        blurred = depthwise_conv2d(x, kernel, [1, 1, 1, 1], "SAME")
        return within(x + (1.0 - 2.0 * self._factor(x)) * (blurred - x), self.value_range)


class RandomPosterization(ColourLayer):
    """Values with fewer bits: as many as the factor, 1 to 8."""

    _low, _high = 1, 8

    def _change(self, x, training):
        low, high = self.factor
        bits = self._uniform(float(low), float(max(high, low + 1)), x.shape[0]) if high != low else _ops.fill([x.shape[0]], float(low))
        step = 2.0 ** (8.0 - by_image(_ops.floor(bits), x))
        whole = _ops.floor(rescaled(x, self.value_range, (0, 255)))
        return rescaled(_ops.floor(whole / step) * step, (0, 255), self.value_range)


class RandomInvert(ColourLayer):
    """Images in their complementary colours, with the probability that the factor is."""

    _low = 0.0

    def __init__(self, factor=1.0, value_range=(0, 255), seed=None, data_format=None, **kwargs):
        super().__init__(factor, value_range, data_format, seed, **kwargs)

    def _change(self, x, training):
        return self._chosen(float(self.value_range[1]) - x, x)


class RandomGaussianBlur(ColourLayer):
    """Images blurred with the probability that the factor is; `sigma` says how much."""

    _low = 0.0

    def __init__(self, factor=1.0, kernel_size=3, sigma=1.0, value_range=(0, 255), data_format=None, seed=None, **kwargs):
        super().__init__(factor, value_range, data_format, seed, **kwargs)
        sizes = tuple(kernel_size) if isinstance(kernel_size, (tuple, list)) else (kernel_size, kernel_size)
        if len(sizes) != 2 or any(size % 2 == 0 for size in sizes):
            raise ValueError(f"kernel_size must be an odd number, or two of them. Received: kernel_size={kernel_size}")
        self.kernel_size, self.sigma = sizes, factor_range(self, "sigma", sigma, 0.0, 1.0)

    def _change(self, x, training):
        from ..ops import image

        sigma = self._uniform(*map(float, self.sigma), 2) + 1e-6
        blurred = image.gaussian_blur(x, self.kernel_size, _ops.cast(sigma, x.dtype), data_format="channels_last")
        return within(self._chosen(blurred, x), self.value_range)


class RandomGrayscale(ImageLayer):
    """Images without colours, with the probability `factor`."""

    def __init__(self, factor=0.5, data_format=None, seed=None, **kwargs):
        super().__init__(**kwargs)
        self._set_up(data_format)
        if not 0 <= factor <= 1:
            raise ValueError(f"`factor` should be between 0 and 1. Received: factor={factor}")
        self.factor, self.seed = factor, seed

    def _change(self, x, training):
        from ..ops import image

        grey = _ops.broadcast_to(image.rgb_to_grayscale(x, data_format="channels_last"), x.shape)
        taken = self._uniform(0.0, 1.0, x.shape[0]) < self.factor
        return _ops.where(_ops.reshape(taken, [-1, 1, 1, 1]), grey, x)


class RandomColorJitter(ImageLayer):
    """Brightness, contrast, saturation and hue, each by a random factor where one is given."""

    def __init__(self, value_range=(0, 255), brightness_factor=None, contrast_factor=None, saturation_factor=None, hue_factor=None,
                 seed=None, data_format=None, **kwargs):  # fmt: skip
        super().__init__(**kwargs)
        self._set_up(data_format)
        self._keep(value_range=value_range, brightness_factor=brightness_factor, contrast_factor=contrast_factor,
                   saturation_factor=saturation_factor, hue_factor=hue_factor, seed=seed)  # fmt: skip
        given = {RandomBrightness: brightness_factor, RandomContrast: contrast_factor, RandomSaturation: saturation_factor, RandomHue: hue_factor}
        self._steps = [kind(factor, value_range=value_range, seed=seed, data_format="channels_last") for kind, factor in given.items() if factor is not None]

    def _change(self, x, training):
        for step in self._steps:
            x = step._change(x, training)
        return x


# --- Layers that look at all the values of an image. ---


class Solarization(ImageLayer):
    """A random number added to the values, and those above a random threshold inverted."""

    def __init__(self, addition_factor=0.0, threshold_factor=0.0, value_range=(0, 255), seed=None, **kwargs):
        data_format = kwargs.pop("data_format", None)
        super().__init__(**kwargs)
        self._set_up(data_format)
        self.addition_factor = self._from_zero("addition_factor", addition_factor)
        self.threshold_factor = self._from_zero("threshold_factor", threshold_factor)
        self.value_range, self.seed = value_pair(value_range), seed

    def _from_zero(self, name, factor):
        """One number f is (0, f)."""
        return factor_range(self, name, factor if isinstance(factor, (tuple, list)) else (0, factor), 0.0, 1.0)

    def _change(self, x, training):
        added, threshold = (
            by_image(self._uniform(float(low), high * 255.0, x.shape[0]), x) if high else 0.0 for low, high in (self.addition_factor, self.threshold_factor)
        )
        lighter = within(rescaled(x, self.value_range, (0, 255)) + added, (0, 255))
        return rescaled(_ops.where(lighter < threshold, lighter, 255.0 - lighter), (0, 255), self.value_range)


class AutoContrast(ImageLayer):
    """The values of each channel of each image stretched over the whole range."""

    _always = True

    def __init__(self, value_range=(0, 255), **kwargs):
        data_format = kwargs.pop("data_format", None)
        super().__init__(**kwargs)
        self._set_up(data_format)
        self.value_range = value_pair(value_range)

    def _change(self, x, training):
        full = rescaled(x, self.value_range, (0, 255))
        low, high = _ops.reduce_min(full, [1, 2], True), _ops.reduce_max(full, [1, 2], True)
        scale = 255.0 / _ops.where(high > low, high - low, _ops.ones_like(high))
        stretched = rescaled(within(full * scale - low * scale, (0, 255)), (0, 255), self.value_range)
        return _ops.where(high > low, stretched, x)  # a channel of one value stays


class Equalization(ImageLayer):
    """Values so changed that each part of the range is as frequent, for each channel of the batch."""

    def __init__(self, value_range=(0, 255), bins=256, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self._set_up(data_format)
        self.value_range, self.bins = value_pair(value_range), bins

    def _change(self, x, training):
        full = rescaled(x, self.value_range, (0, 255))
        channels = [self._equalized(full[..., i]) for i in range(x.shape[-1])]
        return rescaled(_ops.stack(channels, -1), (0, 255), self.value_range)

    def _equalized(self, channel):
        scaled = channel * ((self.bins - 1) / 255.0)
        places = _ops.cast(_ops.clip_by_value(scaled, 0.0, float(self.bins - 1)), "int32")
        flat = _ops.reshape(places, [-1])
        counts = _ops.records["unsorted_segment_sum"](_ops.ones(flat.shape), flat, self.bins)
        below = _ops.cumsum(counts)
        first = _ops.reduce_min(_ops.where(below > 0, below, below[-1]))
        span = below[-1] - first
        table = _ops.round((below - first) * 255.0 / _ops.maximum(span, 1.0))
        equalized = _ops.reshape(_ops.gather(_ops.clip_by_value(table, 0.0, 255.0), flat), channel.shape)
        return _ops.where(span > 0, _ops.cast(equalized, channel.dtype), channel)
